//! What an idempotency key stands for: the outcome of the one request that was served under it. It is
//! kept as data, in the transaction of its effect; whoever repeats the request is told it anew.

use crate::core::domain::ids::{OrderId, ProductId, TaskId};
use crate::core::domain::order::{OrderInvalid, OrderStatus};
use crate::core::ports::storage_error::StorageError;
use std::fmt;

#[async_trait::async_trait]
pub trait IdempotencyStore: Send + Sync + fmt::Debug {
    async fn find(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StorageError>;

    /// Keeps an outcome that changed nothing. `false` when the key stands for one already: the first one
    /// stays, and is the answer.
    async fn keep(
        &self,
        request: IdempotentRequest,
        outcome: KeptOutcome,
    ) -> Result<bool, StorageError>;
}

/// (owner, route, key): the scope within which a key has one effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    pub owner: String,
    pub route: &'static str,
    pub key: String,
}

/// SHA-256 over what was asked.
pub type Fingerprint = [u8; 32];

/// A request that has one effect however often it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotentRequest {
    pub key: IdempotencyKey,
    pub fingerprint: Fingerprint,
}

/// What is kept under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    pub fingerprint: Fingerprint,
    pub outcome: KeptOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptOutcome {
    Placed(OrderId),
    /// How the refund ends is its task's to tell.
    Refunding(TaskId),
    Refused(Refusal),
}

/// A refusal that is final: the same request is refused for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// `None` where an earlier version did not keep why.
    OrderInvalid(Option<OrderInvalid>),
    ProductNotFound(ProductId),
    NotRefundable(OrderStatus),
    RefundExceeds,
    RefundRejected,
}
