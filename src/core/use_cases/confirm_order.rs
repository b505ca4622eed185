//! Confirm an order: make it payable, now if a payment system answers in time, later if not.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::order::OrderStatus;
use crate::core::domain::registration::Provider;
use crate::core::ports::call::Call;
use crate::core::ports::orders::{Scope, StorageError};
use crate::core::ports::payment::PaymentSystemUnavailableError;
use std::time::Duration;
use tokio::sync::oneshot;

/// Where the answer goes; the work may go on after it was given.
pub type Reply<T> = oneshot::Sender<T>;

#[derive(Debug)]
pub struct Confirm {
    pub order_id: OrderId,
    pub scope: Scope,
    /// Validated at the door.
    pub return_url: Option<String>,
    /// `Prefer: wait=n`; never longer than the policy's `sync_wait`.
    pub wait: Option<Duration>,
    /// `Prefer: respond-async`.
    pub respond_async: bool,
    pub call: Call,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    Registered { provider: Provider, form_url: String },
    Queued { task_id: TaskId, retry_after: Duration },
}

impl Confirmation {
    /// The word of the API.
    #[must_use]
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Registered { .. } => "registered",
            Self::Queued { .. } => "queued",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfirmError {
    #[error("no such order")]
    NotFound,
    #[error("an order that is {} cannot be confirmed", .0.as_str())]
    NotConfirmable(OrderStatus),
    #[error("the payment system refused the order")]
    Rejected,
    #[error(transparent)]
    Unavailable(#[from] PaymentSystemUnavailableError),
    #[error("too little time left to start")]
    DeadlineExceeded,
    #[error(transparent)]
    Storage(#[from] StorageError),
}
