//! The store of tests and of the simulation: no file, no thread, the caller's clock. It keeps the same
//! promises as the databases (one contract suite runs over all), except that it forgets.

mod archive;
mod checks;
mod leases;
mod state;
mod webhook_tables;
mod webhooks;

use super::wakeups::{WakeupSet, Wakeups};
use crate::adapters::observe::service_mode::{ModeChange, ServiceMode, ServiceModes};
use crate::adapters::observe::storage_upkeep::{
    AuditLog, AuditQuery, AuditRecord, CallbackRecord, OrderRecords, Retention, StorageUpkeep,
    TaskStat,
};
use crate::core::domain::ids::{EventId, InstanceId, OrderId, TaskId};
use crate::core::domain::order::Order;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::task::Task;
use crate::core::ports::clock::Clock;
use crate::core::ports::idempotency::{
    IdempotencyKey, IdempotencyRecord, IdempotencyStore, IdempotentRequest, KeptOutcome,
};
use crate::core::ports::order_repository::{
    AuditEntry, Decide, InboxEntry, LoadOptions, OrderQuery, OrderRepository, Placed, Scope,
};
use crate::core::ports::outbox::{After, Outbox, StoredEvent};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::{
    ClaimRequest, Claimed, TaskQuery, TaskQueue, TaskView, Wakeup,
};
use state::State;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    wakeups: Wakeups,
}

impl MemoryStore {
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default(), wakeups: Wakeups::default() }
    }

    /// What operators did, oldest first.
    #[must_use]
    pub fn deeds(&self) -> Vec<AuditEntry> {
        self.state().deeds.iter().map(|(_, _, entry)| entry.clone()).collect()
    }

    /// Callbacks as they first came, oldest first.
    #[must_use]
    pub fn inbox(&self) -> Vec<InboxEntry> {
        self.state().inbox.iter().map(|(_, entry)| entry.clone()).collect()
    }

    /// A decision that panics leaves no half-made state behind: it works on a copy.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl OrderRepository for MemoryStore {
    async fn place(&self, order: Order) -> Result<Order, StorageError> {
        self.state().place(order, self.clock.now())
    }

    async fn place_once(
        &self,
        order: Order,
        request: IdempotentRequest,
    ) -> Result<Placed, StorageError> {
        self.state().place_once(order, request, self.clock.now())
    }

    async fn change(
        &self,
        id: OrderId,
        options: LoadOptions,
        mut decide: Decide,
    ) -> Result<bool, StorageError> {
        let wakeups = self.state().change(id, options, &mut decide, self.clock.now())?;
        self.wakeups.wake(wakeups.unwrap_or_default());
        Ok(wakeups.is_some())
    }

    async fn aggregate(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError> {
        let found = self.state().aggregate(id);
        Ok(found.filter(|aggregate| scope.allows(aggregate.order.customer_id.as_ref())))
    }

    async fn list(
        &self,
        query: &OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<OrderAggregate>, StorageError> {
        Ok(self.state().list(query, scope))
    }

    async fn find_order(
        &self,
        provider: Provider,
        number: &ProviderNumber,
    ) -> Result<Option<OrderId>, StorageError> {
        Ok(self.state().numbers.get(&(provider, number.clone())).copied())
    }

    async fn now(&self) -> Result<Timestamp, StorageError> {
        Ok(self.clock.now())
    }

    async fn keep_unknown_callback(&self, entry: InboxEntry) -> Result<bool, StorageError> {
        Ok(self.state().keep_callback(entry, self.clock.now()))
    }
}

#[async_trait::async_trait]
impl TaskQueue for MemoryStore {
    async fn task(&self, id: TaskId, scope: &Scope) -> Result<Option<TaskView>, StorageError> {
        Ok(self.state().task(id, scope))
    }

    async fn tasks(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError> {
        Ok(self.state().tasks(query))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StorageError> {
        Ok(self.state().claim(request, self.clock.now()))
    }

    async fn bring_forward(
        &self,
        lane: Option<Provider>,
        limit: usize,
    ) -> Result<u64, StorageError> {
        let brought = self.state().bring_forward(lane, limit, self.clock.now());
        self.wakeups.wake(WakeupSet { due: brought > 0, finished: false });
        Ok(brought)
    }

    async fn release_leases(&self, owner: &InstanceId) -> Result<u64, StorageError> {
        let released = self.state().release_leases(owner, self.clock.now());
        self.wakeups.wake(WakeupSet { due: released > 0, finished: false });
        Ok(released)
    }

    async fn wakeup(&self, wakeup: Wakeup, seen: u64) -> u64 {
        self.wakeups.wait(wakeup, seen).await
    }
}

#[async_trait::async_trait]
impl IdempotencyStore for MemoryStore {
    async fn find(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StorageError> {
        Ok(self.state().records.get(key).map(|(record, _)| record.clone()))
    }

    async fn keep(
        &self,
        request: IdempotentRequest,
        outcome: KeptOutcome,
    ) -> Result<bool, StorageError> {
        Ok(self.state().keep_outcome(request, outcome, self.clock.now()))
    }
}

#[async_trait::async_trait]
impl StorageUpkeep for MemoryStore {
    async fn task_stats(&self) -> Result<Vec<TaskStat>, StorageError> {
        Ok(self.state().task_stats(self.clock.now()))
    }

    async fn prune(&self, retention: &Retention) -> Result<u64, StorageError> {
        Ok(self.state().prune(retention, self.clock.now()))
    }

    async fn ping(&self) -> Result<(), StorageError> {
        Ok(())
    }
}

#[async_trait::async_trait]
impl AuditLog for MemoryStore {
    async fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditRecord>, StorageError> {
        Ok(self.state().audit(query))
    }
}

#[async_trait::async_trait]
impl Outbox for MemoryStore {
    async fn events_of(
        &self,
        order: OrderId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StorageError> {
        let state = self.state();
        let wanted = |e: &&StoredEvent| e.aggregate.order.id == order && e.sequence > after;
        Ok(state.events.iter().filter(wanted).take(limit).cloned().collect())
    }

    async fn events(
        &self,
        after: After,
        limit: usize,
        scope: &Scope,
    ) -> Result<Option<Vec<StoredEvent>>, StorageError> {
        let state = self.state();
        let allowed = |e: &&StoredEvent| scope.allows(e.aggregate.order.customer_id.as_ref());
        let mut seen = state.events.iter().filter(allowed);
        let position = match after {
            After::Position(position) => Some(position),
            After::Event(EventId { order, sequence }) => seen
                .find(|e| (e.aggregate.order.id, e.sequence) == (order, sequence))
                .map(|e| e.position),
        };
        let later = |position| {
            let events = state.events.iter().filter(allowed);
            events.filter(|e| e.position > position).take(limit).cloned().collect()
        };
        Ok(position.map(later))
    }
}

#[async_trait::async_trait]
impl ServiceModes for MemoryStore {
    async fn service_mode(&self) -> Result<ServiceMode, StorageError> {
        Ok(self.state().service_mode(self.clock.now()))
    }

    async fn change_service_mode(&self, change: &ModeChange) -> Result<ServiceMode, StorageError> {
        let now = self.clock.now();
        self.state().modes.push((now, change.clone()));
        Ok(self.state().service_mode(now))
    }
}

#[async_trait::async_trait]
impl OrderRecords for MemoryStore {
    async fn order_named(&self, name: &str) -> Result<Option<OrderId>, StorageError> {
        Ok(self.state().order_named(name))
    }

    async fn callbacks(
        &self,
        order: OrderId,
        limit: usize,
    ) -> Result<Vec<CallbackRecord>, StorageError> {
        Ok(self.state().callbacks(order, limit))
    }
}
