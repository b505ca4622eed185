//! What the operator asks: gauges, pruning, and whether the server takes writes.

use super::archive::Archive;
use super::server::{SERVER, ServerState};
use super::session::{AttemptError, Tx, Work};
use super::{PgStore, bind, micros, sql, webhook_sql};
use crate::adapters::observe::storage_upkeep::{
    AuditLog, AuditQuery, AuditRecord, Connections, Durability, Retention, StorageUpkeep, TaskStat,
};
use crate::adapters::outbound::storage::rows::{AuditRow, TaskStatRow, read_all};
use crate::adapters::outbound::storage::settings::PRUNE_BATCH;
use crate::core::ports::storage_error::StorageError;
use sqlx::SqlSafeStr;
use sqlx::postgres::PgArguments;

#[async_trait::async_trait]
impl StorageUpkeep for PgStore {
    async fn task_stats(&self) -> Result<Vec<TaskStat>, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, self.now());
        let rows = self.rows(sql::STATS.into_sql_str(), arguments).await?;
        let rows: Vec<TaskStatRow> = read_all(&rows)?;
        Ok(rows.into_iter().filter_map(TaskStatRow::restore).collect())
    }

    async fn prune(&self, retention: &Retention) -> Result<u64, StorageError> {
        self.run(Prune(*retention)).await
    }

    async fn ping(&self) -> Result<(), StorageError> {
        self.look().await?;
        // Looking twice costs less than a write.
        self.probe.ask(async { Ok(()) }, self.run(Probe)).await
    }

    fn connections(&self) -> Connections {
        let abandoned = self.sessions.abandoned.count();
        Connections { abandoned, ..self.sessions.pool.connections() }
    }

    fn durability(&self) -> Durability {
        self.sessions.witness.durability(self.accept_async)
    }
}

/// `$1` the only order, `$2` and `$3` the entry before, `$4` how many; newest first.
const READ_AUDIT: &str = "SELECT json_build_object('id', d.id, 'at', d.at, 'action', d.action, \
    'order_id', d.order_id, 'task_id', d.task_id, 'reason', d.reason, 'by', d.by_name)::text FROM (\
    (SELECT a.id, a.at, a.action, a.order_id, a.task_id, a.reason, a.by_name FROM audit a \
    WHERE ($1::uuid IS NULL OR a.order_id = $1::uuid) \
    AND ($2::bigint IS NULL OR (a.at, a.id) < ($2, $3)) ORDER BY a.at DESC, a.id DESC LIMIT $4) UNION ALL \
    SELECT m.id, m.at, m.action, NULL, NULL, m.reason, m.by_name FROM (\
    SELECT id + 4611686018427387904 AS id, at, 'service_mode:' || mode AS action, reason, by_name \
    FROM service_modes) AS m WHERE $1::uuid IS NULL AND ($2::bigint IS NULL OR (m.at, m.id) < ($2, $3))\
    ) AS d ORDER BY d.at DESC, d.id DESC LIMIT $4";

#[async_trait::async_trait]
impl AuditLog for PgStore {
    async fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditRecord>, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, query.order.map(|order| order.to_string()));
        bind(&mut arguments, query.after.map(|(at, _)| at.micros()));
        bind(&mut arguments, query.after.map(|(_, id)| id));
        bind(&mut arguments, i64::try_from(query.limit).unwrap_or(i64::MAX));
        let rows = self.rows(READ_AUDIT.into_sql_str(), arguments).await?;
        read_all::<AuditRow, _>(&rows)?.into_iter().map(AuditRow::restore).collect()
    }
}

impl PgStore {
    /// Whether the right server answers, and takes writes.
    async fn look(&self) -> Result<(), StorageError> {
        let rows = self.rows(SERVER.into_sql_str(), PgArguments::default()).await?;
        let states: Vec<ServerState> = read_all(&rows)?;
        let ours = |state: &ServerState| self.sessions.witness.look(state).is_ours();
        let sound = states.iter().all(|state| ours(state) && state.writable);
        if sound { Ok(()) } else { Err(StorageError::Unavailable) }
    }
}

/// Removes what is older.
struct Prune(Retention);

#[async_trait::async_trait]
impl Work for Prune {
    type Output = u64;
    const TRANSACTION: bool = true;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, AttemptError> {
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
                .bind(tx.now)
                .bind(micros(age))
                .bind(i64::from(PRUNE_BATCH))
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

const PROBE: &str = "UPDATE write_probe SET at = \
    coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)";

/// A write that must last; where replication is synchronous, on the standby too.
struct Probe;

#[async_trait::async_trait]
impl Work for Probe {
    type Output = ();
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), AttemptError> {
        sqlx::query(PROBE).bind(tx.now).execute(&mut *tx.connection).await?;
        Ok(())
    }
}
