//! Show one order, or a page of them. Another's order does not exist.

use crate::core::domain::dossier::Dossier;
use crate::core::domain::ids::OrderId;
use crate::core::ports::orders::{OrderQuery, OrderStore, Scope, StorageError};
use std::sync::Arc;

#[derive(Debug)]
pub struct ShowOrder {
    pub store: Arc<dyn OrderStore>,
}

impl ShowOrder {
    /// # Errors
    /// The storage cannot answer.
    pub async fn run(&self, id: OrderId, scope: &Scope) -> Result<Option<Dossier>, StorageError> {
        self.store.dossier(id, scope).await
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
    ) -> Result<Vec<Dossier>, StorageError> {
        self.store.list(query, scope).await
    }
}
