//! Where orders live. Storage loads an aggregate, runs a pure decision on it inside one transaction,
//! and saves what changed, as a whole or not at all; it decides nothing itself.

use crate::core::domain::details::ExternalId;
use crate::core::domain::ids::{CustomerId, OrderId, TaskId};
use crate::core::domain::order::{Order, OrderStatus};
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::ports::idempotency::{IdempotencyRecord, IdempotentRequest, KeptOutcome};
use crate::core::ports::storage_error::StorageError;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Orders, each with all that belongs to it. Every change of one goes through a decision that the
/// storage runs under the order's lock; nothing locks two orders.
#[async_trait::async_trait]
pub trait OrderRepository: Send + Sync + fmt::Debug {
    /// Commits a new order, which then carries the database's time.
    ///
    /// # Errors
    /// [`StorageError::ExternalIdTaken`]: its owner has another order under its external id.
    async fn place(&self, order: Order) -> Result<Order, StorageError>;

    /// The same for a request with a key, which from then on stands for the order.
    async fn place_once(
        &self,
        order: Order,
        request: IdempotentRequest,
    ) -> Result<Placed, StorageError>;

    /// Runs `decide` on the order's aggregate under its lock and commits what it changed; storage
    /// raises the versions and `updated_at` of what differs, and writes nothing when nothing does.
    /// `decide` may run again on a newer aggregate, when a commit was refused or its fate is unknown.
    /// `false` when there is no such order. Prefer [`decide`].
    async fn change(
        &self,
        id: OrderId,
        options: LoadOptions,
        decide: Decide,
    ) -> Result<bool, StorageError>;

    /// All that stands there about an order, without a lock: for showing, never for deciding.
    /// `None` where there is none, or where `scope` may not see it.
    ///
    /// # Errors
    /// The storage does not answer, or holds what this version cannot read.
    async fn aggregate(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError>;

    /// In the query's order.
    async fn list(
        &self,
        query: &OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<OrderAggregate>, StorageError>;

    /// The order behind a provider's number.
    async fn find_order(
        &self,
        provider: Provider,
        number: &ProviderNumber,
    ) -> Result<Option<OrderId>, StorageError>;

    /// The database's clock, outside of any transaction.
    async fn now(&self) -> Result<Timestamp, StorageError>;

    /// Keeps a callback about a number that nobody knows. `false` when the same is already there: it is
    /// counted, and its row stays the only one.
    async fn keep_unknown_callback(&self, entry: InboxEntry) -> Result<bool, StorageError>;
}

/// What became of an order that was to be placed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    /// It is there, with the database's time.
    New(Order),
    /// The key has been used before; nothing was placed. The caller compares the fingerprint.
    Known(IdempotencyRecord),
}

/// What storage needs to know before it runs a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadOptions {
    /// The order and all that belongs to it.
    Aggregate,
    /// Also how many `register_payment` tasks wait for a provider, up to this limit: what it costs does not
    /// grow with their number, and decisions that compare it with the limit never pass it together.
    QueueLength {
        /// The limit that the decision compares with.
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
    /// A second entry of the same event, or without event ids of the same kind about the same number, is
    /// counted in the row of the first.
    pub inbox: Option<InboxEntry>,
    /// A key that is taken already undoes the decision: [`StorageError::Unavailable`].
    pub kept: Option<(IdempotentRequest, KeptOutcome)>,
    /// What a person did: committed with what came of it, or not at all.
    pub audit: Option<AuditEntry>,
}

/// A pure decision: it may be run again when a commit's fate is unknown or another writer was
/// faster, so it must do nothing but compute.
pub type Decide = Box<dyn FnMut(&mut OrderAggregate, &TxContext) -> SideWrites + Send>;

/// Runs a pure decision on an order and returns what it answered, once that is committed. `None`
/// when there is no such order.
///
/// # Errors
/// The storage did not commit; nothing of the decision holds (but see [`StorageError::Unavailable`]).
pub async fn decide<T: Send + 'static>(
    orders: &dyn OrderRepository,
    id: OrderId,
    options: LoadOptions,
    mut decision: impl FnMut(&mut OrderAggregate, &TxContext) -> (T, SideWrites) + Send + 'static,
) -> Result<Option<T>, StorageError> {
    let answer = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&answer);
    let boxed: Decide = Box::new(move |aggregate, context| {
        let (value, writes) = decision(aggregate, context);
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        writes
    });
    let found = orders.change(id, options, boxed).await?;
    let value = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(if found { value } else { None })
}

/// Whose orders a reader may see. Every read carries it, so that no query can forget it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// For operators, and for tokens that may see every order.
    Anyone,
    /// For a customer: another's order is as good as none.
    Only(CustomerId),
}

impl Scope {
    /// Whether an order of this customer may be seen; a guest's order is nobody's in particular.
    #[must_use]
    pub fn allows(&self, customer: Option<&CustomerId>) -> bool {
        match self {
            Self::Anyone => true,
            Self::Only(own) => Some(own) == customer,
        }
    }
}

/// A question for one page of orders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderQuery {
    /// Of this customer alone, if named.
    pub customer_id: Option<CustomerId>,
    /// Any of these; any at all if none is named.
    pub statuses: Vec<OrderStatus>,
    /// Only these, if they are named.
    pub ids: Option<Vec<OrderId>>,
    /// Not before the first and before the second.
    pub created: (Option<Timestamp>, Option<Timestamp>),
    /// Only what has changed at or after this moment.
    pub updated_since: Option<Timestamp>,
    /// Only the order with this number of the shop.
    pub external_id: Option<ExternalId>,
    /// What comes first.
    pub sort: OrderSort,
    /// At most so many. Ask for one more to learn whether there is another page.
    pub limit: usize,
    /// Only what comes after the order of that moment and id.
    pub after: Option<(Timestamp, OrderId)>,
}

/// By which time a list is sorted, and by id where that is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OrderSort {
    /// By the time of placing, and by id where that is the same.
    #[default]
    NewestFirst,
    /// The other way round.
    OldestFirst,
    /// What changed longest ago first: to go on from where an earlier reading ended.
    LongestUnchangedFirst,
}

impl OrderSort {
    /// The usual one first.
    pub const ALL: [Self; 3] = [Self::NewestFirst, Self::OldestFirst, Self::LongestUnchangedFirst];

    /// Its word in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NewestFirst => "-created_at",
            Self::OldestFirst => "created_at",
            Self::LongestUnchangedFirst => "updated_at",
        }
    }

    /// By its word; `None` for no order that we know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sort| sort.as_str() == word)
    }

    /// Where an order stands in a list that is sorted so.
    #[must_use]
    pub const fn place_of(self, order: &Order) -> (Timestamp, OrderId) {
        match self {
            Self::NewestFirst | Self::OldestFirst => (order.created_at, order.id),
            Self::LongestUnchangedFirst => (order.updated_at, order.id),
        }
    }
}

/// A callback as it came, kept for audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxEntry {
    /// Whose callback it is.
    pub provider: Provider,
    /// What it says that it is about: our number.
    pub number: ProviderNumber,
    /// The provider's id of the event, where it numbers them: one is kept once.
    pub event_id: Option<String>,
    /// The provider's word for what happened.
    pub kind: String,
    /// Whether its signature was verified. Unsigned ones are kept as such.
    pub signed: bool,
}

/// What an operator did by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// A word for what was done: `retry`, `cancel`, `resolve`.
    pub action: String,
    /// The task that it was done to, if it was one.
    pub task_id: Option<TaskId>,
    /// In that person's words.
    pub reason: String,
    /// The name of the operator's token.
    pub by: String,
    /// Whether it closes the task's review: the answer stays, but nobody has to look any more.
    pub settles: bool,
}
