//! Idempotency keys and the outcomes that they stand for.

use super::writer::{Tx, Work, WriteError};
use super::{SqliteStore, sql};
use crate::adapters::outbound::storage::rows::{KeyRow, RecordRow, read, write};
use crate::core::ports::idempotency::{
    IdempotencyKey, IdempotencyRecord, IdempotencyStore, IdempotentRequest, KeptOutcome,
};
use crate::core::ports::storage_error::StorageError;
use sqlx::SqliteExecutor;

#[async_trait::async_trait]
impl IdempotencyStore for SqliteStore {
    async fn find(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StorageError> {
        let found = self.read(async |mut reader| row_of(&mut *reader, key).await).await?;
        found.map(|json| read::<RecordRow>(&json)?.restore()).transpose()
    }

    async fn keep(
        &self,
        request: IdempotentRequest,
        outcome: KeptOutcome,
    ) -> Result<bool, StorageError> {
        self.write((request, outcome)).await
    }
}

#[async_trait::async_trait]
impl Work for (IdempotentRequest, KeptOutcome) {
    type Output = bool;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<bool, WriteError> {
        keep_outcome(tx, &self.0, &self.1).await
    }
}

/// `false` when the key stands for an outcome already: the first one stays.
pub async fn keep_outcome(
    tx: &mut Tx<'_>,
    request: &IdempotentRequest,
    outcome: &KeptOutcome,
) -> Result<bool, WriteError> {
    let kept = sqlx::query(sql::KEEP_OUTCOME)
        .bind(write(&KeyRow::of(request, outcome)))
        .bind(tx.now.micros())
        .execute(&mut *tx.connection)
        .await?;
    Ok(kept.rows_affected() > 0)
}

pub async fn find_record(
    tx: &mut Tx<'_>,
    key: &IdempotencyKey,
) -> Result<Option<IdempotencyRecord>, WriteError> {
    let found = row_of(&mut *tx.connection, key).await?;
    Ok(found.map(|json| read::<RecordRow>(&json)?.restore()).transpose()?)
}

async fn row_of(
    executor: impl SqliteExecutor<'_>,
    key: &IdempotencyKey,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(sql::FIND_RECORD)
        .bind(key.owner.as_str())
        .bind(key.route)
        .bind(key.key.as_str())
        .fetch_optional(executor)
        .await
}
