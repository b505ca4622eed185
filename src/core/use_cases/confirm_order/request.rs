//! What is asked of a confirm, and what it answers.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::order::OrderStatus;
use crate::core::domain::unavailable::PaymentSystemUnavailableError;
use crate::core::payment::registration::OpenForm;
use crate::core::ports::call::Call;
use crate::core::ports::order_repository::Scope;
use crate::core::ports::storage_error::StorageError;
use std::time::Duration;

/// Who wants to pay for which order.
#[derive(Debug)]
pub struct ConfirmRequest {
    /// Which one.
    pub order_id: OrderId,
    /// Whose orders the caller may see.
    pub scope: Scope,
    /// Validated by the API.
    pub return_url: Option<String>,
    /// How long the form is to live, validated likewise.
    pub form_lifetime: Option<Duration>,
    /// `Prefer: wait=n`; never longer than the policy's `sync_wait`.
    pub wait: Option<Duration>,
    /// `Prefer: respond-async`.
    pub respond_async: bool,
    /// How long the caller waits, and in which trace. A register call that has begun is not cut by
    /// it.
    pub call: Call,
}

/// An accepted confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    /// The payer can pay there.
    Registered(OpenForm),
    /// There is no form yet, and the search for one goes on without the client.
    Queued {
        /// The task to look at.
        task_id: TaskId,
        /// When to look again.
        retry_after: Duration,
    },
}

/// Why there is no form and will be none by itself: nothing is alive at any provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfirmError {
    /// Or not the caller's.
    #[error("no such order")]
    NotFound,
    /// It is paid, cancelled or refunded.
    #[error("an order that is {} cannot be confirmed", .0.as_str())]
    NotConfirmable(OrderStatus),
    /// From then on nobody is given a form (docs/payments.md, rule 17).
    #[error("a cancel of the order was accepted")]
    CancelInProgress,
    /// The order is `payment_failed`; the same would be refused again.
    #[error("the payment system refused the order")]
    Rejected,
    /// Nobody executed anything, and nothing may be queued. The order is as before.
    #[error(transparent)]
    Unavailable(#[from] PaymentSystemUnavailableError),
    /// Nothing was sent. The order is as before.
    #[error("too little time left to start")]
    DeadlineExceeded,
    /// Whether it was accepted is not known where a commit got no answer; a repeat is safe.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
