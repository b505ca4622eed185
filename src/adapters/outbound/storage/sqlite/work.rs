//! What else callers ask of the writer, each for itself.

use super::sql;
use super::writer::{Fault, Tx, Work};
use crate::adapters::outbound::storage::PRUNE_BATCH;
use crate::adapters::outbound::storage::invariants::READABLE;
use crate::adapters::outbound::storage::rows::{clean, lane_word};
use crate::adapters::outbound::storage::wakeups::News;
use crate::core::domain::ids::{InstanceId, OrderId, TaskId};
use crate::core::payment::task::TaskKind;
use crate::core::ports::order_repository::{
    ClaimRequest, Claimed, IdempotencyKey, InboxEntry, KeptReply, StorageError,
};
use sqlx::{SqliteConnection, SqliteExecutor};
use std::time::Duration;

#[async_trait::async_trait]
impl Work for ClaimRequest {
    type Output = Vec<Claimed>;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Vec<Claimed>, Fault> {
        let mut claimed = Vec::new();
        for (lane, limit) in &self.lanes {
            let rows: Vec<(i64, Vec<u8>, String, u32, Option<String>, i64)> =
                sqlx::query_as(sql::CLAIM)
                    .bind(lane_word(*lane))
                    .bind(tx.now.micros())
                    .bind(i64::try_from(*limit).unwrap_or(i64::MAX))
                    .bind(self.owner.as_str())
                    .bind(self.token.uuid().as_bytes().to_vec())
                    .bind((tx.now + self.lease).micros())
                    .fetch_all(&mut *tx.connection)
                    .await?;
            claimed.extend(rows);
        }
        claimed.sort_by_key(|(id, .., run_at)| (*run_at, *id));
        let restore = |(id, order_id, kind, attempts, trace, _): (_, Vec<u8>, String, _, _, _)| {
            Some(Claimed {
                order_id: order_id_of(&order_id)?,
                task_id: TaskId::from_i64(id)?,
                kind: TaskKind::parse(&kind)?,
                token: self.token,
                attempts,
                trace,
            })
        };
        let restored: Option<Vec<_>> = claimed.into_iter().map(restore).collect();
        Ok(restored.ok_or(StorageError::Corrupt(READABLE))?)
    }
}

/// Hands back the leases of this instance.
pub struct Release(pub InstanceId);

#[async_trait::async_trait]
impl Work for Release {
    type Output = u64;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, Fault> {
        let released = sqlx::query(sql::RELEASE)
            .bind(self.0.as_str())
            .bind(tx.now.micros())
            .execute(&mut *tx.connection)
            .await?
            .rows_affected();
        tx.news.join(News { due: released > 0, finished: false });
        Ok(released)
    }
}

#[async_trait::async_trait]
impl Work for InboxEntry {
    type Output = bool;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<bool, Fault> {
        keep_callback(tx, self).await
    }
}

#[async_trait::async_trait]
impl Work for (IdempotencyKey, KeptReply) {
    type Output = bool;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<bool, Fault> {
        keep_reply(tx, &self.0, &self.1).await
    }
}

/// Removes what is older.
pub struct Prune {
    pub tasks: Duration,
    pub keys: Duration,
}

#[async_trait::async_trait]
impl Work for Prune {
    type Output = u64;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, Fault> {
        let mut gone = 0;
        for (sql, age) in [(sql::PRUNE_TASKS, self.tasks), (sql::PRUNE_KEYS, self.keys)] {
            gone += sqlx::query(sql)
                .bind((tx.now - age).micros())
                .bind(i64::try_from(PRUNE_BATCH).unwrap_or(i64::MAX))
                .execute(&mut *tx.connection)
                .await?
                .rows_affected();
        }
        Ok(gone)
    }
}

/// Nothing but the transaction itself.
pub struct Ping;

#[async_trait::async_trait]
impl Work for Ping {
    type Output = ();

    async fn run(&mut self, _: &mut Tx<'_>) -> Result<(), Fault> {
        Ok(())
    }
}

pub async fn keep_callback(tx: &mut Tx<'_>, entry: &InboxEntry) -> Result<bool, Fault> {
    let kept = sqlx::query(sql::KEEP_CALLBACK)
        .bind(entry.provider.as_str())
        .bind(clean(entry.number.as_str()))
        .bind(entry.event_id.as_deref().map(clean))
        .bind(clean(&entry.kind))
        .bind(entry.signed)
        .bind(tx.now.micros())
        .execute(&mut *tx.connection)
        .await?;
    Ok(kept.rows_affected() > 0)
}

/// `false` when the key has a reply already: the first one stays.
pub async fn keep_reply(
    tx: &mut Tx<'_>,
    key: &IdempotencyKey,
    reply: &KeptReply,
) -> Result<bool, Fault> {
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
    connection: &mut SqliteConnection,
    key: &IdempotencyKey,
) -> Result<Option<KeptReply>, Fault> {
    Ok(reply_of(connection, key).await?.map(restore_reply).transpose()?)
}

type ReplyRow = (Vec<u8>, u16, Vec<u8>);

pub async fn reply_of(
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

pub fn restore_reply((fingerprint, status, body): ReplyRow) -> Result<KeptReply, StorageError> {
    let fingerprint = fingerprint.try_into().map_err(|_| StorageError::Corrupt(READABLE))?;
    Ok(KeptReply { fingerprint, status, body })
}

pub fn bytes(id: OrderId) -> Vec<u8> {
    id.uuid().as_bytes().to_vec()
}

pub fn order_id_of(bytes: &[u8]) -> Option<OrderId> {
    uuid::Uuid::from_slice(bytes).ok().map(OrderId::from_uuid)
}
