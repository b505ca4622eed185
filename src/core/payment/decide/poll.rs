//! The next poll: whatever was asked for, then whatever is not final, until everything is.

use super::SLOWEST_POLL;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::decision::{DomainEvent, Next};
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::registration::{Registration, RegistrationState, STRANGE_TOLD};
use crate::core::payment::task::{Reason, TaskError, TaskKind, TaskState};
use std::time::Duration;

/// A status that we do not know, or a form that was given up and cannot be taken back, is asked about for so
/// long before a person is told.
const STRANGE_FOR: Duration = Duration::from_secs(2 * 3_600);

impl OrderAggregate {
    pub(super) fn decide_poll(
        &mut self,
        context: &DecisionContext,
        events: &mut Vec<DomainEvent>,
    ) -> Next {
        let resolving = self.unfinished(TaskKind::RegisterPayment).is_some();
        if !resolving {
            self.orphan_becomes_unknown();
        }
        if self.tell_of_strange_status(context) {
            return self.review(context, TaskError::OutcomeUnknown, events);
        }
        if let Some(call) = self.next_question(context, resolving) {
            return Next::Call(call);
        }
        let open = |r: &Registration| match r.state {
            RegistrationState::Live => true,
            RegistrationState::Unknown => !resolving,
            RegistrationState::Intent
            | RegistrationState::Paid
            | RegistrationState::Dead
            | RegistrationState::Absent
            | RegistrationState::Surplus => r.sync_requested() || r.pends_given_up(),
        };
        if self.registrations.iter().any(open) {
            return self.rest_until_next_poll(context);
        }
        match self.next_look(context) {
            // One that was due and brought no answer waits like any other question.
            Some(look) if look <= context.now => self.rest_until_next_poll(context),
            // Somebody may wait for this task: the looks that are left are another's.
            Some(_) | None => {
                self.finish(context, TaskState::Succeeded, None);
                Next::Rest
            }
        }
    }

    /// What was asked for goes first, then what is open, then what is only looked at. Each once in a run:
    /// two requests about silent partners must not be served by turns for ever.
    fn next_question(&self, context: &DecisionContext, resolving: bool) -> Option<ProviderCall> {
        let now = context.now;
        let history = &context.history;
        if let Some(call) = self.next_decline(context) {
            return Some(call);
        }
        let fresh = |r: &&Registration| !history.queried(r.provider, r.sequence);
        let all = || self.registrations.iter().filter(fresh);
        let open = |r: &&Registration| match r.state {
            RegistrationState::Live => true,
            RegistrationState::Unknown => !resolving,
            RegistrationState::Intent
            | RegistrationState::Paid
            | RegistrationState::Dead
            | RegistrationState::Absent
            | RegistrationState::Surplus => r.pends_given_up(),
        };
        let due = |r: &&Registration| r.next_look(&context.policy).is_some_and(|look| look <= now);
        let first = history.queried.is_empty();
        all()
            .find(|r| r.sync_requested())
            .or_else(|| all().find(open).filter(|_| first))
            .map(|registration| ProviderCall::query(registration, now))
            .or_else(|| all().find(due).map(|registration| ProviderCall::look(registration, now)))
    }

    /// A registration that was given up and waits for a payer is declined, once in a run.
    fn next_decline(&self, context: &DecisionContext) -> Option<ProviderCall> {
        let last = context.history.last.as_ref()?;
        last.report()?;
        let asked = self.registration(last.target.provider, last.target.sequence)?;
        asked.pends_given_up().then(|| ProviderCall::cancel(asked, context.now))
    }

    /// Nobody knows what became of the money, and asking has not helped.
    pub(super) fn tell_of_strange_status(&mut self, context: &DecisionContext) -> bool {
        let strange = self.registrations.iter_mut().find(|r| {
            let long = r.strange_since.is_some_and(|since| context.now.since(since) >= STRANGE_FOR);
            long && r.evidence != STRANGE_TOLD && (r.state.maybe_alive() || r.pends_given_up())
        });
        if let Some(registration) = strange {
            STRANGE_TOLD.clone_into(&mut registration.evidence);
            return true;
        }
        false
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
}
