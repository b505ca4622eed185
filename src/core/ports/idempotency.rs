//! What an idempotency key stands for: the outcome of the one request that was served under it. It is
//! kept as data, in the transaction of its effect; whoever repeats the request is told it anew.

use crate::core::domain::ids::{OrderId, ProductId, TaskId};
use crate::core::domain::order::{OrderInvalid, OrderStatus};
use crate::core::ports::storage_error::StorageError;
use std::fmt;

/// Where outcomes are kept for those who repeat a request (RFC draft Idempotency-Key). Those of requests
/// that changed something are kept with the change: [`SideWrites`](super::order_repository::SideWrites).
#[async_trait::async_trait]
pub trait IdempotencyStore: Send + Sync + fmt::Debug {
    /// What the key stands for.
    ///
    /// # Errors
    /// The storage cannot answer.
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
    /// Whose key: the token's `sub`, or everybody's where there are no tokens.
    pub owner: String,
    /// The route as a template.
    pub route: &'static str,
    /// The client's words.
    pub key: String,
}

/// SHA-256 over what was asked.
pub type Fingerprint = [u8; 32];

/// A request that has one effect however often it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotentRequest {
    /// Under which key.
    pub key: IdempotencyKey,
    /// Of what was asked.
    pub fingerprint: Fingerprint,
}

/// What is kept under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// Of the request that was served.
    pub fingerprint: Fingerprint,
    /// What became of it.
    pub outcome: KeptOutcome,
}

/// What a repeated request is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptOutcome {
    /// The order that it placed.
    Placed(OrderId),
    /// How the refund ends is its task's to tell.
    Refunding(TaskId),
    /// It was refused, and always will be.
    Refused(Refusal),
}

/// A refusal that is final: the same request is refused for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// `None` where an earlier version did not keep why.
    OrderInvalid(Option<OrderInvalid>),
    /// The catalog has none of these products.
    ProductsNotFound(Vec<ProductId>),
    /// Of these products, or of the refund itself.
    CurrencyNotSupported(Vec<ProductId>),
    /// Nothing of the order can be given back: it was in this status.
    NotRefundable(OrderStatus),
    /// More than is left.
    RefundExceeds,
    /// The payment system said no.
    RefundRejected,
}
