//! How long the storage takes: a wrapper round its ports, because storage itself knows no metrics and
//! every database behind the ports is to be measured alike.

use super::db_operations::{collection_of, word_of};
use super::series::Metrics;
use crate::adapters::observe::service_mode::{ModeChange, ServiceMode, ServiceModes};
use crate::adapters::observe::storage_upkeep::{
    AuditLog, AuditQuery, AuditRecord, CallbackRecord, Connections, Durability, OrderRecords,
    Retention, StorageUpkeep, TaskStat,
};
use crate::core::domain::ids::{InstanceId, OrderId, TaskId};
use crate::core::domain::order::Order;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::task::Task;
use crate::core::ports::idempotency::{
    IdempotencyKey, IdempotencyRecord, IdempotencyStore, IdempotentRequest, KeptOutcome,
};
use crate::core::ports::order_repository::{
    Decide, InboxEntry, LoadOptions, OrderQuery, OrderRepository, Placed, Scope,
};
use crate::core::ports::outbox::{After, Outbox, StoredEvent};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::{
    ClaimRequest, Claimed, TaskQuery, TaskQueue, TaskView, Wakeup,
};
use std::sync::Arc;
use tokio::time::Instant;
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// The storage, with every operation timed.
#[derive(Debug)]
pub struct MeteredStore<S: ?Sized> {
    pub(super) store: Arc<S>,
    metrics: Arc<Metrics>,
    /// OpenTelemetry's word for the database.
    system: &'static str,
}

impl<S: ?Sized> MeteredStore<S> {
    #[must_use]
    pub const fn new(store: Arc<S>, metrics: Arc<Metrics>, system: &'static str) -> Self {
        Self { store, metrics, system }
    }

    pub(super) async fn timed<T>(
        &self,
        operation: &'static str,
        work: impl Future<Output = Result<T, StorageError>>,
    ) -> Result<T, StorageError> {
        let (begun, span) = (Instant::now(), self.span_of(operation));
        let result = work.instrument(span.clone()).await;
        if let Err(error) = &result {
            span.record("error.type", word_of(error)).record("otel.status_code", "ERROR");
        }
        self.metrics.db_operations.ended(operation, result.as_ref().err(), begun.elapsed());
        result
    }

    /// Only inside somebody's trace: a worker's look for due tasks each second makes none. Only for
    /// the exporter, which asks for more than the log does.
    fn span_of(&self, operation: &str) -> Span {
        if Span::current().is_none() {
            return Span::none();
        }
        let collection = collection_of(operation).unwrap_or_default();
        tracing::debug_span!(
            "storage",
            otel.name = %format_args!("{operation} {collection}"),
            otel.kind = "client",
            db.system.name = self.system,
            db.operation.name = operation,
            db.collection.name = collection,
            "error.type" = Empty,
            otel.status_code = Empty,
        )
    }
}

#[async_trait::async_trait]
impl<S: OrderRepository + ?Sized> OrderRepository for MeteredStore<S> {
    async fn place(&self, order: Order) -> Result<Order, StorageError> {
        self.timed("place", self.store.place(order)).await
    }

    async fn place_once(
        &self,
        order: Order,
        request: IdempotentRequest,
    ) -> Result<Placed, StorageError> {
        self.timed("place", self.store.place_once(order, request)).await
    }

    async fn change(
        &self,
        id: OrderId,
        options: LoadOptions,
        decide: Decide,
    ) -> Result<bool, StorageError> {
        self.timed("change", self.store.change(id, options, decide)).await
    }

    async fn aggregate(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError> {
        self.timed("aggregate", self.store.aggregate(id, scope)).await
    }

    async fn list(
        &self,
        query: &OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<OrderAggregate>, StorageError> {
        self.timed("list", self.store.list(query, scope)).await
    }

    async fn find_order(
        &self,
        provider: Provider,
        number: &ProviderNumber,
    ) -> Result<Option<OrderId>, StorageError> {
        self.timed("find_order", self.store.find_order(provider, number)).await
    }

    async fn now(&self) -> Result<Timestamp, StorageError> {
        self.timed("read_clock", self.store.now()).await
    }

    async fn keep_unknown_callback(&self, entry: InboxEntry) -> Result<bool, StorageError> {
        self.timed("keep_orphan", self.store.keep_unknown_callback(entry)).await
    }
}

#[async_trait::async_trait]
impl<S: TaskQueue + ?Sized> TaskQueue for MeteredStore<S> {
    async fn task(&self, id: TaskId, scope: &Scope) -> Result<Option<TaskView>, StorageError> {
        self.timed("task", self.store.task(id, scope)).await
    }

    async fn tasks(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError> {
        self.timed("tasks", self.store.tasks(query)).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StorageError> {
        self.timed("claim", self.store.claim(request)).await
    }

    async fn bring_forward(
        &self,
        lane: Option<Provider>,
        limit: usize,
    ) -> Result<u64, StorageError> {
        self.timed("claim", self.store.bring_forward(lane, limit)).await
    }

    async fn release_leases(&self, owner: &InstanceId) -> Result<u64, StorageError> {
        self.timed("release_leases", self.store.release_leases(owner)).await
    }

    async fn wakeup(&self, wakeup: Wakeup, seen: u64) -> u64 {
        self.store.wakeup(wakeup, seen).await
    }
}

#[async_trait::async_trait]
impl<S: IdempotencyStore + ?Sized> IdempotencyStore for MeteredStore<S> {
    async fn find(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StorageError> {
        self.timed("find_reply", self.store.find(key)).await
    }

    async fn keep(
        &self,
        request: IdempotentRequest,
        outcome: KeptOutcome,
    ) -> Result<bool, StorageError> {
        self.timed("keep_reply", self.store.keep(request, outcome)).await
    }
}

#[async_trait::async_trait]
impl<S: StorageUpkeep + ?Sized> StorageUpkeep for MeteredStore<S> {
    async fn task_stats(&self) -> Result<Vec<TaskStat>, StorageError> {
        self.timed("task_stats", self.store.task_stats()).await
    }

    async fn prune(&self, retention: &Retention) -> Result<u64, StorageError> {
        self.timed("prune", self.store.prune(retention)).await
    }

    async fn ping(&self) -> Result<(), StorageError> {
        self.store.ping().await
    }

    fn durability(&self) -> Durability {
        self.store.durability()
    }

    fn connections(&self) -> Connections {
        self.store.connections()
    }
}

#[async_trait::async_trait]
impl<S: AuditLog + ?Sized> AuditLog for MeteredStore<S> {
    async fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditRecord>, StorageError> {
        self.timed("audit", self.store.audit(query)).await
    }
}

#[async_trait::async_trait]
impl<S: Outbox + ?Sized> Outbox for MeteredStore<S> {
    async fn events_of(
        &self,
        order: OrderId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StorageError> {
        self.timed("events_of", self.store.events_of(order, after, limit)).await
    }

    async fn events(
        &self,
        after: After,
        limit: usize,
        scope: &Scope,
    ) -> Result<Option<Vec<StoredEvent>>, StorageError> {
        self.timed("events", self.store.events(after, limit, scope)).await
    }
}

#[async_trait::async_trait]
impl<S: ServiceModes + ?Sized> ServiceModes for MeteredStore<S> {
    async fn service_mode(&self) -> Result<ServiceMode, StorageError> {
        self.store.service_mode().await
    }

    async fn change_service_mode(&self, change: &ModeChange) -> Result<ServiceMode, StorageError> {
        self.timed("change_service_mode", self.store.change_service_mode(change)).await
    }
}

#[async_trait::async_trait]
impl<S: OrderRecords + ?Sized> OrderRecords for MeteredStore<S> {
    async fn order_named(&self, name: &str) -> Result<Option<OrderId>, StorageError> {
        self.timed("order_named", self.store.order_named(name)).await
    }

    async fn callbacks(
        &self,
        order: OrderId,
        limit: usize,
    ) -> Result<Vec<CallbackRecord>, StorageError> {
        self.timed("callbacks", self.store.callbacks(order, limit)).await
    }
}
