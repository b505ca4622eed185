//! The next poll: whatever was sync_requested at, then whatever is not final, until everything is.

use super::SLOWEST_POLL;
use crate::core::domain::order::OrderStatus;
use crate::core::payment::OrderAggregate;
use crate::core::payment::effect::{Action, Next, Note, Outcome, Turn};
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Reason, RefundPlan, Task, TaskKind, TaskState};

impl OrderAggregate {
    pub(in crate::core::payment) fn next_sync(&mut self, turn: &Turn<'_>) -> Next {
        let resolving = self.unfinished(TaskKind::RegisterPayment).is_some();
        if !resolving {
            self.orphan_becomes_unknown();
        }
        // Each once in a run: two hints about silent partners must not be asked by turns for ever.
        let fresh = |r: &&Registration| !turn.round.asked.contains(&(r.provider, r.sequence));
        if let Some(sync_requested) =
            self.registrations.iter().filter(fresh).find(|r| r.sync_requested)
        {
            return Next::Call(Self::step(sync_requested, Action::Query, turn.now));
        }
        let waiting = self.registrations.iter().find(|r| match r.state {
            RegistrationState::Live => true,
            RegistrationState::Unknown => !resolving,
            RegistrationState::Intent
            | RegistrationState::Paid
            | RegistrationState::Dead
            | RegistrationState::Absent
            | RegistrationState::Surplus => r.sync_requested,
        });
        match waiting {
            None => {
                self.finish(turn, TaskState::Succeeded, None);
                Next::Rest
            }
            Some(open) if turn.round.asked.is_empty() => {
                Next::Call(Self::step(open, Action::Query, turn.now))
            }
            Some(_) => self.rest_until_next_poll(turn),
        }
    }

    fn rest_until_next_poll(&mut self, turn: &Turn<'_>) -> Next {
        if let Some((_, Outcome::NotExecuted(_))) = turn.round.last {
            return self.rest_after_setback(turn, Reason::Retry);
        }
        let polls = self.task_of(turn).map_or(0, |task| task.attempts).min(10);
        let slowest = SLOWEST_POLL.max(turn.policy.poll_interval);
        let pause = turn.policy.poll_interval.saturating_mul(1 << polls).min(slowest);
        self.park(turn, Reason::Retry, turn.now + turn.spread(pause), true);
        Next::Rest
    }

    /// Money that arrived for an order that was given up, or twice: a refund for the operator to
    /// release. Nothing is sent back by itself.
    pub(in crate::core::payment) fn give_back_late_money(
        &mut self,
        turn: &Turn<'_>,
        notes: &[Note],
    ) {
        if !notes.iter().any(|note| matches!(note, Note::LateTruth { .. })) {
            return;
        }
        let late = self.registrations.iter().find(|r| {
            r.state == RegistrationState::Surplus
                || (r.state == RegistrationState::Paid && self.order.status == OrderStatus::Paid)
        });
        let Some(late) = late else { return };
        if self.unfinished(TaskKind::RefundPayment).is_some() {
            return;
        }
        let (now, about) = (turn.now, (late.provider, late.sequence));
        let plan = RefundPlan::of(late.amount);
        let deadline = now + turn.policy.max_age;
        let id = turn.spare[1];
        let mut task = Task::queued(id, self.order.id, TaskKind::RefundPayment, now, deadline);
        task.reason = Some(Reason::Operator);
        task.run_at = Task::NEVER;
        task.lane = Some(about.0);
        task.result = Some(about);
        task.refund = Some(plan);
        self.tasks.push(task);
    }
}
