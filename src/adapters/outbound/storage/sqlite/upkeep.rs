//! What the operator asks: gauges, pruning, and whether the writer writes.

use super::archive::Archive;
use super::writer::{Tx, Work, WriteError};
use super::{SqliteStore, blob, sql, webhook_sql};
use crate::adapters::observe::storage_upkeep::{
    AuditLog, AuditQuery, AuditRecord, Connections, Retention, StorageUpkeep, TaskStat,
};
use crate::adapters::outbound::storage::rows::{AuditRow, TaskStatRow, read_all};
use crate::adapters::outbound::storage::settings::PRUNE_BATCH;
use crate::core::ports::storage_error::StorageError;

#[async_trait::async_trait]
impl StorageUpkeep for SqliteStore {
    async fn task_stats(&self) -> Result<Vec<TaskStat>, StorageError> {
        let rows = sqlx::query_scalar::<_, String>(sql::STATS).bind(self.clock.now().micros());
        let found = self.read(async |mut reader| rows.fetch_all(&mut *reader).await).await?;
        let rows: Vec<TaskStatRow> = read_all(&found)?;
        Ok(rows.into_iter().filter_map(TaskStatRow::restore).collect())
    }

    async fn prune(&self, retention: &Retention) -> Result<u64, StorageError> {
        self.write(Prune(*retention)).await
    }

    async fn ping(&self) -> Result<(), StorageError> {
        self.probe.ask(self.write(Ping), self.write(Probe)).await
    }

    /// Of the readers. The writer has one connection, and a queue before it is how it gathers its
    /// commits: no shortage.
    fn connections(&self) -> Connections {
        self.readers.connections()
    }
}

#[async_trait::async_trait]
impl AuditLog for SqliteStore {
    async fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditRecord>, StorageError> {
        let rows = sqlx::query_scalar::<_, String>(sql::READ_AUDIT)
            .bind(query.order.map(|order| blob(order.uuid())))
            .bind(query.after.map(|(at, _)| at.micros()))
            .bind(query.after.map(|(_, id)| id))
            .bind(i64::try_from(query.limit).unwrap_or(i64::MAX));
        let found = self.read(async |mut reader| rows.fetch_all(&mut *reader).await).await?;
        read_all::<AuditRow, _>(&found)?.into_iter().map(AuditRow::restore).collect()
    }
}

/// Removes what is older.
struct Prune(Retention);

#[async_trait::async_trait]
impl Work for Prune {
    type Output = u64;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, WriteError> {
        let mut gone = 0;
        let Retention { tasks, keys, callbacks, audit, buyers, orders } = self.0;
        for (sql, age) in [
            (sql::PRUNE_TASKS, tasks),
            (sql::PRUNE_KEYS, keys),
            (sql::PRUNE_CALLBACKS, callbacks),
            (sql::PRUNE_AUDIT, audit),
            (sql::ERASE_BUYERS, buyers),
            (webhook_sql::PRUNE, tasks),
        ] {
            gone += sqlx::query(sql)
                .bind((tx.now - age).micros())
                .bind(PRUNE_BATCH)
                .execute(&mut *tx.connection)
                .await?
                .rows_affected();
        }
        if let Some(age) = orders {
            gone += Archive(age).run(tx).await?;
        }
        Ok(gone)
    }
}

/// Nothing but the transaction itself.
struct Ping;

#[async_trait::async_trait]
impl Work for Ping {
    type Output = ();

    async fn run(&mut self, _: &mut Tx<'_>) -> Result<(), WriteError> {
        Ok(())
    }
}

/// A write that must last.
struct Probe;

#[async_trait::async_trait]
impl Work for Probe {
    type Output = ();

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), WriteError> {
        let proof = sqlx::query(sql::PROBE).bind(tx.now.micros());
        proof.execute(&mut *tx.connection).await?;
        Ok(())
    }
}
