//! A store that fails as a test tells it to.

use order_service::adapters::observe::service_mode::{ModeChange, ServiceMode, ServiceModes};
use order_service::adapters::observe::storage_upkeep::{
    AuditLog, AuditQuery, AuditRecord, CallbackRecord, OrderRecords, Retention, StorageUpkeep,
    TaskStat,
};
use order_service::adapters::outbound::storage::MemoryStore;
use order_service::core::domain::ids::{InstanceId, OrderId, TaskId};
use order_service::core::domain::order::Order;
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::task::Task;
use order_service::core::ports::clock::Clock;
use order_service::core::ports::idempotency::{
    IdempotencyKey, IdempotencyRecord, IdempotencyStore, IdempotentRequest, KeptOutcome,
};
use order_service::core::ports::order_repository::{
    Decide, InboxEntry, LoadOptions, OrderQuery, OrderRepository, Placed, Scope,
};
use order_service::core::ports::outbox::{After, Outbox, StoredEvent};
use order_service::core::ports::storage_error::StorageError;
use order_service::core::ports::task_queue::{
    ClaimRequest, Claimed, TaskQuery, TaskQueue, TaskView,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The store in memory, until it is told to be down.
#[derive(Debug)]
pub struct FlakyStore {
    pub store: Arc<MemoryStore>,
    pub down: AtomicBool,
    /// What is stored makes no sense.
    pub corrupt: AtomicBool,
    /// So many looks for a key come before another instance keeps its outcome.
    pub looks_before_kept: AtomicUsize,
    pub keeps_no_outcomes: AtomicBool,
    /// Decisions that were asked of it: each may cost a commit.
    pub changes: AtomicUsize,
}

impl FlakyStore {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            store: Arc::new(MemoryStore::new(clock)),
            down: AtomicBool::new(false),
            corrupt: AtomicBool::new(false),
            looks_before_kept: AtomicUsize::new(0),
            keeps_no_outcomes: AtomicBool::new(false),
            changes: AtomicUsize::new(0),
        }
    }

    fn check(&self) -> Result<(), StorageError> {
        if self.down.load(Ordering::Relaxed) {
            return Err(StorageError::Unavailable);
        }
        if self.corrupt.load(Ordering::Relaxed) {
            return Err(StorageError::Corrupt("SELECT secret FROM orders"));
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl OrderRepository for FlakyStore {
    async fn place(&self, order: Order) -> Result<Order, StorageError> {
        self.check()?;
        self.store.place(order).await
    }

    async fn place_once(
        &self,
        order: Order,
        request: IdempotentRequest,
    ) -> Result<Placed, StorageError> {
        self.check()?;
        self.store.place_once(order, request).await
    }

    async fn change(
        &self,
        id: OrderId,
        options: LoadOptions,
        decide: Decide,
    ) -> Result<bool, StorageError> {
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.check()?;
        self.store.change(id, options, decide).await
    }

    async fn aggregate(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError> {
        self.check()?;
        self.store.aggregate(id, scope).await
    }

    async fn list(
        &self,
        query: &OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<OrderAggregate>, StorageError> {
        self.check()?;
        self.store.list(query, scope).await
    }

    async fn find_order(
        &self,
        provider: Provider,
        number: &ProviderNumber,
    ) -> Result<Option<OrderId>, StorageError> {
        self.check()?;
        self.store.find_order(provider, number).await
    }

    async fn now(&self) -> Result<Timestamp, StorageError> {
        self.check()?;
        self.store.now().await
    }

    async fn keep_unknown_callback(&self, entry: InboxEntry) -> Result<bool, StorageError> {
        self.store.keep_unknown_callback(entry).await
    }
}

#[async_trait::async_trait]
impl TaskQueue for FlakyStore {
    async fn task(&self, id: TaskId, scope: &Scope) -> Result<Option<TaskView>, StorageError> {
        self.check()?;
        self.store.task(id, scope).await
    }

    async fn tasks(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError> {
        self.store.tasks(query).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StorageError> {
        self.store.claim(request).await
    }

    async fn bring_forward(
        &self,
        lane: Option<Provider>,
        limit: usize,
    ) -> Result<u64, StorageError> {
        self.check()?;
        self.store.bring_forward(lane, limit).await
    }

    async fn release_leases(&self, owner: &InstanceId) -> Result<u64, StorageError> {
        self.store.release_leases(owner).await
    }
}

#[async_trait::async_trait]
impl IdempotencyStore for FlakyStore {
    async fn find(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StorageError> {
        self.check()?;
        let left = self.looks_before_kept.load(Ordering::Relaxed);
        self.looks_before_kept.store(left.saturating_sub(1), Ordering::Relaxed);
        if left > 0 { Ok(None) } else { self.store.find(key).await }
    }

    async fn keep(
        &self,
        request: IdempotentRequest,
        outcome: KeptOutcome,
    ) -> Result<bool, StorageError> {
        if self.keeps_no_outcomes.load(Ordering::Relaxed) {
            return Err(StorageError::Unavailable);
        }
        self.store.keep(request, outcome).await
    }
}

#[async_trait::async_trait]
impl StorageUpkeep for FlakyStore {
    async fn task_stats(&self) -> Result<Vec<TaskStat>, StorageError> {
        self.store.task_stats().await
    }

    async fn prune(&self, retention: &Retention) -> Result<u64, StorageError> {
        self.store.prune(retention).await
    }

    async fn ping(&self) -> Result<(), StorageError> {
        self.check()
    }
}

#[async_trait::async_trait]
impl AuditLog for FlakyStore {
    async fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditRecord>, StorageError> {
        self.check()?;
        self.store.audit(query).await
    }
}

#[async_trait::async_trait]
impl Outbox for FlakyStore {
    async fn events_of(
        &self,
        order: OrderId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StorageError> {
        self.check()?;
        self.store.events_of(order, after, limit).await
    }

    async fn events(
        &self,
        after: After,
        limit: usize,
        scope: &Scope,
    ) -> Result<Option<Vec<StoredEvent>>, StorageError> {
        self.check()?;
        self.store.events(after, limit, scope).await
    }
}

#[async_trait::async_trait]
impl ServiceModes for FlakyStore {
    async fn service_mode(&self) -> Result<ServiceMode, StorageError> {
        self.check()?;
        self.store.service_mode().await
    }

    async fn change_service_mode(&self, change: &ModeChange) -> Result<ServiceMode, StorageError> {
        self.check()?;
        self.store.change_service_mode(change).await
    }
}

#[async_trait::async_trait]
impl OrderRecords for FlakyStore {
    async fn order_named(&self, name: &str) -> Result<Option<OrderId>, StorageError> {
        self.check()?;
        self.store.order_named(name).await
    }

    async fn callbacks(
        &self,
        order: OrderId,
        limit: usize,
    ) -> Result<Vec<CallbackRecord>, StorageError> {
        self.check()?;
        self.store.callbacks(order, limit).await
    }
}
