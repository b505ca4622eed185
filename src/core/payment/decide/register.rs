//! The next step of a registration: resolve what may exist, else try the next provider, else wait.

use crate::core::domain::order::OrderStatus;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::payment::OrderAggregate;
use crate::core::payment::effect::{Action, Next, Note, Outcome, Turn};
use crate::core::payment::evolve::REFUSED_AGAIN;
use crate::core::payment::registration::{Ending, Registration, RegistrationState};
use crate::core::payment::task::{Reason, TaskError, TaskKind, TaskState};

/// So many business answers "no such order" are needed before a number may be sent again.
const NOT_FOUND_ENOUGH: u32 = 3;

/// A form that was lost is asked for anew at once, but only so often in one run: a provider that loses
/// every form must not be called as fast as it answers until all numbers are spent.
const FORMLESS_ENOUGH: u32 = 2;

/// The two digits of a provider number allow no more.
pub(in crate::core::payment) const LAST_SEQUENCE: u8 = 99;

impl OrderAggregate {
    pub(in crate::core::payment) fn next_register(
        &mut self,
        turn: &Turn<'_>,
        notes: &mut Vec<Note>,
    ) -> Next {
        self.orphan_becomes_unknown();
        let Some(open) = self.open_registration() else {
            return self.next_provider(turn);
        };
        match open.state {
            RegistrationState::Unknown => self.next_resolution(turn, notes),
            RegistrationState::Live if open.form_url.is_none() => self.wind_down(turn),
            RegistrationState::Live | RegistrationState::Paid => {
                let made = (open.provider, open.sequence);
                if let Some(task) = self.held_mut(turn) {
                    task.result = Some(made);
                }
                self.finish(turn, TaskState::Succeeded, None);
                Next::Rest
            }
            RegistrationState::Intent
            | RegistrationState::Dead
            | RegistrationState::Absent
            | RegistrationState::Surplus => unreachable!("not open, or unknown by now"),
        }
    }

    /// Rule 1: while an outcome is unknown, only questions to the same provider, by the same number.
    fn next_resolution(&mut self, turn: &Turn<'_>, notes: &mut Vec<Note>) -> Next {
        if turn.past(self.deadline_of(turn)) {
            return self.review(turn, TaskError::OutcomeUnknown, notes);
        }
        let return_url = self.return_url(turn);
        let grace = turn.policy.unknown_grace;
        let Some(open) = self.open_mut() else { return Next::Rest };
        let about_it = turn.round.last.as_ref().map(|(_, outcome)| outcome);
        match about_it {
            // The request may still be under way until the grace is over; a repeat of the same
            // number cannot make a second order, a new number could.
            Some(Outcome::NotFound)
                if open.not_found >= NOT_FOUND_ENOUGH
                    && open.sent_at.is_none_or(|sent| turn.asked_at() > sent + grace) =>
            {
                if open.evidence == REFUSED_AGAIN {
                    open.die(Ending::Refused);
                    return self.rejected(turn);
                }
                open.sent_at = Some(turn.now);
                open.not_found = 0;
                "sent_again".clone_into(&mut open.evidence);
                Next::Call(Self::step(open, Action::Register { return_url }, turn.now))
            }
            // The number was known before: ask at once.
            Some(Outcome::Duplicate) => Next::Call(Self::step(open, Action::Query, turn.now)),
            Some(_) => self.rest_after_setback(turn, Reason::OutcomeUnknown),
            None if turn.repeat_safe.contains(&open.provider) && open.evidence != REFUSED_AGAIN => {
                open.sent_at = Some(turn.now);
                Next::Call(Self::step(open, Action::Register { return_url }, turn.now))
            }
            None => Next::Call(Self::step(open, Action::Query, turn.now)),
        }
    }

    /// Nothing is alive: a new registration at the first provider that this run has not tried.
    fn next_provider(&mut self, turn: &Turn<'_>) -> Next {
        if self.unfinished(TaskKind::CancelPayment).is_some() {
            return self.give_up(turn, TaskState::Cancelled, None);
        }
        if turn.past(self.deadline_of(turn)) {
            return self.give_up(turn, TaskState::Failed, Some(TaskError::Expired));
        }
        let round = turn.round;
        let refused = !round.refused.is_empty();
        let fatal =
            round.refused.iter().any(|(_, account)| !account) || !turn.policy.failover_on_rejected;
        let untried =
            turn.policy.providers.iter().copied().find(|provider| !round.tried(*provider));
        let spent = self.present_sequence() > LAST_SEQUENCE;
        match untried {
            _ if spent || (refused && fatal) => self.rejected(turn),
            Some(_) if round.formless >= FORMLESS_ENOUGH => {
                let attempts = self.task_of(turn).map_or(0, |task| task.attempts);
                self.park(turn, Reason::Retry, turn.now + turn.backoff(attempts), true);
                Next::Rest
            }
            Some(provider) => self.arm(turn, provider),
            None if round.skipped.is_empty() => self.rejected(turn),
            None => self.nobody_executed(turn),
        }
    }

    fn rejected(&mut self, turn: &Turn<'_>) -> Next {
        self.give_up(turn, TaskState::Failed, Some(TaskError::PaymentRejected))
    }

    /// Commits the intent: a row before a byte.
    pub(in crate::core::payment) fn arm(&mut self, turn: &Turn<'_>, provider: Provider) -> Next {
        let return_url = self.return_url(turn);
        let sequence = self.present_sequence();
        if let Some(task) = self.held_mut(turn) {
            task.lane = Some(provider);
        }
        if self.registration(provider, sequence).is_none() {
            let number = ProviderNumber::new(&turn.policy.number_prefix, self.order.id, sequence);
            let total = self.order.total;
            self.registrations
                .push(Registration::intent(provider, sequence, number, total, turn.now));
        }
        let Some(registration) = self.registration_mut(provider, sequence) else {
            return Next::Rest;
        };
        registration.state = RegistrationState::Intent;
        registration.sent_at = Some(turn.now);
        registration.not_found = 0;
        "armed".clone_into(&mut registration.evidence);
        Next::Call(Self::step(registration, Action::Register { return_url }, turn.now))
    }

    /// Every provider was asked and none did anything: undo if that is still possible, else wait.
    fn nobody_executed(&mut self, turn: &Turn<'_>) -> Next {
        let too_late = turn.round.skipped.iter().any(|(_, wait)| wait.too_late);
        let full = turn.waiting.is_some_and(|waiting| waiting >= turn.policy.queue_max);
        if turn.unanswered && too_late {
            return self.give_up(turn, TaskState::Cancelled, Some(TaskError::DeadlineExceeded));
        }
        if turn.unanswered && turn.policy.queueing && full {
            return self.give_up(turn, TaskState::Cancelled, Some(TaskError::QueueFull));
        }
        if !turn.policy.queueing {
            let state = if turn.unanswered { TaskState::Cancelled } else { TaskState::Failed };
            return self.give_up(turn, state, Some(TaskError::PaymentSystemUnavailable));
        }
        let attempts = self.task_of(turn).map_or(0, |task| task.attempts);
        let waits = turn.round.skipped.iter().map(|(_, wait)| wait);
        let pause = waits.clone().map(|wait| turn.pause_of(wait, attempts)).min();
        let reason = waits.clone().next().map_or(Reason::Retry, |wait| wait.reason);
        let charge = waits.clone().any(|wait| wait.reason == Reason::Retry);
        let run_at = turn.now + turn.spread(pause.unwrap_or(turn.policy.backoff));
        self.park(turn, reason, run_at, charge);
        Next::Rest
    }

    fn give_up(&mut self, turn: &Turn<'_>, state: TaskState, error: Option<TaskError>) -> Next {
        self.finish(turn, state, error);
        if error == Some(TaskError::Expired) {
            self.order.status = OrderStatus::PaymentFailed;
        }
        Next::Rest
    }

    fn return_url(&self, turn: &Turn<'_>) -> String {
        self.task_of(turn)
            .and_then(|task| task.return_url.clone())
            .unwrap_or_else(|| turn.policy.return_url.clone())
    }
}
