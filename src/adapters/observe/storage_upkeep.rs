//! What the operator asks of a database and the core never does: how it stands, and that it forgets what
//! nobody needs any more.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::task::{TaskKind, TaskState};
use crate::core::ports::order_repository::InboxEntry;
use crate::core::ports::storage_error::StorageError;
use std::fmt;
use std::time::Duration;

#[async_trait::async_trait]
pub trait StorageUpkeep: Send + Sync + fmt::Debug {
    /// For the gauges.
    async fn task_stats(&self) -> Result<Vec<TaskStat>, StorageError>;

    /// Removes what is older than it is kept, a small batch of each at a time. What waits for a person
    /// stays. Returns how many rows went, or were emptied.
    async fn prune(&self, retention: &Retention) -> Result<u64, StorageError>;

    /// Whether a transaction could begin now.
    async fn ping(&self) -> Result<(), StorageError>;

    /// For the gauges: how its connections are used at this moment.
    fn connections(&self) -> Connections {
        Connections::default()
    }

    /// For the gauges: whether what was committed can be lost, as far as is known.
    fn durability(&self) -> Durability {
        Durability::default()
    }
}

/// How long what grows is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// From the end of a task.
    pub tasks: Duration,
    /// Of idempotency keys, since their request.
    pub keys: Duration,
    /// Since they first came.
    pub callbacks: Duration,
    /// Of what operators did.
    pub audit: Duration,
    /// Of whom an order was for, since the order changed last.
    pub buyers: Duration,
    /// Of an order of which nothing is open, since it changed last; then its money is archived and the rest
    /// goes. `None`: for ever.
    pub orders: Option<Duration>,
}

/// What operators did by hand, for those who ask who did what, when and why.
#[async_trait::async_trait]
pub trait AuditLog: Send + Sync + fmt::Debug {
    /// Newest first.
    async fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditRecord>, StorageError>;
}

/// What an operator knows an order by, and what is kept about it that no decision needs.
#[async_trait::async_trait]
pub trait OrderRecords: Send + Sync + fmt::Debug {
    /// The order behind a number at a payment system, else behind a payment system's own id, else behind
    /// a shop's number (of several shops, the newest), else behind a task's id.
    async fn order_named(&self, name: &str) -> Result<Option<OrderId>, StorageError>;

    /// What payment systems told of the order's registrations: newest first, at most `limit`.
    async fn callbacks(
        &self,
        order: OrderId,
        limit: usize,
    ) -> Result<Vec<CallbackRecord>, StorageError>;
}

/// A callback that was kept; unsigned ones are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackRecord {
    pub received_at: Timestamp,
    pub entry: InboxEntry,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditQuery {
    pub order: Option<OrderId>,
    pub limit: usize,
    /// Only what is older than this record.
    pub after: Option<(Timestamp, i64)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    pub id: i64,
    pub at: Timestamp,
    pub action: String,
    /// None where it was about the whole service.
    pub order: Option<OrderId>,
    pub task: Option<TaskId>,
    pub reason: String,
    /// The name of the operator's token.
    pub by: String,
}

/// Of a pool: all zero where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connections {
    pub idle: usize,
    pub used: usize,
    /// Callers that wait for a connection, or for one to be opened.
    pub waiting: usize,
    /// Given up while the server still works on what they asked.
    pub abandoned: usize,
}

/// What a database says about its memory; all zero where it cannot be moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Durability {
    /// Raised by every promotion and every restore to a point in time.
    pub timeline: u32,
    /// A failover may lose commits that were answered, and nobody has said that this is accepted.
    pub can_forget: bool,
    /// Promotions that this process saw and that may have lost commits.
    pub suspicions: u64,
}

/// Of tasks that are unfinished, or in a review that no person has closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskStat {
    pub kind: TaskKind,
    pub state: TaskState,
    pub count: u64,
    /// How long the longest due one has been due.
    pub oldest_due: Option<Duration>,
    /// Those of `count` that nothing but a person moves on.
    pub for_operator: u64,
    /// How long the longest of them has waited for that person.
    pub oldest_for_operator: Option<Duration>,
}
