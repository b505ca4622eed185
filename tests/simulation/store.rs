//! The database as one instance sees it: the memory store behind a connection that can be slow, away,
//! or lose the news of a commit. Every commit is looked at as it happens.

use super::audit;
use super::dice::Dice;
use super::doubt;
use super::faults::Fault;
use super::instance::Life;
use super::mutants::Mutation;
use super::world::World;
use order_service::adapters::observe::storage_upkeep::{Retention, StorageUpkeep, TaskStat};
use order_service::adapters::outbound::storage::MemoryStore;
use order_service::core::domain::ids::{InstanceId, OrderId, TaskId};
use order_service::core::domain::order::Order;
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::task::{Task, TaskState};
use order_service::core::ports::idempotency::{
    IdempotencyKey, IdempotencyRecord, IdempotencyStore, IdempotentRequest, KeptOutcome,
};
use order_service::core::ports::order_repository::{
    Decide, InboxEntry, LoadOptions, OrderQuery, OrderRepository, Placed, Scope, TxContext,
};
use order_service::core::ports::storage_error::StorageError;
use order_service::core::ports::task_queue::{
    ClaimRequest, Claimed, TaskQuery, TaskQueue, TaskView, Wakeup,
};
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::sleep;

#[derive(Debug)]
pub struct SimStore {
    world: Arc<World>,
    life: Arc<Life>,
    place: usize,
    dice: Dice,
    mutation: Mutation,
}

impl SimStore {
    pub fn new(world: &Arc<World>, life: &Arc<Life>, place: usize, dice: &Dice) -> Self {
        Self {
            world: Arc::clone(world),
            life: Arc::clone(life),
            place,
            dice: Dice::new(world.seed, "store", dice.below(usize::MAX)),
            mutation: Mutation::new(world.options.mutant),
        }
    }

    fn inner(&self) -> &MemoryStore {
        self.world.store.as_ref()
    }

    /// The way there.
    async fn travel_there(&self) -> Result<(), StorageError> {
        self.life.alive().await;
        self.travel().await;
        let elapsed = self.world.elapsed();
        let dark = self.world.plan.dark[self.place].iter().any(|span| span.contains(&elapsed));
        if dark && !self.world.healed() {
            sleep(self.dice.millis(0, 500)).await;
            return Err(StorageError::Unavailable);
        }
        Ok(())
    }

    /// The way back from a commit, on which the news of it can be lost.
    async fn come_back<T>(&self, done: T) -> Result<T, StorageError> {
        self.travel().await;
        if self.world.strikes(Fault::Stall, &self.dice) {
            self.world.chronicle.note(|| format!("{} stalls after a commit", self.life.name));
            sleep(self.dice.millis(5_000, 150_000)).await;
        }
        self.life.pass().await;
        if self.world.strikes(Fault::LostCommit, &self.dice) {
            self.world.chronicle.note(|| format!("{} loses the news of a commit", self.life.name));
            self.world.records().muted = true;
            return Err(StorageError::Unavailable);
        }
        Ok(done)
    }

    async fn travel(&self) {
        if self.world.strikes(Fault::Storage, &self.dice) {
            sleep(self.dice.millis(0, 1_500)).await;
        }
    }

    /// One decision, committed. A store may run a decision again on a newer aggregate, when a commit
    /// was refused or its fate is unknown.
    async fn commit(
        &self,
        id: OrderId,
        options: LoadOptions,
        decide: &Arc<Mutex<Decide>>,
        again: bool,
    ) -> Result<bool, StorageError> {
        let seen: Arc<Mutex<Option<(OrderAggregate, OrderAggregate)>>> = Arc::default();
        let (decide, watch) = (Arc::clone(decide), Arc::clone(&seen));
        let watched: Decide =
            Box::new(move |aggregate: &mut OrderAggregate, context: &TxContext| {
                let before = aggregate.clone();
                let writes =
                    decide.lock().unwrap_or_else(PoisonError::into_inner)(aggregate, context);
                let pair = Some((before, aggregate.clone()));
                *watch.lock().unwrap_or_else(PoisonError::into_inner) = pair;
                writes
            });
        self.life.pass().await;
        self.world.pace(&self.life.name).await;
        let found = self.mutation.change(&self.world, id, options, watched).await;
        if let Err(StorageError::Corrupt(what)) = found {
            if again && what == "fresh_id" {
                // The task that the first commit made is over by now: the request fails, the work is done.
                return found;
            }
            let what = format!("{what}, {}", self.world.name(id));
            self.world.chronicle.violated("decisions keep storage's rules", what);
        }
        let found = found?;
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((before, after)) = seen {
            after.tasks.iter().for_each(|task| self.world.saw(task));
            doubt::decided(&self.world, &before, &after);
            self.world.coverage.decided(&self.world, &self.life.name, &before, &after);
        }
        audit::look_at(&self.world, &self.life.name, id).await;
        Ok(found)
    }

    /// A lease is given to one at a time, and while a partner is shut off its tasks are left alone.
    async fn watch_claim(&self, request: &ClaimRequest, before: &[Task], claimed: &[Claimed]) {
        let now = self.world.now();
        for claim in claimed {
            let Some(task) = before.iter().find(|task| task.id == claim.task_id) else { continue };
            let held = task.lease.as_ref().is_some_and(|lease| lease.until > now);
            if task.state == TaskState::Running && held {
                let what =
                    format!("{} takes {}", request.owner.as_str(), self.world.task_name(task.id));
                self.world.chronicle.violated("a lease is one holder's", what);
            }
            let order = self.world.order_of(&task.order_id.to_base32());
            self.world.coverage.claimed(&self.life.name, order);
            self.world.chronicle.note(|| {
                let (name, order) = (self.world.task_name(task.id), self.world.name(task.order_id));
                format!("{} claims {name} ({:?} of {order})", self.life.name, task.kind)
            });
        }
    }
}

#[async_trait::async_trait]
impl OrderRepository for SimStore {
    async fn place(&self, order: Order) -> Result<Order, StorageError> {
        self.travel_there().await?;
        let placed = self.inner().place(order).await?;
        self.come_back(placed).await
    }

    async fn place_once(
        &self,
        order: Order,
        request: IdempotentRequest,
    ) -> Result<Placed, StorageError> {
        self.travel_there().await?;
        let placed = self.mutation.place_once(&self.world, order, request).await?;
        self.come_back(placed).await
    }

    async fn change(
        &self,
        id: OrderId,
        options: LoadOptions,
        decide: Decide,
    ) -> Result<bool, StorageError> {
        let decide = Arc::new(Mutex::new(decide));
        self.travel_there().await?;
        if self.world.strikes(Fault::Rerun, &self.dice)
            && let Some(mut stale) = self.inner().aggregate(id, &Scope::Anyone).await?
        {
            // A commit that was refused: the decision was made for nothing, and is made again.
            let context = TxContext { now: self.world.now(), waiting: None };
            decide.lock().unwrap_or_else(PoisonError::into_inner)(&mut stale, &context);
            sleep(self.dice.millis(0, 50)).await;
        }
        let mut found = self.commit(id, options, &decide, false).await?;
        if self.world.strikes(Fault::Rerun, &self.dice) {
            // A commit of unknown fate that was done: the store reads again and decides again.
            sleep(self.dice.millis(1, 2_000)).await;
            self.world.records().muted = true;
            self.life.pass().await;
            found = self.commit(id, options, &decide, true).await?;
        }
        self.come_back(found).await
    }

    async fn aggregate(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError> {
        self.travel_there().await?;
        self.inner().aggregate(id, scope).await
    }

    async fn list(
        &self,
        query: &OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<OrderAggregate>, StorageError> {
        self.travel_there().await?;
        self.inner().list(query, scope).await
    }

    async fn find_order(
        &self,
        provider: Provider,
        number: &ProviderNumber,
    ) -> Result<Option<OrderId>, StorageError> {
        self.travel_there().await?;
        self.inner().find_order(provider, number).await
    }

    async fn now(&self) -> Result<Timestamp, StorageError> {
        self.travel_there().await?;
        self.inner().now().await
    }

    async fn keep_unknown_callback(&self, entry: InboxEntry) -> Result<bool, StorageError> {
        self.travel_there().await?;
        let kept = self.inner().keep_unknown_callback(entry).await?;
        self.come_back(kept).await
    }
}

#[async_trait::async_trait]
impl TaskQueue for SimStore {
    async fn task(&self, id: TaskId, scope: &Scope) -> Result<Option<TaskView>, StorageError> {
        self.travel_there().await?;
        self.mutation.task(&self.world, id, scope).await
    }

    async fn tasks(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError> {
        self.travel_there().await?;
        self.inner().tasks(query).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StorageError> {
        self.travel_there().await?;
        let all = TaskQuery { limit: usize::MAX, ..TaskQuery::default() };
        let before = self.inner().tasks(&all).await?;
        let claimed = self.mutation.claim(&self.world, request).await?;
        self.watch_claim(request, &before, &claimed).await;
        if claimed.is_empty() {
            return Ok(claimed);
        }
        self.come_back(claimed).await
    }

    async fn bring_forward(
        &self,
        lane: Option<Provider>,
        limit: usize,
    ) -> Result<u64, StorageError> {
        self.travel_there().await?;
        let brought = self.inner().bring_forward(lane, limit).await?;
        self.come_back(brought).await
    }

    async fn release_leases(&self, owner: &InstanceId) -> Result<u64, StorageError> {
        self.travel_there().await?;
        let released = self.inner().release_leases(owner).await?;
        self.come_back(released).await
    }

    async fn wakeup(&self, wakeup: Wakeup, seen: u64) -> u64 {
        if !self.world.plan.wakeups {
            return pending().await;
        }
        self.inner().wakeup(wakeup, seen).await
    }
}

#[async_trait::async_trait]
impl IdempotencyStore for SimStore {
    async fn find(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StorageError> {
        self.travel_there().await?;
        self.inner().find(key).await
    }

    async fn keep(
        &self,
        request: IdempotentRequest,
        outcome: KeptOutcome,
    ) -> Result<bool, StorageError> {
        self.travel_there().await?;
        self.inner().keep(request, outcome).await
    }
}

#[async_trait::async_trait]
impl StorageUpkeep for SimStore {
    async fn task_stats(&self) -> Result<Vec<TaskStat>, StorageError> {
        self.travel_there().await?;
        self.inner().task_stats().await
    }

    async fn prune(&self, retention: &Retention) -> Result<u64, StorageError> {
        self.travel_there().await?;
        self.inner().prune(retention).await
    }

    async fn ping(&self) -> Result<(), StorageError> {
        self.travel_there().await
    }
}
