//! Orders that are kept no longer: here everything of them goes, and how many there were is counted.

use super::state::{State, Stored};
use crate::adapters::outbound::storage::settings::PRUNE_BATCH;
use crate::core::domain::ids::OrderId;
use crate::core::domain::order::OrderStatus;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Task, TaskState};

impl State {
    /// The orders of which nothing is open and that have not changed since then.
    pub(super) fn archive(&mut self, since: Timestamp) -> usize {
        let open = |id| self.tasks.values().any(|task| task.order_id == id && is_open(task));
        let old = |(id, stored): &(&OrderId, &Stored)| {
            stored.order.updated_at < since && is_settled(stored) && !open(**id)
        };
        let gone = self.orders.iter().filter(old).map(|(id, _)| *id).take(PRUNE_BATCH.into());
        let gone: Vec<OrderId> = gone.collect();
        for id in &gone {
            self.orders.remove(id);
            self.tasks.retain(|_, task| task.order_id != *id);
            self.numbers.retain(|_, order| order != id);
            self.references.retain(|_, order| order != id);
            self.events.retain(|event| event.aggregate.order.id != *id);
            self.sequences.remove(id);
        }
        let numbers = &self.numbers;
        self.external_ids.retain(|(of, _), number| numbers.contains_key(&(*of, number.clone())));
        gone.len()
    }
}

fn is_open(task: &Task) -> bool {
    match task.state {
        TaskState::Queued | TaskState::Running => true,
        TaskState::Review => task.settled.is_none(),
        TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled => false,
    }
}

fn is_settled(stored: &Stored) -> bool {
    let status = match stored.order.status {
        OrderStatus::Registering | OrderStatus::AwaitingPayment => false,
        OrderStatus::New
        | OrderStatus::Paid
        | OrderStatus::PaymentFailed
        | OrderStatus::Cancelled
        | OrderStatus::Refunded => true,
    };
    status
        && stored.registrations.iter().all(nothing_may_come_of)
        && !stored.refunds.iter().any(|refund| refund.state.is_open())
}

fn nothing_may_come_of(registration: &Registration) -> bool {
    let over = match registration.state {
        RegistrationState::Intent | RegistrationState::Unknown | RegistrationState::Live => false,
        RegistrationState::Surplus => registration.refunded.minor() >= registration.amount.minor(),
        RegistrationState::Paid | RegistrationState::Dead | RegistrationState::Absent => true,
    };
    over && registration.sync_requested_at.is_none()
        && registration.contradiction.is_none()
        && registration.strange_since.is_none()
}
