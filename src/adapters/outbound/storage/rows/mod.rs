//! Rows as both databases keep them. They cross the border as JSON, made and read by the database
//! itself, so that an aggregate is one statement and one snapshot, and there is one way to read it.

mod audit;
mod callback;
mod cells;
mod dispute;
mod event;
mod key;
mod order;
mod queue;
mod refund;
mod registration;
mod service_mode;
mod task;
mod webhook;

pub use audit::AuditRow;
pub use callback::CallbackRow;
pub use cells::{clean, read, read_all, write};
pub use event::{NewEventRow, new_events, read_events};
pub use key::{KeyRow, RecordRow};
pub use order::{OrderChangeRow, OrderRow};
pub use queue::{ClaimedRow, TaskStatRow};
pub use refund::RefundRow;
pub use registration::RegistrationRow;
pub use service_mode::ServiceModeRow;
pub use task::{TaskRow, lane_word};
pub use webhook::{
    DeliveryRow, EndpointRow, WebhookStatsRow, attempt_json, customer_of, event_types_json,
    keys_json,
};

use crate::core::payment::OrderAggregate;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::TaskView;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct AggregateRow {
    order: OrderRow,
    registrations: Vec<RegistrationRow>,
    refunds: Vec<RefundRow>,
    tasks: Vec<TaskRow>,
}

#[derive(Debug, Deserialize)]
pub struct TaskViewRow {
    task: TaskRow,
    registration: Option<RegistrationRow>,
    refund: Option<RefundRow>,
}

impl TaskViewRow {
    pub fn restore(self) -> Result<TaskView, StorageError> {
        let registration = self.registration.map(RegistrationRow::restore).transpose()?;
        let refund = self.refund.map(RefundRow::restore).transpose()?;
        Ok(TaskView { task: self.task.restore()?, registration, refund })
    }
}

impl AggregateRow {
    pub fn restore(self) -> Result<OrderAggregate, StorageError> {
        let mut registrations = all(self.registrations, RegistrationRow::restore)?;
        registrations.sort_by_key(|registration| (registration.provider, registration.sequence));
        let mut refunds = all(self.refunds, RefundRow::restore)?;
        refunds
            .sort_by(|one, other| (one.created_at, &one.key).cmp(&(other.created_at, &other.key)));
        let mut tasks = all(self.tasks, TaskRow::restore)?;
        tasks.sort_by_key(|task| (task.created_at, task.id));
        Ok(OrderAggregate { order: self.order.restore()?, registrations, refunds, tasks })
    }
}

fn all<R, T>(
    rows: Vec<R>,
    restore: impl Fn(R) -> Result<T, StorageError>,
) -> Result<Vec<T>, StorageError> {
    rows.into_iter().map(restore).collect()
}
