//! What the operator asks of a database and the core never does: how it stands, and that it forgets what
//! nobody needs any more.

use crate::core::payment::task::{TaskKind, TaskState};
use crate::core::ports::storage_error::StorageError;
use std::fmt;
use std::time::Duration;

#[async_trait::async_trait]
pub trait StorageUpkeep: Send + Sync + fmt::Debug {
    /// For the gauges.
    async fn task_stats(&self) -> Result<Vec<TaskStat>, StorageError>;

    /// Removes finished tasks older than `tasks` and idempotency keys older than `keys`, a small
    /// batch at a time. Returns how many rows went.
    async fn prune(&self, tasks: Duration, keys: Duration) -> Result<u64, StorageError>;

    /// Whether a transaction could begin now.
    async fn ping(&self) -> Result<(), StorageError>;

    /// For the gauges: how its connections are used at this moment.
    fn connections(&self) -> Connections {
        Connections::default()
    }
}

/// Of a pool: all zero where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connections {
    pub idle: usize,
    pub used: usize,
    /// Callers that wait for a connection, or for one to be opened.
    pub waiting: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskStat {
    pub kind: TaskKind,
    pub state: TaskState,
    pub count: u64,
    /// How long the longest due one has been due.
    pub oldest_due: Option<Duration>,
}
