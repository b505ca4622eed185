//! The service's mode, by operators' word.

use super::session::{AttemptError, Tx, Work};
use super::{PgStore, bind, micros};
use crate::adapters::observe::service_mode::{ModeChange, ServiceMode, ServiceModes};
use crate::adapters::outbound::storage::rows::{ServiceModeRow, clean, read_all};
use crate::core::ports::storage_error::StorageError;
use sqlx::SqlSafeStr;
use sqlx::postgres::PgArguments;

/// `$1` a test's now. The newest word, if its time is not over.
const SERVICE_MODE: &str = "SELECT json_build_object('mode', mode, 'at', at, 'until', until, \
    'reason', reason, 'by', by_name)::text FROM (SELECT * FROM service_modes ORDER BY id DESC LIMIT 1) \
    AS newest WHERE until IS NULL OR until > \
    coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)";

/// `$1` mode, `$2` a test's now, `$3` for how long, `$4` reason, `$5` by whom.
const SAY_SERVICE_MODE: &str = "INSERT INTO service_modes (mode, at, until, reason, by_name) \
    SELECT $1, now, now + $3, $4, $5 FROM (SELECT \
    coalesce($2::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now OFFSET 0) AS clock";

#[async_trait::async_trait]
impl ServiceModes for PgStore {
    async fn service_mode(&self) -> Result<ServiceMode, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, self.now());
        let rows = self.rows(SERVICE_MODE.into_sql_str(), arguments).await?;
        let row = read_all::<ServiceModeRow, _>(&rows)?.pop();
        row.map_or_else(|| Ok(ServiceMode::default()), ServiceModeRow::restore)
    }

    async fn change_service_mode(&self, change: &ModeChange) -> Result<ServiceMode, StorageError> {
        self.run(Say(change.clone())).await?;
        self.service_mode().await
    }
}

/// Keeps an operator's word.
struct Say(ModeChange);

#[async_trait::async_trait]
impl Work for Say {
    type Output = ();
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), AttemptError> {
        let ModeChange { mode, ttl, reason, by } = &self.0;
        sqlx::query(SAY_SERVICE_MODE)
            .bind(mode.as_str())
            .bind(tx.now)
            .bind(ttl.map(micros))
            .bind(clean(reason))
            .bind(clean(by))
            .execute(&mut *tx.connection)
            .await?;
        Ok(())
    }
}
