//! What operators look up: an order by whatever it is called, and what was told of it.

use super::{PgStore, bind};
use crate::adapters::observe::storage_upkeep::{CallbackRecord, OrderRecords};
use crate::adapters::outbound::storage::rows::{CallbackRow, clean, read_all};
use crate::core::domain::ids::OrderId;
use crate::core::domain::provider::Provider;
use crate::core::ports::storage_error::StorageError;
use sqlx::SqlSafeStr;
use sqlx::postgres::PgArguments;

/// `$1` what an operator calls an order by, `$2` the payment systems that are known here, joined by commas,
/// `$3` the same as a task's id.
const ORDER_NAMED: &str = "SELECT order_id::text FROM (\
    SELECT 1 AS rank, order_id FROM registrations \
    WHERE provider = ANY(string_to_array($2, ',')) AND number = $1 \
    UNION ALL SELECT 2, order_id FROM registrations \
    WHERE provider = ANY(string_to_array($2, ',')) AND external_id = $1 \
    UNION ALL SELECT 3, id FROM orders WHERE external_id = $1 \
    UNION ALL SELECT 4, order_id FROM tasks WHERE id = $3) AS named \
    ORDER BY rank, order_id DESC LIMIT 1";

/// `$1` order, `$2` how many.
const CALLBACKS: &str = "SELECT json_build_object('provider', c.provider, 'number', c.number, \
    'event_id', c.event_id, 'kind', c.kind, 'signed', c.signed, \
    'received_at', c.received_at)::text FROM registrations r \
    JOIN callbacks c ON c.provider = r.provider AND c.number = r.number \
    WHERE r.order_id = $1::uuid ORDER BY c.received_at DESC, c.id DESC LIMIT $2";

#[async_trait::async_trait]
impl OrderRecords for PgStore {
    async fn order_named(&self, name: &str) -> Result<Option<OrderId>, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, clean(name));
        bind(&mut arguments, Provider::ALL.map(Provider::as_str).join(","));
        bind(&mut arguments, name.parse::<i64>().ok());
        let rows = self.rows(ORDER_NAMED.into_sql_str(), arguments).await?;
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
        let rows = self.rows(CALLBACKS.into_sql_str(), arguments).await?;
        read_all::<CallbackRow, _>(&rows)?.into_iter().map(CallbackRow::restore).collect()
    }
}
