//! The store of tests and of the simulation: no file, no thread, the caller's clock. It keeps the same
//! promises as the databases (one contract suite runs over all), except that it forgets.

mod leases;
mod state;

use super::wakeups::{Hints, News};
use crate::core::domain::ids::{InstanceId, OrderId, TaskId};
use crate::core::domain::order::Order;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::payment::OrderAggregate;
use crate::core::payment::task::Task;
use crate::core::ports::clock::Clock;
use crate::core::ports::order_repository::{
    AuditEntry, ClaimRequest, Claimed, Decide, Hint, IdempotencyKey, InboxEntry, KeptReply,
    KeyedOrder, LoadOptions, OrderQuery, OrderStore, Placed, Scope, StorageError, TaskQuery,
    TaskStat, TaskView,
};
use state::State;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    hints: Hints,
}

impl MemoryStore {
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default(), hints: Hints::default() }
    }

    /// What operators did, oldest first.
    #[must_use]
    pub fn audit(&self) -> Vec<AuditEntry> {
        self.state().audit.clone()
    }

    /// Callbacks as they came, oldest first.
    #[must_use]
    pub fn inbox(&self) -> Vec<InboxEntry> {
        self.state().inbox.clone()
    }

    /// A decision that panics leaves no half-made state behind: it works on a copy.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl OrderStore for MemoryStore {
    async fn place(&self, order: Order, key: Option<KeyedOrder>) -> Result<Placed, StorageError> {
        self.state().place(order, key, self.clock.now())
    }

    async fn change(
        &self,
        id: OrderId,
        reads: LoadOptions,
        mut decide: Decide,
    ) -> Result<bool, StorageError> {
        let news = self.state().change(id, reads, &mut decide, self.clock.now())?;
        self.hints.tell(news.unwrap_or_default());
        Ok(news.is_some())
    }

    async fn aggregate(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError> {
        let found = self.state().aggregate(id);
        Ok(found.filter(|aggregate| scope.allows(&aggregate.order.customer_id)))
    }

    async fn list(
        &self,
        query: &OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<OrderAggregate>, StorageError> {
        Ok(self.state().list(query, scope))
    }

    async fn task(&self, id: TaskId, scope: &Scope) -> Result<Option<TaskView>, StorageError> {
        Ok(self.state().task(id, scope))
    }

    async fn tasks(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError> {
        Ok(self.state().tasks(query))
    }

    async fn find_order(
        &self,
        provider: Provider,
        number: &ProviderNumber,
    ) -> Result<Option<OrderId>, StorageError> {
        Ok(self.state().numbers.get(&(provider, number.clone())).copied())
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StorageError> {
        Ok(self.state().claim(request, self.clock.now()))
    }

    async fn release_leases(&self, owner: &InstanceId) -> Result<u64, StorageError> {
        let released = self.state().release_leases(owner, self.clock.now());
        self.hints.tell(News { due: released > 0, finished: false });
        Ok(released)
    }

    async fn keep_orphan(&self, entry: InboxEntry) -> Result<bool, StorageError> {
        Ok(self.state().keep_callback(entry))
    }

    async fn find_reply(&self, key: &IdempotencyKey) -> Result<Option<KeptReply>, StorageError> {
        Ok(self.state().replies.get(key).map(|(reply, _)| reply.clone()))
    }

    async fn keep_reply(
        &self,
        key: IdempotencyKey,
        reply: KeptReply,
    ) -> Result<bool, StorageError> {
        let now = self.clock.now();
        let mut state = self.state();
        let kept = !state.replies.contains_key(&key);
        state.replies.entry(key).or_insert((reply, now));
        Ok(kept)
    }

    async fn task_stats(&self) -> Result<Vec<TaskStat>, StorageError> {
        Ok(self.state().task_stats(self.clock.now()))
    }

    async fn prune(&self, tasks: Duration, keys: Duration) -> Result<u64, StorageError> {
        let now = self.clock.now();
        Ok(self.state().prune(now - tasks, now - keys))
    }

    async fn ping(&self) -> Result<(), StorageError> {
        Ok(())
    }

    async fn sync_requested(&self, hint: Hint, seen: u64) -> u64 {
        self.hints.wait(hint, seen).await
    }
}
