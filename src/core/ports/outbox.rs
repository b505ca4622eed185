//! What happened to orders, for those who want to be told: appended with each change, read in the order of commits.

use crate::core::domain::ids::{EventId, OrderId};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::order_event::OrderEvent;
use crate::core::ports::order_repository::Scope;
use crate::core::ports::storage_error::StorageError;
use std::fmt;

/// Something that happened to an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// What.
    pub kind: OrderEvent,
    /// 1 for the order's first, without gaps.
    pub sequence: u64,
    /// When, by the database's clock.
    pub at: Timestamp,
    /// Its place among all orders' events.
    pub position: u64,
    /// The order as it was then, without its buyer; of its tasks only the one that was worth waiting for.
    pub aggregate: OrderAggregate,
}

/// Where a reader of all events goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// A position that was seen; 0 for the beginning.
    Position(u64),
    /// An event that was seen.
    Event(EventId),
}

/// What happened, in the order of commits.
#[async_trait::async_trait]
pub trait Outbox: Send + Sync + fmt::Debug {
    /// The order's events after this sequence, at most `limit`.
    async fn events_of(
        &self,
        order: OrderId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StorageError>;

    /// Everybody's events within the scope, at most `limit`, in the order of their positions: whoever has seen a
    /// position has seen all before it. `None` when there is no event to go on after.
    async fn events(
        &self,
        after: After,
        limit: usize,
        scope: &Scope,
    ) -> Result<Option<Vec<StoredEvent>>, StorageError>;
}
