//! The next step of a cancellation, and of a registration whose form was lost: take it back at the
//! provider and wait for the evidence.

use super::SLOWEST_POLL;
use crate::core::domain::order::OrderStatus;
use crate::core::payment::OrderAggregate;
use crate::core::payment::effect::{Action, Next, Note, Outcome, Turn};
use crate::core::payment::registration::RegistrationState;
use crate::core::payment::task::{Reason, TaskError, TaskKind, TaskState};

impl OrderAggregate {
    pub(in crate::core::payment) fn next_cancel(
        &mut self,
        turn: &Turn<'_>,
        notes: &mut Vec<Note>,
    ) -> Next {
        if self.unfinished(TaskKind::RegisterPayment).is_some() {
            // Its end brings this task forward.
            self.park(turn, Reason::OutcomeUnknown, turn.now + SLOWEST_POLL, false);
            return Next::Rest;
        }
        self.orphan_becomes_unknown();
        let deadline = self.deadline_of(turn);
        let state = self.open_registration().map(|open| open.state);
        match state {
            None => {
                self.order.status = OrderStatus::Cancelled;
                self.finish(turn, TaskState::Succeeded, None);
                Next::Rest
            }
            Some(RegistrationState::Paid) => {
                self.finish(turn, TaskState::Failed, Some(TaskError::OrderNotCancellable));
                Next::Rest
            }
            Some(_) if turn.past(deadline) => self.review(turn, TaskError::OutcomeUnknown, notes),
            Some(RegistrationState::Unknown) if turn.round.last.is_some() => {
                self.rest_after_setback(turn, Reason::OutcomeUnknown)
            }
            Some(RegistrationState::Unknown) => self.ask_about_open(turn),
            Some(_) => self.wind_down(turn),
        }
    }

    /// Cancel, then ask; only the answer to the question counts.
    pub(in crate::core::payment) fn wind_down(&mut self, turn: &Turn<'_>) -> Next {
        let reason = match self.task_of(turn).map(|task| task.kind) {
            Some(TaskKind::RegisterPayment) => Reason::OutcomeUnknown,
            Some(TaskKind::CancelPayment | TaskKind::RefundPayment | TaskKind::SyncPayment)
            | None => Reason::Retry,
        };
        let queried = Self::last_was(turn, |action| matches!(action, Action::Query));
        let cancelled = Self::last_was(turn, |action| matches!(action, Action::Cancel));
        let failed = matches!(
            turn.round.last,
            Some((_, Outcome::NotExecuted(_) | Outcome::Unknown | Outcome::Refused { .. }))
        );
        let Some(open) = self.open_mut() else { return Next::Rest };
        if (queried || cancelled) && failed && (queried || open.cancel_sent_at.is_none()) {
            return self.rest_after_setback(turn, reason);
        }
        if open.cancel_sent_at.is_none() {
            return Next::Call(Self::step(open, Action::Cancel, turn.now));
        }
        if queried {
            // Still open after our word: say it again later.
            open.cancel_sent_at = None;
            return self.rest_after_setback(turn, reason);
        }
        Next::Call(Self::step(open, Action::Query, turn.now))
    }

    pub(in crate::core::payment) fn ask_about_open(&self, turn: &Turn<'_>) -> Next {
        self.open_registration()
            .map_or(Next::Rest, |open| Next::Call(Self::step(open, Action::Query, turn.now)))
    }
}
