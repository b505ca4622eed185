//! Orders: placed in batches, changed under their row's lock, read as one snapshot.

use super::batching::QueuedPlacement;
use super::change::{OrderChange, SingleChange};
use super::change_batch::QueuedChange;
use super::placement::{KeyedPlacement, SinglePlacement};
use super::session::{AttemptError, Tx, Work};
use super::{PgStore, bind, bound, sql};
use crate::adapters::outbound::storage::filters::{OrderFilter, only_customer};
use crate::adapters::outbound::storage::invariants::READABLE;
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
use sqlx::postgres::PgArguments;
use sqlx::{AssertSqlSafe, SqlSafeStr};
use std::sync::Arc;
use tokio::sync::oneshot;

#[async_trait::async_trait]
impl OrderRepository for PgStore {
    async fn place(&self, order: Order) -> Result<Order, StorageError> {
        if order.details.reference.is_some() {
            // It may be refused, and would take a batch with it.
            return self.run(SinglePlacement { order, perhaps_placed: false }).await;
        }
        let (reply, answer) = oneshot::channel();
        let placed = async {
            let placement = QueuedPlacement { order, reply };
            self.placing.send(placement).await.map_err(|_| StorageError::Unavailable)?;
            answer.await.map_err(|_| StorageError::Unavailable)?
        };
        let limited = tokio::time::timeout(self.sessions.time_limit, placed);
        limited.await.map_err(|_| StorageError::Unavailable)?
    }

    async fn place_once(
        &self,
        order: Order,
        request: IdempotentRequest,
    ) -> Result<Placed, StorageError> {
        self.run(KeyedPlacement { order, request }).await
    }

    async fn change(
        &self,
        id: OrderId,
        options: LoadOptions,
        decide: Decide,
    ) -> Result<bool, StorageError> {
        let change = OrderChange { id, options, decide, attempted: None };
        let limited = tokio::time::timeout(self.sessions.time_limit, self.decide(change));
        limited.await.map_err(|_| StorageError::Unavailable)?
    }

    async fn aggregate(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError> {
        let arguments = bound([Some(id.to_string()), only_customer(scope)]);
        let rows = self.rows(sql::AGGREGATE.into_sql_str(), arguments).await?;
        rows.first().map(|json| read::<AggregateRow>(json)?.restore()).transpose()
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
        let number = clean(number.as_str());
        let arguments = bound([Some(provider.as_str().to_owned()), Some(number)]);
        let rows = self.rows(sql::FIND_ORDER.into_sql_str(), arguments).await?;
        Ok(rows.first().and_then(|id| OrderId::parse(id)))
    }

    async fn now(&self) -> Result<Timestamp, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, self.now());
        let rows = self.rows(sql::NOW.into_sql_str(), arguments).await?;
        let micros = rows.first().and_then(|micros| micros.parse().ok());
        micros.map(Timestamp::from_micros).ok_or(StorageError::Corrupt(READABLE))
    }

    async fn keep_unknown_callback(&self, entry: InboxEntry) -> Result<bool, StorageError> {
        self.run(entry).await
    }
}

impl PgStore {
    /// In a batch, or by itself where the batch could not. `false` when there is no such order.
    async fn decide(&self, change: OrderChange) -> Result<bool, StorageError> {
        let (reply, answer) = oneshot::channel();
        let queued = QueuedChange { change, reply };
        self.changing.send(queued).await.map_err(|_| StorageError::Unavailable)?;
        let Some(change) = answer.await.map_err(|_| StorageError::Unavailable)? else {
            return Ok(true);
        };
        let permit = self.order_limit.take(change.id, self.sessions.time_limit).await?;
        let single = SingleChange { change, channel: Arc::clone(&self.channel) };
        let wakeups = self.sessions.run_holding(single, self.now(), permit).await?;
        self.channel.wake(wakeups.unwrap_or_default());
        Ok(wakeups.is_some())
    }

    async fn order_rows(
        &self,
        query: OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<String>, StorageError> {
        let Some(filter) = OrderFilter::new(&query, scope) else { return Ok(Vec::new()) };
        let sql = AssertSqlSafe(filter.sql(sql::SELECT_AGGREGATE, "$4::uuid", sql::LISTED_IDS));
        let mut arguments = bound([filter.customer, filter.status.map(str::to_owned)]);
        bind(&mut arguments, filter.after.map(|(at, _)| at));
        bind(&mut arguments, filter.after.map(|(_, id)| id.to_string()));
        bind(&mut arguments, filter.limit);
        bind(&mut arguments, filter.created.0);
        bind(&mut arguments, filter.created.1);
        bind(&mut arguments, filter.updated_since);
        bind(&mut arguments, filter.ids);
        bind(&mut arguments, filter.external_id);
        self.rows(sql.into_sql_str(), arguments).await
    }
}

#[async_trait::async_trait]
impl Work for InboxEntry {
    type Output = bool;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<bool, AttemptError> {
        keep_callback(tx, self).await
    }
}

/// `false` when the same is there already, and was only counted.
pub async fn keep_callback(tx: &mut Tx<'_>, entry: &InboxEntry) -> Result<bool, AttemptError> {
    let sql = if entry.event_id.is_some() { sql::KEEP_EVENT } else { sql::KEEP_WORD };
    let times: i64 = sqlx::query_scalar(sql)
        .bind(entry.provider.as_str())
        .bind(clean(entry.number.as_str()))
        .bind(entry.event_id.as_deref().map(clean))
        .bind(clean(&entry.kind))
        .bind(entry.signed)
        .bind(tx.now)
        .fetch_one(&mut *tx.connection)
        .await?;
    Ok(times == 1)
}
