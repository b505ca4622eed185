//! Idempotency keys and the outcomes that they stand for.

use super::session::{AttemptError, Tx, Work};
use super::{PgStore, bound, sql};
use crate::adapters::outbound::storage::rows::{KeyRow, RecordRow, read, write};
use crate::core::ports::idempotency::{
    IdempotencyKey, IdempotencyRecord, IdempotencyStore, IdempotentRequest, KeptOutcome,
};
use crate::core::ports::storage_error::StorageError;
use sqlx::SqlSafeStr;

#[async_trait::async_trait]
impl IdempotencyStore for PgStore {
    async fn find(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StorageError> {
        let key = [&key.owner, key.route, &key.key];
        let arguments = bound(key.map(|part| Some(part.to_owned())));
        let rows = self.rows(sql::FIND_RECORD.into_sql_str(), arguments).await?;
        rows.first().map(|json| read::<RecordRow>(json)?.restore()).transpose()
    }

    async fn keep(
        &self,
        request: IdempotentRequest,
        outcome: KeptOutcome,
    ) -> Result<bool, StorageError> {
        self.run((request, outcome)).await
    }
}

#[async_trait::async_trait]
impl Work for (IdempotentRequest, KeptOutcome) {
    type Output = bool;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<bool, AttemptError> {
        keep_outcome(tx, &self.0, &self.1).await
    }
}

/// `false` when the key stands for an outcome already: the first one stays.
pub async fn keep_outcome(
    tx: &mut Tx<'_>,
    request: &IdempotentRequest,
    outcome: &KeptOutcome,
) -> Result<bool, AttemptError> {
    let kept = sqlx::query(sql::KEEP_OUTCOME)
        .bind(write(&KeyRow::of(request, outcome)))
        .bind(tx.now)
        .execute(&mut *tx.connection)
        .await?;
    Ok(kept.rows_affected() > 0)
}

pub async fn find_record(
    tx: &mut Tx<'_>,
    key: &IdempotencyKey,
) -> Result<Option<IdempotencyRecord>, AttemptError> {
    let found: Option<String> = sqlx::query_scalar(sql::FIND_RECORD)
        .bind(key.owner.as_str())
        .bind(key.route)
        .bind(key.key.as_str())
        .fetch_optional(&mut *tx.connection)
        .await?;
    Ok(found.map(|json| read::<RecordRow>(&json)?.restore()).transpose()?)
}
