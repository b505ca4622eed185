//! Where tasks wait for whoever runs them. A task is written with its order's aggregate; here it is
//! looked at, leased and handed back.

use crate::core::domain::ids::{InstanceId, LeaseToken, OrderId, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::refund::Refund;
use crate::core::payment::registration::Registration;
use crate::core::payment::task::{Task, TaskKind, TaskState};
use crate::core::ports::order_repository::Scope;
use crate::core::ports::storage_error::StorageError;
use std::fmt;
use std::time::Duration;

/// Tasks across all orders: what is due, and who takes it. How a task ends is decided with its
/// order, through [`super::order_repository::OrderRepository`].
#[async_trait::async_trait]
pub trait TaskQueue: Send + Sync + fmt::Debug {
    /// One task with what it made. `None` where there is none, or where `scope` may not see it.
    ///
    /// # Errors
    /// The storage does not answer, or holds what this version cannot read.
    async fn task(&self, id: TaskId, scope: &Scope) -> Result<Option<TaskView>, StorageError>;

    /// For the operator: newest first, by (`created_at`, `id`).
    async fn tasks(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError>;

    /// Takes leases on due tasks and on those whose lease ran out (which counts as a lost lease), the
    /// longest due first. Unknown kinds are never touched.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StorageError>;

    /// Makes due at once what only a breaker of ours holds back in a lane, at most so many, the longest waiting first; how many
    /// those were. For a lane that is open again: else a healed payment system would wait for pauses that were made while it
    /// was ill.
    async fn bring_forward(
        &self,
        lane: Option<Provider>,
        limit: usize,
    ) -> Result<u64, StorageError>;

    /// Hands back every lease of `owner`, due at once and without charge: at start, when they are
    /// those of a dead predecessor, and at the end.
    async fn release_leases(&self, owner: &InstanceId) -> Result<u64, StorageError>;

    /// Waits until the count of wake-ups of this kind is no longer `seen`, and returns it; begin with
    /// 0. One that came between two waits is not missed, several may become one. They only make things
    /// quicker: they can be lost with a connection or never come, so whoever waits polls too.
    async fn wakeup(&self, _wakeup: Wakeup, _seen: u64) -> u64 {
        std::future::pending().await
    }
}

/// What just happened in this or, as far as the database tells, another instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakeup {
    /// A worker has something to claim at once.
    TaskDue,
    /// Somebody may be waiting for its end.
    TaskFinished,
}

/// A question for one page of tasks, for operators.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskQuery {
    /// Of this order alone, if named.
    pub order: Option<OrderId>,
    /// In this state alone, if named.
    pub state: Option<TaskState>,
    /// At most so many.
    pub limit: usize,
    /// Only what comes after the task of that moment and id.
    pub after: Option<(Timestamp, TaskId)>,
}

/// A task as its client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskView {
    /// Its row.
    pub task: Task,
    /// The registration that it made.
    pub registration: Option<Registration>,
    /// What it gives back; of a cancel, what its promise gives back.
    pub refund: Option<Refund>,
}

/// Takes leases of what is due. No row is given to two: another instance's claim passes over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// Which instance asks.
    pub owner: InstanceId,
    /// Shared by the whole batch: it is unique for each task and claim all the same.
    pub token: LeaseToken,
    /// `TASK_LEASE`, counted from the claim by the database's clock. There is no heartbeat: it is
    /// longer than any step.
    pub lease: Duration,
    /// How many to take of each lane; `None` is the lane of tasks that any provider can serve.
    pub lanes: Vec<(Option<Provider>, usize)>,
}

/// A task whose lease the claiming instance now holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The order that it is about.
    pub order_id: OrderId,
    /// Which one.
    pub task_id: TaskId,
    /// What it is for.
    pub kind: TaskKind,
    /// The right to decide about it.
    pub token: LeaseToken,
    /// How often somebody began to work on it, this time included.
    pub attempts: u32,
    /// `traceparent` of the request that it came from: its run goes on with that trace.
    pub trace: Option<String>,
}
