//! The service's mode, by operators' word.

use super::writer::{Tx, Work, WriteError};
use super::{SqliteStore, sql};
use crate::adapters::observe::service_mode::{ModeChange, ServiceMode, ServiceModes};
use crate::adapters::outbound::storage::rows::{ServiceModeRow, clean, read};
use crate::core::ports::storage_error::StorageError;

#[async_trait::async_trait]
impl ServiceModes for SqliteStore {
    async fn service_mode(&self) -> Result<ServiceMode, StorageError> {
        let row =
            sqlx::query_scalar::<_, String>(sql::SERVICE_MODE).bind(self.clock.now().micros());
        let found = self.read(async |mut reader| row.fetch_optional(&mut *reader).await).await?;
        let row = found.map(|json| read::<ServiceModeRow>(&json)).transpose()?;
        row.map_or_else(|| Ok(ServiceMode::default()), ServiceModeRow::restore)
    }

    async fn change_service_mode(&self, change: &ModeChange) -> Result<ServiceMode, StorageError> {
        self.write(Say(change.clone())).await?;
        self.service_mode().await
    }
}

/// Keeps an operator's word.
struct Say(ModeChange);

#[async_trait::async_trait]
impl Work for Say {
    type Output = ();

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), WriteError> {
        let ModeChange { mode, ttl, reason, by } = &self.0;
        sqlx::query(sql::SAY_SERVICE_MODE)
            .bind(mode.as_str())
            .bind(tx.now.micros())
            .bind(ttl.map(|ttl| (tx.now + ttl).micros()))
            .bind(clean(reason))
            .bind(clean(by))
            .execute(&mut *tx.connection)
            .await?;
        Ok(())
    }
}
