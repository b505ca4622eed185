//! What else the store asks: claims, leases, callbacks, replies, pruning, and plain reads.

use super::place::{find_reply, keep_reply};
use super::session::{Fault, Tx, Work};
use super::sql;
use crate::adapters::outbound::storage::PRUNE_BATCH;
use crate::adapters::outbound::storage::invariants::READABLE;
use crate::adapters::outbound::storage::rows::{clean, lane_word};
use crate::core::domain::ids::{InstanceId, OrderId, TaskId};
use crate::core::payment::task::TaskKind;
use crate::core::ports::order_repository::{
    ClaimRequest, Claimed, IdempotencyKey, InboxEntry, KeptReply, StorageError,
};
use sqlx::SqlStr;
use sqlx::postgres::{PgArguments, PgRow};
use std::time::Duration;

/// Rows of one statement that changes nothing.
pub struct Read {
    pub sql: SqlStr,
    pub arguments: PgArguments,
}

#[async_trait::async_trait]
impl Work for Read {
    type Output = Vec<PgRow>;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Vec<PgRow>, Fault> {
        let query = sqlx::query_with(self.sql.clone(), self.arguments.clone());
        Ok(query.fetch_all(&mut *tx.connection).await?)
    }
}

type ClaimedRow = (i64, String, String, i64, Option<String>, i64);

#[async_trait::async_trait]
impl Work for ClaimRequest {
    type Output = Vec<Claimed>;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Vec<Claimed>, Fault> {
        let mut rows: Vec<ClaimedRow> = Vec::new();
        if tx.attempt > 0 {
            rows = sqlx::query_as(sql::CLAIMED)
                .bind(self.token.uuid().to_string())
                .fetch_all(&mut *tx.connection)
                .await?;
        }
        if rows.is_empty() {
            let (lanes, sizes): (Vec<&str>, Vec<i64>) = self
                .lanes
                .iter()
                .map(|(lane, size)| (lane_word(*lane), i64::try_from(*size).unwrap_or(i64::MAX)))
                .unzip();
            rows = sqlx::query_as(sql::CLAIM)
                .bind(tx.now)
                .bind(lanes)
                .bind(sizes)
                .bind(self.owner.as_str())
                .bind(self.token.uuid().to_string())
                .bind(micros(self.lease))
                .fetch_all(&mut *tx.connection)
                .await?;
        }
        rows.sort_by_key(|(id, .., run_at)| (*run_at, *id));
        let restored: Option<Vec<_>> = rows.into_iter().map(|row| self.restore(row)).collect();
        Ok(restored.ok_or(StorageError::Corrupt(READABLE))?)
    }
}

impl ClaimRequest {
    fn restore(&self, (id, order_id, kind, attempts, trace, _): ClaimedRow) -> Option<Claimed> {
        Some(Claimed {
            order_id: OrderId::parse(&order_id)?,
            task_id: TaskId::from_i64(id)?,
            kind: TaskKind::parse(&kind)?,
            token: self.token,
            attempts: u32::try_from(attempts).ok()?,
            trace,
        })
    }
}

/// Hands back the leases of this instance and tells the others.
pub struct Release {
    pub owner: InstanceId,
    pub notice: String,
}

#[async_trait::async_trait]
impl Work for Release {
    type Output = u64;
    const TRANSACTION: bool = true;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, Fault> {
        let released = sqlx::query(sql::RELEASE)
            .bind(self.owner.as_str())
            .bind(tx.now)
            .execute(&mut *tx.connection)
            .await?
            .rows_affected();
        if released > 0 {
            sqlx::query(sql::NOTIFY).bind(&self.notice).execute(&mut *tx.connection).await?;
        }
        Ok(released)
    }
}

#[async_trait::async_trait]
impl Work for InboxEntry {
    type Output = bool;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<bool, Fault> {
        keep_callback(tx, self).await
    }
}

pub async fn keep_callback(tx: &mut Tx<'_>, entry: &InboxEntry) -> Result<bool, Fault> {
    let kept = sqlx::query(sql::KEEP_CALLBACK)
        .bind(entry.provider.as_str())
        .bind(clean(entry.number.as_str()))
        .bind(entry.event_id.as_deref().map(clean))
        .bind(clean(&entry.kind))
        .bind(entry.signed)
        .bind(tx.now)
        .execute(&mut *tx.connection)
        .await?;
    Ok(kept.rows_affected() > 0)
}

#[async_trait::async_trait]
impl Work for IdempotencyKey {
    type Output = Option<KeptReply>;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Option<KeptReply>, Fault> {
        find_reply(tx, self).await
    }
}

#[async_trait::async_trait]
impl Work for (IdempotencyKey, KeptReply) {
    type Output = bool;
    const TRANSACTION: bool = false;

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
    const TRANSACTION: bool = true;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, Fault> {
        let mut gone = 0;
        for (sql, age) in [(sql::PRUNE_TASKS, self.tasks), (sql::PRUNE_KEYS, self.keys)] {
            gone += sqlx::query(sql)
                .bind(tx.now)
                .bind(micros(age))
                .bind(i64::try_from(PRUNE_BATCH).unwrap_or(i64::MAX))
                .execute(&mut *tx.connection)
                .await?
                .rows_affected();
        }
        Ok(gone)
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
