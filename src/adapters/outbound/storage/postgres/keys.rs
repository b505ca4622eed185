//! Idempotency keys and the replies that they stand for.

use super::session::{AttemptError, Tx, Work};
use super::{PgStore, sql};
use crate::adapters::outbound::storage::invariants::READABLE;
use crate::core::ports::idempotency::{IdempotencyKey, IdempotencyStore, KeptReply};
use crate::core::ports::storage_error::StorageError;

#[async_trait::async_trait]
impl IdempotencyStore for PgStore {
    async fn find(&self, key: &IdempotencyKey) -> Result<Option<KeptReply>, StorageError> {
        self.run(key.clone()).await
    }

    async fn keep(&self, key: IdempotencyKey, reply: KeptReply) -> Result<bool, StorageError> {
        self.run((key, reply)).await
    }
}

#[async_trait::async_trait]
impl Work for IdempotencyKey {
    type Output = Option<KeptReply>;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Option<KeptReply>, AttemptError> {
        find_reply(tx, self).await
    }
}

#[async_trait::async_trait]
impl Work for (IdempotencyKey, KeptReply) {
    type Output = bool;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<bool, AttemptError> {
        keep_reply(tx, &self.0, &self.1).await
    }
}

/// `false` when the key has a reply already: the first one stays.
pub async fn keep_reply(
    tx: &mut Tx<'_>,
    key: &IdempotencyKey,
    reply: &KeptReply,
) -> Result<bool, AttemptError> {
    let kept = sqlx::query(sql::KEEP_REPLY)
        .bind(key.owner.as_str())
        .bind(key.route)
        .bind(key.key.as_str())
        .bind(reply.fingerprint.to_vec())
        .bind(i64::from(reply.status))
        .bind(reply.body.clone())
        .bind(tx.now)
        .execute(&mut *tx.connection)
        .await?;
    Ok(kept.rows_affected() > 0)
}

pub async fn find_reply(
    tx: &mut Tx<'_>,
    key: &IdempotencyKey,
) -> Result<Option<KeptReply>, AttemptError> {
    let found: Option<(Vec<u8>, i64, Vec<u8>)> = sqlx::query_as(sql::FIND_REPLY)
        .bind(key.owner.as_str())
        .bind(key.route)
        .bind(key.key.as_str())
        .fetch_optional(&mut *tx.connection)
        .await?;
    let restore = |(fingerprint, status, body): (Vec<u8>, i64, Vec<u8>)| {
        let fingerprint = fingerprint.try_into().ok()?;
        Some(KeptReply { fingerprint, status: u16::try_from(status).ok()?, body })
    };
    found.map(|row| restore(row).ok_or(StorageError::Corrupt(READABLE).into())).transpose()
}
