//! Orders: written through the writer, read beside it.

use super::change::OrderChange;
use super::placement::Placement;
use super::writer::{QueuedWork, Request, Tx, Work, WriteError};
use super::{SqliteStore, blob, sql};
use crate::adapters::outbound::storage::filters::{OrderFilter, only_customer};
use crate::adapters::outbound::storage::invariants::{READABLE, SCHEMA};
use crate::adapters::outbound::storage::rows::{AggregateRow, clean, read};
use crate::adapters::outbound::storage::set_aside::read_page;
use crate::core::domain::ids::OrderId;
use crate::core::domain::order::Order;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::ports::idempotency::IdempotentRequest;
use crate::core::ports::order_repository::{
    Decide, InboxEntry, LoadOptions, OrderQuery, OrderRepository, Placed, Scope,
};
use crate::core::ports::storage_error::StorageError;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

#[async_trait::async_trait]
impl OrderRepository for SqliteStore {
    async fn place(&self, order: Order) -> Result<Order, StorageError> {
        match self.run_placement(Placement { order, once: None }).await? {
            Placed::New(order) => Ok(order),
            Placed::Known(_) => Err(StorageError::Corrupt(SCHEMA)),
        }
    }

    async fn place_once(
        &self,
        order: Order,
        request: IdempotentRequest,
    ) -> Result<Placed, StorageError> {
        self.run_placement(Placement { order, once: Some(request) }).await
    }

    async fn change(
        &self,
        id: OrderId,
        options: LoadOptions,
        decide: Decide,
    ) -> Result<bool, StorageError> {
        let (request, answer) = Request::new(OrderChange { id, options, decide });
        self.submit(QueuedWork::Change(Box::new(request)), answer).await
    }

    async fn aggregate(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError> {
        let row = sqlx::query_scalar::<_, String>(sql::AGGREGATE)
            .bind(blob(id.uuid()))
            .bind(only_customer(scope));
        let found = self.read(async |mut reader| row.fetch_optional(&mut *reader).await).await?;
        found.map(|json| read::<AggregateRow>(&json)?.restore()).transpose()
    }

    async fn list(
        &self,
        query: &OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<OrderAggregate>, StorageError> {
        read_page(query, &*self.events, |query| self.order_rows(query, scope)).await
    }

    async fn find_order(
        &self,
        provider: Provider,
        number: &ProviderNumber,
    ) -> Result<Option<OrderId>, StorageError> {
        let row = sqlx::query_scalar::<_, Vec<u8>>(sql::FIND_ORDER)
            .bind(provider.as_str())
            .bind(number.as_str());
        let found = self.read(async |mut reader| row.fetch_optional(&mut *reader).await).await?;
        let id = found.map(|id| Uuid::from_slice(&id)).transpose();
        Ok(id.map_err(|_| StorageError::Corrupt(READABLE))?.map(OrderId::from_uuid))
    }

    async fn now(&self) -> Result<Timestamp, StorageError> {
        Ok(self.clock.now())
    }

    async fn keep_unknown_callback(&self, entry: InboxEntry) -> Result<bool, StorageError> {
        self.write(entry).await
    }
}

impl SqliteStore {
    async fn order_rows(
        &self,
        query: OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<String>, StorageError> {
        let Some(filter) = OrderFilter::new(&query, scope) else { return Ok(Vec::new()) };
        let sql = filter.sql(sql::SELECT_AGGREGATE, "$4", sql::LISTED_IDS);
        let rows = sqlx::query_scalar::<_, String>(AssertSqlSafe(sql))
            .bind(filter.customer)
            .bind(filter.status)
            .bind(filter.after.map(|(at, _)| at))
            .bind(filter.after.map(|(_, id)| blob(id)))
            .bind(filter.limit)
            .bind(filter.created.0)
            .bind(filter.created.1)
            .bind(filter.updated_since)
            .bind(filter.ids)
            .bind(filter.external_id);
        self.read(async |mut reader| rows.fetch_all(&mut *reader).await).await
    }

    async fn run_placement(&self, placement: Placement) -> Result<Placed, StorageError> {
        let (request, answer) = Request::new(placement);
        self.submit(QueuedWork::Placement(Box::new(request)), answer).await?
    }
}

#[async_trait::async_trait]
impl Work for InboxEntry {
    type Output = bool;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<bool, WriteError> {
        keep_callback(tx, self).await
    }
}

/// `false` when the same is there already, and was only counted.
pub async fn keep_callback(tx: &mut Tx<'_>, entry: &InboxEntry) -> Result<bool, WriteError> {
    let times: i64 = sqlx::query_scalar(sql::KEEP_CALLBACK)
        .bind(entry.provider.as_str())
        .bind(clean(entry.number.as_str()))
        .bind(entry.event_id.as_deref().map(clean))
        .bind(clean(&entry.kind))
        .bind(entry.signed)
        .bind(tx.now.micros())
        .fetch_one(&mut *tx.connection)
        .await?;
    Ok(times == 1)
}
