//! The next step of a refund: read what was given back so far, send, read again. Only a report that
//! tells the refunded sum proves anything, and it is compared with what the provider told before the
//! call (docs/payments.md, rule 11).

use crate::core::domain::money::Money;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::decision::{DomainEvent, Next};
use crate::core::payment::dispute::Dispute;
use crate::core::payment::effect::{CallKind, CallResult, ProviderCall};
use crate::core::payment::refund::{Refund, RefundKey, RefundState};
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Reason, TaskError, TaskState};

/// So many reports of an unchanged sum are needed before a refund in doubt is sent once more.
const UNCHANGED_ENOUGH: u32 = 3;

/// What a told sum says of a refund that was sent.
enum Reading {
    Done,
    Unchanged,
    /// Somebody else gave money back as well, the provider forgot some, or we never learnt the sum before.
    Other,
}

impl OrderAggregate {
    pub(super) fn decide_refund(
        &mut self,
        context: &DecisionContext,
        events: &mut Vec<DomainEvent>,
    ) -> Next {
        let Some((refund, paid)) = self.refund_in_hand(context) else {
            return self.review(context, TaskError::Mismatch, events);
        };
        let last = context.history.last.as_ref();
        match refund.state {
            RefundState::Planned => self.decide_planned(context, refund, &paid, events),
            RefundState::Sent if last.is_none() => {
                // Whoever sent it died before it could say what happened.
                self.set_refund(&refund.key, |refund| refund.state = RefundState::InDoubt);
                Next::Call(ProviderCall::query(&paid, context.now))
            }
            RefundState::Sent | RefundState::InDoubt => {
                self.decide_sent(context, refund, &paid, events)
            }
            RefundState::Done => self.end_refund(context, TaskState::Succeeded, None),
            RefundState::Refused => {
                self.end_refund(context, TaskState::Failed, Some(TaskError::RefundRejected))
            }
            RefundState::Cancelled => {
                let error = Some(TaskError::CancelledByOperator);
                self.end_refund(context, TaskState::Cancelled, error)
            }
            RefundState::Expired => {
                self.end_refund(context, TaskState::Failed, Some(TaskError::Expired))
            }
            RefundState::Review => self.review(context, TaskError::OutcomeUnknown, events),
        }
    }

    fn decide_planned(
        &mut self,
        context: &DecisionContext,
        refund: Refund,
        paid: &Registration,
        events: &mut Vec<DomainEvent>,
    ) -> Next {
        if context.past(self.deadline_of(context)) {
            self.set_refund(&refund.key, |refund| refund.state = RefundState::Expired);
            return self.end_refund(context, TaskState::Failed, Some(TaskError::Expired));
        }
        if self.other_in_doubt(&refund.key) {
            return self.rest_after_setback(context, Reason::Retry);
        }
        match context.history.last.as_ref() {
            None => Next::Call(ProviderCall::query(paid, context.now)),
            Some(call) => match call.report().and_then(|report| report.refunded) {
                Some(told) => self.send_refund(context, refund, paid, told, events),
                None => self.rest_after_setback(context, Reason::Retry),
            },
        }
    }

    /// More given back than our refunds explain: it may be this very refund, sent by a service that
    /// forgot. Nothing is sent.
    fn send_refund(
        &mut self,
        context: &DecisionContext,
        refund: Refund,
        paid: &Registration,
        told: Money,
        events: &mut Vec<DomainEvent>,
    ) -> Next {
        if told != self.explained(paid) {
            events.push(self.refunds_apart(context, paid));
            self.set_refund(&refund.key, |refund| refund.state = RefundState::Review);
            return self.review(context, TaskError::Mismatch, events);
        }
        if !paid.amount.minus(told).is_ok_and(|left| left.minor() >= refund.amount.minor()) {
            self.set_refund(&refund.key, |refund| refund.state = RefundState::Refused);
            return self.end_refund(context, TaskState::Failed, Some(TaskError::RefundRejected));
        }
        self.call_refund(context, &refund, paid, told)
    }

    /// What the provider says was given back is not what our refunds explain.
    fn refunds_apart(&self, context: &DecisionContext, paid: &Registration) -> DomainEvent {
        let report = context.history.last.as_ref().and_then(|call| call.report());
        let dispute = Dispute::about_refunds(paid, self.explained(paid), report);
        DomainEvent::Mismatch { provider: paid.provider, dispute }
    }

    fn decide_sent(
        &mut self,
        context: &DecisionContext,
        refund: Refund,
        paid: &Registration,
        events: &mut Vec<DomainEvent>,
    ) -> Next {
        let last = context.history.last.as_ref();
        let told = last.and_then(|call| call.report()).and_then(|report| report.refunded);
        match (last.map(|call| &call.result), told) {
            (None | Some(CallResult::Refund { .. }), _) => {
                Next::Call(ProviderCall::query(paid, context.now))
            }
            (Some(_), Some(told)) => match refund.read(told) {
                Reading::Done => {
                    self.set_refund(&refund.key, |refund| refund.state = RefundState::Done);
                    self.end_refund(context, TaskState::Succeeded, None)
                }
                Reading::Other => {
                    events.push(self.refunds_apart(context, paid));
                    self.review(context, TaskError::Mismatch, events)
                }
                Reading::Unchanged => self.refund_unchanged(context, &refund, paid, told, events),
            },
            (Some(_), None) if context.past(self.deadline_of(context)) => {
                self.review(context, TaskError::OutcomeUnknown, events)
            }
            (Some(_), None) => self.rest_after_setback(context, Reason::OutcomeUnknown),
        }
    }

    /// After the grace a refund that left no trace is sent again where its key makes that harmless, and
    /// laid before a person where nothing does. A word that was taken is never said again.
    fn refund_unchanged(
        &mut self,
        context: &DecisionContext,
        refund: &Refund,
        paid: &Registration,
        told: Money,
        events: &mut Vec<DomainEvent>,
    ) -> Next {
        let unchanged = refund.unchanged.saturating_add(1);
        self.set_refund(&refund.key, |refund| refund.unchanged = unchanged);
        // A report from before the end of the grace proves nothing, however late it comes.
        let grace = context.policy.unknown_grace;
        let after_grace = refund.sent_at.is_none_or(|sent| context.asked_at() > sent + grace);
        let silent = unchanged >= UNCHANGED_ENOUGH && after_grace && !refund.acknowledged;
        let keyed = context.providers.deduplicate_refunds.contains(&paid.provider);
        if context.past(self.deadline_of(context)) || (silent && !keyed) {
            return self.review(context, TaskError::OutcomeUnknown, events);
        }
        if silent {
            return self.call_refund(context, refund, paid, told);
        }
        self.rest_after_setback(context, Reason::OutcomeUnknown)
    }

    fn call_refund(
        &mut self,
        context: &DecisionContext,
        refund: &Refund,
        paid: &Registration,
        told: Money,
    ) -> Next {
        self.set_refund(&refund.key, |refund| {
            refund.state = RefundState::Sent;
            refund.told_before = Some(told);
            refund.sent_at = Some(context.now);
            refund.sends = refund.sends.saturating_add(1);
            refund.unchanged = 0;
        });
        let kind = CallKind::Refund { key: refund.key.clone(), amount: refund.amount };
        Next::Call(ProviderCall::new(paid, kind, context.now))
    }

    /// A refund whose task goes before a person: what was never sent is over, the rest waits for a word.
    pub(super) fn doubt_goes_to_review(&mut self, context: &DecisionContext) {
        let Some(refund) = self.refund_of(context.task) else { return };
        let (key, state) = (refund.key.clone(), refund.state);
        let next = match state {
            RefundState::Planned => RefundState::Expired,
            RefundState::Sent | RefundState::InDoubt | RefundState::Review => RefundState::Review,
            RefundState::Done
            | RefundState::Refused
            | RefundState::Cancelled
            | RefundState::Expired => state,
        };
        self.set_refund(&key, |refund| refund.state = next);
    }

    fn end_refund(
        &mut self,
        context: &DecisionContext,
        state: TaskState,
        error: Option<TaskError>,
    ) -> Next {
        self.finish(context, state, error);
        Next::Rest
    }

    /// Of the refunds of an order one is sent at a time.
    fn other_in_doubt(&self, own: &RefundKey) -> bool {
        self.refunds.iter().any(|refund| refund.state.is_in_doubt() && refund.key != *own)
    }

    fn refund_in_hand(&self, context: &DecisionContext) -> Option<(Refund, Registration)> {
        let refund = self.refund_of(self.own_task(context)?.id)?;
        let paid = self.registration(refund.provider, refund.sequence)?;
        let money = matches!(paid.state, RegistrationState::Paid | RegistrationState::Surplus);
        money.then(|| (refund.clone(), paid.clone()))
    }

    pub(in crate::core::payment) fn set_refund(
        &mut self,
        key: &RefundKey,
        change: impl FnOnce(&mut Refund),
    ) {
        if let Some(refund) = self.refund_mut(key) {
            change(refund);
        }
    }
}

impl Refund {
    /// Without a sum from before the call nothing can be compared.
    fn read(&self, told: Money) -> Reading {
        let Some(before) = self.told_before.map(Money::minor) else { return Reading::Other };
        if told.minor() == before + self.amount.minor() {
            Reading::Done
        } else if told.minor() == before {
            Reading::Unchanged
        } else {
            Reading::Other
        }
    }
}
