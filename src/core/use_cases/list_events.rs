//! Tell what happened: to one order, or to all that the caller may see.

use crate::core::domain::ids::OrderId;
use crate::core::ports::order_repository::{OrderRepository, Scope};
use crate::core::ports::outbox::{After, Outbox, StoredEvent};
use crate::core::ports::storage_error::StorageError;
use std::sync::Arc;

/// Reads what was told, within a scope.
#[derive(Debug)]
pub struct ListEvents {
    /// Whose order it is.
    pub orders: Arc<dyn OrderRepository>,
    /// What happened to it.
    pub outbox: Arc<dyn Outbox>,
}

impl ListEvents {
    /// The order's events after that sequence; `None` where there is no such order for this caller.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn of_order(
        &self,
        order: OrderId,
        after: u64,
        limit: usize,
        scope: &Scope,
    ) -> Result<Option<Vec<StoredEvent>>, StorageError> {
        if self.orders.aggregate(order, scope).await?.is_none() {
            return Ok(None);
        }
        self.outbox.events_of(order, after, limit).await.map(Some)
    }

    /// All events of the scope after that one; `None` where there is no such event.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn of_all(
        &self,
        after: After,
        limit: usize,
        scope: &Scope,
    ) -> Result<Option<Vec<StoredEvent>>, StorageError> {
        self.outbox.events(after, limit, scope).await
    }
}
