//! What operators look up: an order by whatever it is called, and what was told of it.

use super::{SqliteStore, blob, sql};
use crate::adapters::observe::storage_upkeep::{CallbackRecord, OrderRecords};
use crate::adapters::outbound::storage::invariants::READABLE;
use crate::adapters::outbound::storage::rows::{CallbackRow, clean, read_all, write};
use crate::core::domain::ids::OrderId;
use crate::core::domain::provider::Provider;
use crate::core::ports::storage_error::StorageError;
use uuid::Uuid;

#[async_trait::async_trait]
impl OrderRecords for SqliteStore {
    async fn order_named(&self, name: &str) -> Result<Option<OrderId>, StorageError> {
        let row = sqlx::query_scalar::<_, String>(sql::ORDER_NAMED)
            .bind(clean(name))
            .bind(write(&Provider::ALL.map(Provider::as_str)))
            .bind(name.parse::<i64>().ok());
        let found = self.read(async |mut reader| row.fetch_optional(&mut *reader).await).await?;
        let id = found.map(|id| Uuid::try_parse(&id)).transpose();
        Ok(id.map_err(|_| StorageError::Corrupt(READABLE))?.map(OrderId::from_uuid))
    }

    async fn callbacks(
        &self,
        order: OrderId,
        limit: usize,
    ) -> Result<Vec<CallbackRecord>, StorageError> {
        let rows = sqlx::query_scalar::<_, String>(sql::CALLBACKS)
            .bind(blob(order.uuid()))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let found = self.read(async |mut reader| rows.fetch_all(&mut *reader).await).await?;
        read_all::<CallbackRow, _>(&found)?.into_iter().map(CallbackRow::restore).collect()
    }
}
