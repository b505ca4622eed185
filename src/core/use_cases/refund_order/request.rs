//! What is asked of a refund, and what it answers.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::ports::call::Call;
use crate::core::ports::idempotency::{IdempotentRequest, Refusal};
use crate::core::ports::order_repository::Scope;
use crate::core::ports::storage_error::StorageError;
use crate::core::use_cases::idempotency::IdempotencyError;
use std::time::Duration;

/// Who wants how much of which order back.
#[derive(Debug)]
pub struct RefundRequest {
    /// Which one.
    pub order_id: OrderId,
    /// Whose orders the caller may see.
    pub scope: Scope,
    /// All that is left, if not said.
    pub amount: Option<Money>,
    /// The client's key, which a refund must have: it names the refund for ever.
    pub idempotency: IdempotentRequest,
    /// How long the caller waits, and in which trace. A refund call that has begun is not cut by
    /// it.
    pub call: Call,
}

/// An accepted refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refunding {
    /// The money is back, by the provider's own word: read the order.
    Done,
    /// It goes on without the client.
    Queued {
        /// The task to look at.
        task_id: TaskId,
        /// When to look again.
        retry_after: Duration,
    },
}

/// Why nothing is given back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefundError {
    /// Or not the caller's.
    #[error("no such order")]
    NotFound,
    /// There is no money in it.
    #[error("an order that is {} cannot be refunded", .0.as_str())]
    NotRefundable(OrderStatus),
    /// Of what was paid, less what was given back or is on its way.
    #[error("more than is left of the payment")]
    Exceeds,
    /// A sum in another currency says nothing of this payment.
    #[error("the order was paid in another currency")]
    OtherCurrency,
    /// Refunds of one order go one at a time: what the sum told before one call proves, two calls
    /// would blur (docs/payments.md, rule 11).
    #[error("another refund of the order is under way")]
    InProgress,
    /// Without effect, and final under this key.
    #[error("the payment system refused the refund")]
    Rejected,
    /// The key's first request was refused, and so is its repeat.
    #[error("refused before, under the same key")]
    Replayed(Refusal),
    /// The key forbids it.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyError),
    /// Whether it was accepted is not known where a commit got no answer; a repeat with the key is
    /// safe.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl RefundError {
    /// Whether the same request will never be served.
    pub(super) const fn is_final(&self) -> bool {
        match self {
            Self::NotRefundable(_)
            | Self::Exceeds
            | Self::OtherCurrency
            | Self::Rejected
            | Self::Replayed(_) => true,
            Self::NotFound | Self::InProgress | Self::Idempotency(_) | Self::Storage(_) => false,
        }
    }
}
