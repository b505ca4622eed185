//! The outbox. There is one writer, so rows come in the order of their commits.

use super::{SqliteStore, blob, sql};
use crate::adapters::outbound::storage::filters::only_customer;
use crate::adapters::outbound::storage::rows::read_events;
use crate::core::domain::ids::{EventId, OrderId};
use crate::core::ports::order_repository::Scope;
use crate::core::ports::outbox::{After, Outbox, StoredEvent};
use crate::core::ports::storage_error::StorageError;

#[async_trait::async_trait]
impl Outbox for SqliteStore {
    async fn events_of(
        &self,
        order: OrderId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StorageError> {
        let rows = sqlx::query_scalar::<_, String>(sql::EVENTS_OF_ORDER)
            .bind(blob(order.uuid()))
            .bind(i64::try_from(after).unwrap_or(i64::MAX))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let found = self.read(async |mut reader| rows.fetch_all(&mut *reader).await).await?;
        Ok(read_events(&found, &*self.events))
    }

    async fn events(
        &self,
        after: After,
        limit: usize,
        scope: &Scope,
    ) -> Result<Option<Vec<StoredEvent>>, StorageError> {
        let position = match after {
            After::Position(position) => i64::try_from(position).ok(),
            After::Event(EventId { order, sequence }) => {
                let row = sqlx::query_scalar::<_, i64>(sql::POSITION_OF_EVENT)
                    .bind(blob(order.uuid()))
                    .bind(i64::try_from(sequence).unwrap_or(i64::MAX))
                    .bind(only_customer(scope));
                self.read(async |mut reader| row.fetch_optional(&mut *reader).await).await?
            }
        };
        let Some(position) = position else { return Ok(None) };
        let rows = sqlx::query_scalar::<_, String>(sql::EVENTS)
            .bind(position)
            .bind(only_customer(scope))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let found = self.read(async |mut reader| rows.fetch_all(&mut *reader).await).await?;
        Ok(Some(read_events(&found, &*self.events)))
    }
}
