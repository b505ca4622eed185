//! Idempotency keys and the replies that they stand for.

use super::writer::{Tx, Work, WriteError};
use super::{SqliteStore, sql};
use crate::adapters::outbound::storage::invariants::READABLE;
use crate::core::ports::idempotency::{IdempotencyKey, IdempotencyStore, KeptReply};
use crate::core::ports::storage_error::StorageError;
use sqlx::SqliteExecutor;

#[async_trait::async_trait]
impl IdempotencyStore for SqliteStore {
    async fn find(&self, key: &IdempotencyKey) -> Result<Option<KeptReply>, StorageError> {
        self.read(async |mut reader| find(&mut *reader, key).await).await?.map(restore).transpose()
    }

    async fn keep(&self, key: IdempotencyKey, reply: KeptReply) -> Result<bool, StorageError> {
        self.write((key, reply)).await
    }
}

#[async_trait::async_trait]
impl Work for (IdempotencyKey, KeptReply) {
    type Output = bool;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<bool, WriteError> {
        keep_reply(tx, &self.0, &self.1).await
    }
}

/// `false` when the key has a reply already: the first one stays.
pub async fn keep_reply(
    tx: &mut Tx<'_>,
    key: &IdempotencyKey,
    reply: &KeptReply,
) -> Result<bool, WriteError> {
    let kept = sqlx::query(sql::KEEP_REPLY)
        .bind(key.owner.as_str())
        .bind(key.route)
        .bind(key.key.as_str())
        .bind(reply.fingerprint.to_vec())
        .bind(i64::from(reply.status))
        .bind(reply.body.clone())
        .bind(tx.now.micros())
        .execute(&mut *tx.connection)
        .await?;
    Ok(kept.rows_affected() > 0)
}

pub async fn find_reply(
    tx: &mut Tx<'_>,
    key: &IdempotencyKey,
) -> Result<Option<KeptReply>, WriteError> {
    Ok(find(&mut *tx.connection, key).await?.map(restore).transpose()?)
}

type ReplyRow = (Vec<u8>, u16, Vec<u8>);

async fn find(
    executor: impl SqliteExecutor<'_>,
    key: &IdempotencyKey,
) -> sqlx::Result<Option<ReplyRow>> {
    sqlx::query_as(sql::FIND_REPLY)
        .bind(key.owner.as_str())
        .bind(key.route)
        .bind(key.key.as_str())
        .fetch_optional(executor)
        .await
}

fn restore((fingerprint, status, body): ReplyRow) -> Result<KeptReply, StorageError> {
    let fingerprint = fingerprint.try_into().map_err(|_| StorageError::Corrupt(READABLE))?;
    Ok(KeptReply { fingerprint, status, body })
}
