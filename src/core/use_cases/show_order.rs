//! Show one order, or a page of them. Another's order does not exist.

use crate::core::domain::ids::OrderId;
use crate::core::payment::OrderAggregate;
use crate::core::ports::order_repository::{OrderQuery, OrderRepository, Scope};
use crate::core::ports::storage_error::StorageError;
use std::sync::Arc;

/// Reads orders, for whoever may see them.
#[derive(Debug)]
pub struct ShowOrder {
    /// Where they are.
    pub orders: Arc<dyn OrderRepository>,
}

impl ShowOrder {
    /// # Errors
    /// The storage cannot answer.
    pub async fn run(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError> {
        self.orders.aggregate(id, scope).await
    }

    /// Newest first. One more than `limit` is never returned: ask with `limit + 1` to learn whether
    /// there is a next page.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn page(
        &self,
        query: &OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<OrderAggregate>, StorageError> {
        self.orders.list(query, scope).await
    }
}
