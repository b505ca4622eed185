//! The next poll: whatever was asked for, then whatever is not final, until everything is.

use super::SLOWEST_POLL;
use crate::core::domain::order::OrderStatus;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::decision::{DomainEvent, Next};
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::refund::{Refund, RefundKey, RefundOrigin};
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Reason, Task, TaskKind, TaskState};

impl OrderAggregate {
    pub(super) fn decide_poll(&mut self, context: &DecisionContext) -> Next {
        let resolving = self.unfinished(TaskKind::RegisterPayment).is_some();
        if !resolving {
            self.orphan_becomes_unknown();
        }
        // Each once in a run: two requests about silent partners must not be served by turns for ever.
        let fresh = |r: &&Registration| !context.history.queried(r.provider, r.sequence);
        if let Some(wanted) = self.registrations.iter().filter(fresh).find(|r| r.sync_requested) {
            return Next::Call(ProviderCall::query(wanted, context.now));
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
                self.finish(context, TaskState::Succeeded, None);
                Next::Rest
            }
            Some(open) if context.history.queried.is_empty() => {
                Next::Call(ProviderCall::query(open, context.now))
            }
            Some(_) => self.rest_until_next_poll(context),
        }
    }

    fn rest_until_next_poll(&mut self, context: &DecisionContext) -> Next {
        let last = context.history.last.as_ref();
        if last.is_some_and(|call| call.unavailable().is_some()) {
            return self.rest_after_setback(context, Reason::Retry);
        }
        let polls = self.own_task(context).map_or(0, |task| task.attempts).min(10);
        let interval = context.policy.poll_interval;
        let pause = interval.saturating_mul(1 << polls).min(SLOWEST_POLL.max(interval));
        self.park(context, Reason::Retry, context.now + context.spread(pause), true);
        Next::Rest
    }

    /// Money that arrived for an order that was given up, or twice: a refund for the operator to
    /// release. Nothing is sent back by itself.
    pub(super) fn plan_late_refund(&mut self, context: &DecisionContext, events: &[DomainEvent]) {
        if !events.iter().any(|event| matches!(event, DomainEvent::LateMoney { .. })) {
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
        let (now, about, amount) = (context.now, (late.provider, late.sequence), late.amount);
        let id = context.fresh_task_id(self.tasks.len());
        let deadline = now + context.policy.max_age;
        let mut task = Task::queued(id, self.order.id, TaskKind::RefundPayment, now, deadline);
        task.reason = Some(Reason::Operator);
        task.run_at = Task::NEVER;
        task.lane = Some(about.0);
        task.result = Some(about);
        let key = RefundKey::of_task(self.order.id, id);
        self.refunds.push(Refund::planned(key, about, amount, RefundOrigin::LateMoney, id, now));
        self.tasks.push(task);
    }
}
