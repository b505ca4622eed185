//! Cancel an order: at once while nothing can be paid, else after its registration was taken back.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::order::OrderStatus;
use crate::core::ports::call::Call;
use crate::core::ports::orders::{Scope, StorageError};
use std::time::Duration;

#[derive(Debug)]
pub struct Cancel {
    pub order_id: OrderId,
    pub scope: Scope,
    pub call: Call,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancellation {
    /// The order is cancelled: read it.
    Done,
    Queued {
        task_id: TaskId,
        retry_after: Duration,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CancelError {
    #[error("no such order")]
    NotFound,
    #[error("an order that is {} cannot be cancelled", .0.as_str())]
    NotCancellable(OrderStatus),
    #[error(transparent)]
    Storage(#[from] StorageError),
}
