//! The aggregate: an order with its registrations, its refunds and its unfinished tasks. Every decision
//! about an order is a pure function on it, run inside one storage transaction.

use crate::core::domain::ids::{LeaseToken, TaskId};
use crate::core::domain::money::Money;
use crate::core::domain::order::{Order, OrderStatus};
use crate::core::domain::provider::Provider;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::refund::{Refund, RefundKey, RefundState};
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Reason, Task, TaskKind};

/// What storage loads, hands to a decision, and saves as a whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderAggregate {
    /// Its row lock serialises everything about the aggregate.
    pub order: Order,
    /// All that were ever made, by (provider, sequence).
    pub registrations: Vec<Registration>,
    /// All that were ever planned or seen, by (`created_at`, key).
    pub refunds: Vec<Refund>,
    /// The unfinished ones; those that a decision ends are saved with their final state.
    pub tasks: Vec<Task>,
}

impl OrderAggregate {
    /// An order that was just placed.
    #[must_use]
    pub const fn placed(order: Order) -> Self {
        Self { order, registrations: Vec::new(), refunds: Vec::new(), tasks: Vec::new() }
    }

    /// The one registration that may be alive; the storage's unique index says there is one at most.
    #[must_use]
    pub fn open_registration(&self) -> Option<&Registration> {
        self.registrations.iter().find(|registration| registration.state.maybe_alive())
    }

    /// The row of this provider and sequence, whatever became of it.
    #[must_use]
    pub fn registration(&self, provider: Provider, sequence: u8) -> Option<&Registration> {
        self.registrations.iter().find(|r| r.provider == provider && r.sequence == sequence)
    }

    /// Whether a cancel was accepted: its promise is that nobody can pay any more, or that what was paid
    /// goes back. An earlier version of the service has only its task for it.
    #[must_use]
    pub fn cancel_accepted(&self) -> bool {
        self.order.cancel_requested_at.is_some()
            || self.unfinished(TaskKind::CancelPayment).is_some()
    }

    /// The registration whose money the order holds.
    #[must_use]
    pub fn paid_registration(&self) -> Option<&Registration> {
        self.registrations.iter().find(|r| r.state == RegistrationState::Paid)
    }

    /// The task of this kind that is not over. There is one at most, refunds apart (a unique
    /// index).
    #[must_use]
    pub fn unfinished(&self, kind: TaskKind) -> Option<&Task> {
        self.tasks.iter().find(|task| task.kind == kind && !task.state.is_final())
    }

    /// The task that a client should wait for: the registration's while it is unfinished, else its cancel
    /// or a refund. Polls are nobody's business, and what waits for a person has no time.
    #[must_use]
    pub fn awaited_task(&self) -> Option<&Task> {
        let awaited = |task: &&Task| {
            let open = !task.state.is_final() && task.reason != Some(Reason::Operator);
            open && task.kind != TaskKind::SyncPayment
        };
        self.unfinished(TaskKind::RegisterPayment).or_else(|| self.tasks.iter().find(awaited))
    }

    /// The task that works on whatever is open: the registration's, else any, polls among them.
    #[must_use]
    pub fn task_at_work(&self) -> Option<&Task> {
        let open = self.registrations.iter().any(|r| !r.state.is_settled());
        let worth =
            |task: &&Task| !task.state.is_final() && (task.kind != TaskKind::SyncPayment || open);
        self.unfinished(TaskKind::RegisterPayment).or_else(|| self.tasks.iter().find(worth))
    }

    /// Whether a refund waits for a person to release it.
    pub(super) fn waits_for_operator(&self, refund: &Refund) -> bool {
        refund.state == RefundState::Planned
            && self
                .tasks
                .iter()
                .any(|task| Some(task.id) == refund.task && task.reason == Some(Reason::Operator))
    }

    /// The refund with this key, whatever became of it.
    #[must_use]
    pub fn refund(&self, key: &RefundKey) -> Option<&Refund> {
        self.refunds.iter().find(|refund| refund.key == *key)
    }

    /// What a task gives back.
    #[must_use]
    pub fn refund_of(&self, task: TaskId) -> Option<&Refund> {
        self.refunds.iter().find(|refund| refund.task == Some(task))
    }

    /// What the refunds that are done explain of the sum that was given back for a registration.
    #[must_use]
    pub fn explained(&self, registration: &Registration) -> Money {
        let done = self
            .refunds
            .iter()
            .filter(|refund| refund.is_of(registration) && refund.state == RefundState::Done);
        let zero = Money::zero(registration.amount.currency());
        done.fold(zero, |sum, refund| sum.plus(refund.amount).unwrap_or(sum))
    }

    /// The sequence that the next registration gets: it advances only past a dead one.
    pub(super) fn present_sequence(&self) -> u8 {
        let passed = |r: &&Registration| {
            matches!(r.state, RegistrationState::Dead | RegistrationState::Surplus)
        };
        self.registrations.iter().filter(passed).map(|r| r.sequence).max().unwrap_or(0) + 1
    }

    pub(super) fn open_registration_mut(&mut self) -> Option<&mut Registration> {
        self.registrations.iter_mut().find(|registration| registration.state.maybe_alive())
    }

    pub(super) fn registration_mut(
        &mut self,
        provider: Provider,
        sequence: u8,
    ) -> Option<&mut Registration> {
        self.registrations.iter_mut().find(|r| r.provider == provider && r.sequence == sequence)
    }

    pub(super) fn refund_mut(&mut self, key: &RefundKey) -> Option<&mut Refund> {
        self.refunds.iter_mut().find(|refund| refund.key == *key)
    }

    pub(super) fn unfinished_mut(&mut self, kind: TaskKind) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|task| task.kind == kind && !task.state.is_final())
    }

    pub(super) fn held(&self, task: TaskId, token: LeaseToken) -> Option<&Task> {
        self.tasks.iter().find(|t| t.id == task && t.held_by(token))
    }

    /// The task whose lease the deciding run holds.
    pub(super) fn own_task(&self, context: &DecisionContext) -> Option<&Task> {
        self.held(context.task, context.token)
    }

    pub(super) fn own_task_mut(&mut self, context: &DecisionContext) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|t| t.id == context.task && t.held_by(context.token))
    }

    /// Derives the order's status from its registrations: never from the order in which news came.
    pub(super) fn derive_status(&mut self) {
        let any = |state| self.registrations.iter().any(|r| r.state == state);
        self.order.status = if let Some(paid) = self.paid_registration() {
            let whole = paid.refunded.minor() >= paid.amount.minor();
            if whole { OrderStatus::Refunded } else { OrderStatus::Paid }
        } else if self.order.status == OrderStatus::Cancelled {
            OrderStatus::Cancelled
        } else if self.unfinished(TaskKind::RegisterPayment).is_some() {
            OrderStatus::Registering
        } else if any(RegistrationState::Live) {
            OrderStatus::AwaitingPayment
        } else if any(RegistrationState::Unknown) || any(RegistrationState::Intent) {
            OrderStatus::Registering
        } else if self.cancel_accepted() {
            OrderStatus::Cancelled
        } else if any(RegistrationState::Dead) || self.order.status == OrderStatus::PaymentFailed {
            OrderStatus::PaymentFailed
        } else {
            OrderStatus::New
        };
    }
}
