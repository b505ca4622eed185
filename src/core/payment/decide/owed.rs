//! Money that is to go back although nobody asks for it: paid late, paid twice, or paid while a cancel
//! was on its way. Derived from what is stored on every decision, whoever learned of it and however
//! (docs/payments.md, rules 12 and 17).

use crate::core::domain::money::Money;
use crate::core::domain::provider::Provider;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::policy::CancelPaid;
use crate::core::payment::refund::{Refund, RefundKey, RefundOrigin, RefundState};
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Reason, Task, TaskKind};

/// A refund to be planned.
struct Owed {
    about: (Provider, u8),
    amount: Money,
    origin: RefundOrigin,
    /// It is sent by itself under this key; otherwise a person releases it.
    key: Option<RefundKey>,
}

impl OrderAggregate {
    /// For each registration whose money is to go back, one refund of what is left of it. What a person
    /// gave up stays given up.
    pub(super) fn plan_owed_refunds(&mut self, context: &DecisionContext) {
        let owed: Vec<_> = self
            .registrations
            .iter()
            .filter_map(|paid| self.late(paid).or_else(|| self.promised(paid, context)))
            .collect();
        for refund in owed {
            self.plan_owed(context, refund);
        }
    }

    /// Money that arrived for a registration that was given up, or twice: an operator releases it.
    fn late(&self, registration: &Registration) -> Option<Owed> {
        let origin = RefundOrigin::LateMoney;
        let amount = registration.unwanted().filter(|_| !self.seen_to(registration, origin))?;
        let about = (registration.provider, registration.sequence);
        Some(Owed { about, amount, origin, key: None })
    }

    /// A cancel was accepted, and the payment was faster. It goes back by itself once; what the provider
    /// would not give back then is a person's matter.
    fn promised(&self, registration: &Registration, context: &DecisionContext) -> Option<Owed> {
        let origin = RefundOrigin::Cancel;
        let kept = self.cancel_accepted()
            && registration.state == RegistrationState::Paid
            && !registration.paid_late
            && !self.seen_to(registration, origin);
        let amount = registration.amount.minus(registration.refunded).ok()?;
        if !kept || amount.is_zero() {
            return None;
        }
        let about = (registration.provider, registration.sequence);
        let key = RefundKey::of_cancel(self.order.id, about.0, about.1);
        let by_itself =
            context.policy.cancel_paid == CancelPaid::Refund && self.refund(&key).is_none();
        Some(Owed { about, amount, origin, key: by_itself.then_some(key) })
    }

    fn seen_to(&self, registration: &Registration, origin: RefundOrigin) -> bool {
        self.refunds.iter().any(|refund| {
            let given_up = refund.origin == origin && refund.state == RefundState::Cancelled;
            refund.is_of(registration) && (refund.state.is_open() || given_up)
        })
    }

    fn plan_owed(&mut self, context: &DecisionContext, owed: Owed) {
        let Owed { about, amount, origin, key } = owed;
        let now = context.now;
        let id = context.fresh_task_id(self.tasks.len());
        let deadline = now + context.policy.max_age;
        let mut task = Task::queued(id, self.order.id, TaskKind::RefundPayment, now, deadline);
        if key.is_none() {
            task.reason = Some(Reason::Operator);
            task.run_at = Task::NEVER;
        }
        task.lane = Some(about.0);
        task.result = Some(about);
        let key = key.unwrap_or_else(|| RefundKey::of_task(self.order.id, id));
        self.refunds.push(Refund::planned(key, about, amount, origin, id, now));
        self.tasks.push(task);
    }
}
