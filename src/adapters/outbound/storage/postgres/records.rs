//! What operators look up: an order by whatever it is called, and what was told of it.

use super::{PgStore, bind, sql};
use crate::adapters::observe::storage_upkeep::{CallbackRecord, OrderRecords};
use crate::adapters::outbound::storage::rows::{CallbackRow, clean, read_all};
use crate::core::domain::ids::OrderId;
use crate::core::domain::provider::Provider;
use crate::core::ports::storage_error::StorageError;
use sqlx::SqlSafeStr;
use sqlx::postgres::PgArguments;

#[async_trait::async_trait]
impl OrderRecords for PgStore {
    async fn order_named(&self, name: &str) -> Result<Option<OrderId>, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, clean(name));
        bind(&mut arguments, Provider::ALL.map(Provider::as_str).join(","));
        bind(&mut arguments, name.parse::<i64>().ok());
        let rows = self.rows(sql::ORDER_NAMED.into_sql_str(), arguments).await?;
        Ok(rows.first().and_then(|id| OrderId::parse(id)))
    }

    async fn callbacks(
        &self,
        order: OrderId,
        limit: usize,
    ) -> Result<Vec<CallbackRecord>, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, order.to_string());
        bind(&mut arguments, i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = self.rows(sql::CALLBACKS.into_sql_str(), arguments).await?;
        read_all::<CallbackRow, _>(&rows)?.into_iter().map(CallbackRow::restore).collect()
    }
}
