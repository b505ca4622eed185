//! Where orders live. Storage loads a aggregate, runs a pure decision on it inside one transaction,
//! and saves what changed, as a whole or not at all; it decides nothing itself.

use crate::core::domain::ids::{CustomerId, InstanceId, LeaseToken, OrderId, TaskId};
use crate::core::domain::order::{Order, OrderStatus};
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::registration::Registration;
use crate::core::payment::task::{Task, TaskKind, TaskState};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[async_trait::async_trait]
pub trait OrderStore: Send + Sync + fmt::Debug {
    /// Commits a new order and, with it, the reply that its idempotency key stands for. The stored
    /// order carries the database's time.
    async fn place(&self, order: Order, key: Option<KeyedOrder>) -> Result<Placed, StorageError>;

    /// Runs `decide` on the order's aggregate under its lock and commits what it changed; storage
    /// raises the versions and `updated_at` of what differs, and writes nothing when nothing does.
    /// `decide` may run again on a newer aggregate, when a commit was refused or its fate is unknown.
    /// `false` when there is no such order. Prefer [`decide`].
    async fn change(
        &self,
        id: OrderId,
        reads: LoadOptions,
        decide: Decide,
    ) -> Result<bool, StorageError>;

    async fn aggregate(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError>;

    /// Newest first, by (`created_at`, `id`).
    async fn list(
        &self,
        query: &OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<OrderAggregate>, StorageError>;

    async fn task(&self, id: TaskId, scope: &Scope) -> Result<Option<TaskView>, StorageError>;

    /// For the operator: newest first, by (`created_at`, `id`).
    async fn tasks(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError>;

    /// The order behind a provider's number.
    async fn find_order(
        &self,
        provider: Provider,
        number: &ProviderNumber,
    ) -> Result<Option<OrderId>, StorageError>;

    /// Takes leases on due tasks and on those whose lease ran out (which counts as a lost lease), the
    /// longest due first. Unknown kinds are never touched.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StorageError>;

    /// Hands back every lease of `owner`, due at once and without charge: at start, when they are
    /// those of a dead predecessor, and at the end.
    async fn release_leases(&self, owner: &InstanceId) -> Result<u64, StorageError>;

    /// Keeps a callback about a number that nobody knows. `false` when its event is already there.
    async fn keep_orphan(&self, entry: InboxEntry) -> Result<bool, StorageError>;

    async fn find_reply(&self, key: &IdempotencyKey) -> Result<Option<KeptReply>, StorageError>;

    /// Keeps a final reply that changed nothing (a 4xx). `false` when the key stands for a reply
    /// already: the first one stays, and is the answer.
    async fn keep_reply(&self, key: IdempotencyKey, reply: KeptReply)
    -> Result<bool, StorageError>;

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

    /// Waits until the count of hints of this kind is no longer `seen`, and returns it; begin with 0.
    /// One that came between two waits is not missed, several may become one. Hints only make
    /// things quicker: they can be lost with a connection or never come, so whoever waits polls too.
    async fn sync_requested(&self, _hint: Hint, _seen: u64) -> u64 {
        std::future::pending().await
    }
}

/// What just happened in this or, as far as the database tells, another instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// A worker has something to claim at once.
    TaskDue,
    /// Somebody may be waiting for its end.
    TaskFinished,
}

/// What storage needs to know before it runs a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadOptions {
    Aggregate,
    /// Also how many `register_payment` tasks wait for a provider: counted exactly, under a lock
    /// that other queueing decisions respect, up to this limit.
    QueueLength {
        up_to: u64,
    },
}

/// What a decision may look at beside the aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TxContext {
    /// The database's clock.
    pub now: Timestamp,
    /// Queued `register_payment` tasks that are not waiting for an unknown outcome, also while one is
    /// being tried again, without those of this order; only with [`LoadOptions::QueueLength`].
    pub waiting: Option<u64>,
}

/// What is committed along with the aggregate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideWrites {
    /// A second entry with the same event id is dropped silently.
    pub inbox: Option<InboxEntry>,
    pub reply: Option<(IdempotencyKey, KeptReply)>,
    pub audit: Option<AuditEntry>,
}

pub type Decide = Box<dyn FnMut(&mut OrderAggregate, &TxContext) -> SideWrites + Send>;

/// Runs a pure decision on an order and returns what it answered, once that is committed. `None`
/// when there is no such order.
///
/// # Errors
/// The storage did not commit; nothing of the decision holds (but see [`StorageError::Unavailable`]).
pub async fn decide<T: Send + 'static>(
    store: &dyn OrderStore,
    id: OrderId,
    reads: LoadOptions,
    mut decision: impl FnMut(&mut OrderAggregate, &TxContext) -> (T, SideWrites) + Send + 'static,
) -> Result<Option<T>, StorageError> {
    let answer = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&answer);
    let boxed: Decide = Box::new(move |aggregate, scene| {
        let (value, also) = decision(aggregate, scene);
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        also
    });
    let found = store.change(id, reads, boxed).await?;
    let value = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(if found { value } else { None })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// The database cannot be reached or does not answer in time; it may recover by itself. Nothing
    /// was committed, or, rarely, its commit was under way and nobody heard how it ended.
    #[error("storage unavailable")]
    Unavailable,
    /// What is stored breaks its own rules.
    #[error("storage holds what it cannot hold: {0}")]
    Corrupt(&'static str),
}

/// Whose orders a reader may see. Every read carries it, so that no query can forget it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    Anyone,
    Only(CustomerId),
}

impl Scope {
    #[must_use]
    pub fn allows(&self, customer: &CustomerId) -> bool {
        match self {
            Self::Anyone => true,
            Self::Only(own) => own == customer,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderQuery {
    pub customer_id: Option<CustomerId>,
    pub status: Option<OrderStatus>,
    pub limit: usize,
    /// Only what is older than this order.
    pub after: Option<(Timestamp, OrderId)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskQuery {
    pub order: Option<OrderId>,
    pub state: Option<TaskState>,
    pub limit: usize,
    pub after: Option<(Timestamp, TaskId)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskView {
    pub task: Task,
    /// The registration that it made.
    pub registration: Option<Registration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    pub owner: InstanceId,
    /// Shared by the whole batch: it is unique for each task and claim all the same.
    pub token: LeaseToken,
    pub lease: Duration,
    /// How many to take of each lane; `None` is the lane of tasks that any provider can serve.
    pub lanes: Vec<(Option<Provider>, usize)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    pub order_id: OrderId,
    pub task_id: TaskId,
    pub kind: TaskKind,
    pub token: LeaseToken,
    pub attempts: u32,
    pub trace: Option<String>,
}

/// A callback as it came, kept for audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxEntry {
    pub provider: Provider,
    pub number: ProviderNumber,
    pub event_id: Option<String>,
    pub kind: String,
    pub signed: bool,
}

/// What an operator did by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub action: String,
    pub task_id: Option<TaskId>,
    pub reason: String,
}

/// (owner, route, key): the scope within which a key has one effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    pub owner: String,
    pub route: &'static str,
    pub key: String,
}

/// A reply that is given again for the same key and the same request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptReply {
    /// SHA-256 over what was asked.
    pub fingerprint: [u8; 32],
    pub status: u16,
    pub body: Vec<u8>,
}

/// Makes status and body of the reply to a placed order.
pub type Render = Box<dyn Fn(&Order) -> (u16, Vec<u8>) + Send + Sync>;

/// How to make the reply of a placed order, once the database has told its time.
pub struct KeyedOrder {
    pub key: IdempotencyKey,
    pub fingerprint: [u8; 32],
    pub render: Render,
}

impl fmt::Debug for KeyedOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedOrder").field("key", &self.key).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    New(Order),
    /// The key has been used before; nothing was placed. The caller compares the fingerprint.
    Known(KeptReply),
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
