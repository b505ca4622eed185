//! What is told of many tasks at once: those that a claim took, and how many there are.

use super::cells::known;
use crate::adapters::observe::storage_upkeep::TaskStat;
use crate::core::domain::ids::{LeaseToken, OrderId, TaskId};
use crate::core::payment::task::{TaskKind, TaskState};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::Claimed;
use serde::Deserialize;
use std::time::Duration;
use uuid::Uuid;

#[derive(Debug, Deserialize)]
pub struct ClaimedRow {
    id: i64,
    order_id: Uuid,
    kind: String,
    attempts: u32,
    trace: Option<String>,
    run_at: i64,
}

impl ClaimedRow {
    /// The longest due first.
    pub fn restore_all(
        mut rows: Vec<Self>,
        token: LeaseToken,
    ) -> Result<Vec<Claimed>, StorageError> {
        rows.sort_by_key(|row| (row.run_at, row.id));
        rows.into_iter().map(|row| row.restore(token)).collect()
    }

    fn restore(self, token: LeaseToken) -> Result<Claimed, StorageError> {
        Ok(Claimed {
            order_id: OrderId::from_uuid(self.order_id),
            task_id: known(TaskId::from_i64(self.id))?,
            kind: known(TaskKind::parse(&self.kind))?,
            token,
            attempts: self.attempts,
            trace: self.trace,
        })
    }
}

#[derive(Debug, Deserialize)]
pub struct TaskStatRow {
    kind: String,
    state: String,
    count: u64,
    /// In microseconds.
    oldest_due: Option<i64>,
    for_operator: u64,
    /// In microseconds.
    oldest_for_operator: Option<i64>,
}

impl TaskStatRow {
    /// `None` for a kind of a newer version.
    pub fn restore(self) -> Option<TaskStat> {
        let age = |micros| Duration::from_micros(u64::try_from(micros).unwrap_or(0));
        Some(TaskStat {
            kind: TaskKind::parse(&self.kind)?,
            state: TaskState::parse(&self.state)?,
            count: self.count,
            oldest_due: self.oldest_due.map(age),
            for_operator: self.for_operator,
            oldest_for_operator: self.oldest_for_operator.map(age),
        })
    }
}
