//! The next step of a registration: resolve what may exist, else try the next provider, else wait.

use crate::core::domain::details::ExternalId;
use crate::core::domain::order::OrderStatus;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::{NotExecuted, PaymentSystemUnavailableError, Shed};
use crate::core::payment::OrderAggregate;
use crate::core::payment::checkout::{Checkout, Receipt};
use crate::core::payment::context::DecisionContext;
use crate::core::payment::decision::{DomainEvent, Next};
use crate::core::payment::effect::{CallResult, ProviderCall, QueryResult, RegisterResult};
use crate::core::payment::policy::{EXTERNAL_ID_PLACEHOLDER, ORDER_PLACEHOLDER};
use crate::core::payment::registration::{
    Ending, LAST_SEQUENCE, REFUSED_AGAIN, Registration, RegistrationState,
};
use crate::core::payment::task::{Reason, TaskError, TaskState};

/// So many business answers "no such order" are needed before a number may be sent again.
const NOT_FOUND_ENOUGH: u32 = 3;

/// A form that was lost is asked for anew at once, but only so often in one run: a provider that loses
/// every form must not be called as fast as it answers until all numbers are spent.
const FORMLESS_ENOUGH: u32 = 2;

impl OrderAggregate {
    pub(super) fn decide_register(
        &mut self,
        context: &DecisionContext,
        events: &mut Vec<DomainEvent>,
    ) -> Next {
        self.orphan_becomes_unknown();
        let Some(open) = self.open_registration() else {
            return self.try_next_provider(context);
        };
        match open.state {
            RegistrationState::Unknown => self.resolve(context, events),
            // The order's cancel takes it back.
            RegistrationState::Live if self.cancel_accepted() => {
                self.give_up(context, TaskState::Cancelled, None)
            }
            // Without its form, or given up while it was away: to its end, and then anew.
            RegistrationState::Live if open.form_url.is_none() || open.given_up_at.is_some() => {
                self.wind_down(context)
            }
            RegistrationState::Live | RegistrationState::Paid => {
                let made = (open.provider, open.sequence);
                if let Some(task) = self.own_task_mut(context) {
                    task.result = Some(made);
                }
                self.finish(context, TaskState::Succeeded, None);
                Next::Rest
            }
            RegistrationState::Intent
            | RegistrationState::Dead
            | RegistrationState::Absent
            | RegistrationState::Surplus => unreachable!("not open, or unknown by now"),
        }
    }

    /// Rule 1: while an outcome is unknown, only questions to the same provider, by the same number.
    fn resolve(&mut self, context: &DecisionContext, events: &mut Vec<DomainEvent>) -> Next {
        if context.past(self.deadline_of(context)) || self.tell_of_strange_status(context) {
            return self.review(context, TaskError::OutcomeUnknown, events);
        }
        let checkout = self.checkout(context);
        let grace = context.policy.unknown_grace;
        let Some(open) = self.open_registration_mut() else { return Next::Rest };
        let repeats = context.providers.repeat_registrations.contains(&open.provider);
        match context.history.last.as_ref().map(|call| &call.result) {
            // The request may still be under way until the grace is over; a repeat of the same
            // number cannot make a second order, a new number could.
            Some(CallResult::Query { result: QueryResult::NotFound, .. })
                if open.not_found >= NOT_FOUND_ENOUGH
                    && open.sent_at.is_none_or(|sent| context.asked_at() > sent + grace) =>
            {
                if open.evidence == REFUSED_AGAIN {
                    open.die(Ending::Refused);
                    return self.rejected(context);
                }
                open.not_found = 0;
                "sent_again".clone_into(&mut open.evidence);
                Next::Call(open.send(checkout, context.now))
            }
            // The number was known before: ask at once.
            Some(CallResult::Register(RegisterResult::Duplicate)) => {
                Next::Call(ProviderCall::query(open, context.now))
            }
            Some(_) => self.rest_after_setback(context, Reason::OutcomeUnknown),
            None if repeats && open.evidence != REFUSED_AGAIN => {
                Next::Call(open.send(checkout, context.now))
            }
            None => Next::Call(ProviderCall::query(open, context.now)),
        }
    }

    /// Nothing is alive: a new registration at the first provider that this run has not tried.
    fn try_next_provider(&mut self, context: &DecisionContext) -> Next {
        if self.cancel_accepted() {
            return self.give_up(context, TaskState::Cancelled, None);
        }
        if context.past(self.deadline_of(context)) {
            return self.give_up(context, TaskState::Failed, Some(TaskError::Expired));
        }
        let (history, policy) = (&context.history, &context.policy);
        let refused = !history.refused.is_empty();
        let fatal =
            history.refused.iter().any(|(_, account)| !account) || !policy.failover_on_rejected;
        let untried = policy.providers.iter().find(|provider| !history.tried(*provider));
        let spent = self.present_sequence() > LAST_SEQUENCE;
        match untried {
            _ if spent || (refused && fatal) => self.rejected(context),
            Some(_) if history.formless >= FORMLESS_ENOUGH => {
                let attempts = self.own_task(context).map_or(0, |task| task.attempts);
                let run_at = context.now + context.backoff(attempts);
                self.park(context, Reason::Retry, run_at, true);
                Next::Rest
            }
            Some(provider) => self.arm(context, provider),
            None if history.skipped.is_empty() => self.rejected(context),
            None => self.nobody_executed(context),
        }
    }

    fn rejected(&mut self, context: &DecisionContext) -> Next {
        self.give_up(context, TaskState::Failed, Some(TaskError::PaymentRejected))
    }

    /// Commits the intent: a row before a byte.
    pub(in crate::core::payment) fn arm(
        &mut self,
        context: &DecisionContext,
        provider: Provider,
    ) -> Next {
        let checkout = self.checkout(context);
        let sequence = self.present_sequence();
        if let Some(task) = self.own_task_mut(context) {
            task.lane = Some(provider);
        }
        if self.registration(provider, sequence).is_none() {
            let prefix = &context.policy.number_prefix;
            let number = ProviderNumber::new(prefix, self.order.id, sequence);
            let total = self.order.total;
            self.registrations.push(Registration::intent(
                provider,
                sequence,
                number,
                total,
                context.now,
            ));
        }
        let Some(registration) = self.registration_mut(provider, sequence) else {
            return Next::Rest;
        };
        Next::Call(registration.arm(checkout, context.now))
    }

    /// Every provider was asked and none did anything: undo if that is still possible, else wait.
    fn nobody_executed(&mut self, context: &DecisionContext) -> Next {
        let skipped = &context.history.skipped;
        let too_late = skipped.iter().any(|error| error.cause == Shed::DeadlineTooShort.into());
        let undo =
            |this: &mut Self, error| this.give_up(context, TaskState::Cancelled, Some(error));
        if context.client_waits && too_late {
            return undo(self, TaskError::DeadlineExceeded);
        }
        if context.client_waits && context.policy.queueing && context.queue_is_full() {
            return undo(self, TaskError::QueueFull);
        }
        if !context.policy.queueing {
            if context.client_waits {
                return undo(self, TaskError::PaymentSystemUnavailable);
            }
            let error = Some(TaskError::PaymentSystemUnavailable);
            return self.give_up(context, TaskState::Failed, error);
        }
        self.postpone(context, skipped);
        Next::Rest
    }

    /// Into the queue, until the first of those that were passed over may be asked again.
    pub(in crate::core::payment) fn postpone(
        &mut self,
        context: &DecisionContext,
        skipped: &[PaymentSystemUnavailableError],
    ) -> Timestamp {
        let attempts = self.own_task(context).map_or(0, |task| task.attempts);
        let pause = skipped.iter().map(|error| context.pause_after(error, attempts)).min();
        let reason = skipped.first().map_or(Reason::Retry, |error| Reason::after(error.cause));
        // Who was not there did not refuse the task: that costs it no attempt.
        let charge = skipped.iter().any(|error| {
            let absent = error.cause == NotExecuted::Unreachable;
            Reason::after(error.cause) == Reason::Retry && !absent
        });
        let run_at = context.now + context.spread(pause.unwrap_or(context.policy.backoff));
        self.park(context, reason, run_at, charge);
        run_at
    }

    fn give_up(
        &mut self,
        context: &DecisionContext,
        state: TaskState,
        error: Option<TaskError>,
    ) -> Next {
        self.finish(context, state, error);
        if error == Some(TaskError::Expired) {
            self.order.status = OrderStatus::PaymentFailed;
        }
        Next::Rest
    }

    /// What the payment system is told, and is told again in every repeat.
    pub(in crate::core::payment) fn checkout(&self, context: &DecisionContext) -> Box<Checkout> {
        let (order, task) = (&self.order, self.own_task(context));
        let external_id = order.details.external_id().map(ExternalId::percent_encoded);
        let return_url = task
            .and_then(|task| task.return_url.as_ref())
            .unwrap_or(&context.policy.return_url)
            .replace(ORDER_PLACEHOLDER, &order.id.to_string())
            .replace(EXTERNAL_ID_PLACEHOLDER, external_id.as_deref().unwrap_or_default());
        Box::new(Checkout {
            return_url,
            lifetime: task.and_then(|task| task.form_lifetime),
            expires_at: None,
            description: order.details.description.clone(),
            receipt: Receipt::of(order),
        })
    }
}
