//! All series of the process, and what is declared or looked at rather than told.

use super::app::{App, BuildInfo};
use super::calls::Calls;
use super::clients::Clients;
use super::connections::Pool;
use super::db_operations::DbOperations;
use super::exchanges::Exchanges;
use super::fallbacks::Fallbacks;
use super::families::Families;
use super::guards::GuardSeries;
use super::http::Http;
use super::openmetrics;
use super::orders::Orders;
use super::payments::Payments;
use super::tasks::Tasks;
use super::watch::Watched;
use super::webhooks::Webhooks;
use crate::adapters::observe::storage_upkeep::StorageUpkeep;
use crate::adapters::observe::systems::SystemHealth;
use crate::adapters::resilience::breaker::Breaker;
use crate::adapters::resilience::semaphore::Semaphore;
use prometheus::proto::MetricFamily;
use prometheus::{Registry, TextEncoder};
use std::sync::Arc;
use std::time::Duration;

/// All series of the process. Made once, before anything that is counted; shared by `Arc`.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    pub(super) app: App,
    pub(super) calls: Calls,
    pub(super) db_operations: DbOperations,
    pub(super) exchanges: Exchanges,
    pub(super) fallbacks: Fallbacks,
    pub(super) guards: GuardSeries,
    pub(super) clients: Clients,
    pub(super) http: Http,
    pub(super) orders: Orders,
    pub(super) payments: Payments,
    pub(super) pool: Pool,
    pub(super) tasks: Tasks,
    pub(super) watch: Watched,
    pub(super) webhooks: Webhooks,
}

impl Metrics {
    #[must_use]
    pub fn new(build: BuildInfo) -> Self {
        let registry = Registry::new();
        let families = Families(&registry);
        Self {
            app: App::new(&families, build),
            calls: Calls::new(&families),
            db_operations: DbOperations::new(&families),
            exchanges: Exchanges::new(&families),
            fallbacks: Fallbacks::new(&families),
            guards: GuardSeries::new(&families),
            clients: Clients::new(&families),
            http: Http::new(&families),
            orders: Orders::new(&families),
            payments: Payments::new(&families),
            pool: Pool::new(&families),
            tasks: Tasks::new(&families),
            watch: Watched::new(&families),
            webhooks: Webhooks::new(&families),
            registry,
        }
    }

    /// Everything as text (exposition format 0.0.4), the guards as they stand at this moment.
    #[must_use]
    pub fn render(&self) -> String {
        TextEncoder::new()
            .encode_to_string(&self.gather())
            .expect("families of this room are well-formed")
    }

    /// The same in OpenMetrics, with exemplars.
    #[must_use]
    pub fn render_openmetrics(&self) -> String {
        let exemplars = [self.calls.exemplars(), self.http.exemplars()];
        openmetrics::encode(&self.gather(), &exemplars)
    }

    fn gather(&self) -> Vec<MetricFamily> {
        self.watch.look();
        self.pool.look();
        self.registry.gather()
    }

    /// Call before [`render`](Self::render). Never waits for another's query, nor longer than two
    /// seconds for its own; when the storage does not answer the last numbers stay, and that is
    /// counted.
    pub async fn refresh_tasks(&self, storage: &dyn StorageUpkeep) {
        if self.tasks.refresh(storage).await.is_err() {
            self.app.error("task_stats_failed");
        }
    }

    /// A route that is served: its counters exist before its first request, and the durations of
    /// its successes.
    pub fn declare_route(&self, method: &str, route: &str, successes: &[u16]) {
        self.http.declare(method, route, successes);
    }

    /// A partner that is asked by these methods: the durations of its good answers exist before the
    /// first. Those of failures begin with the first of their kind.
    pub fn declare_server(&self, server: &str, methods: &[&str]) {
        for method in methods {
            self.exchanges.start_at_zero(server, method);
        }
    }

    /// `MAX_INFLIGHT_REQUESTS`.
    pub fn inflight_limit(&self, limit: usize) {
        self.watch.inflight_limit(limit);
    }

    /// Shows these guards at every scrape from now on.
    pub fn watch(&self, breaker: Arc<Breaker>, semaphore: Arc<Semaphore>) {
        self.watch.guards(breaker, semaphore);
    }

    /// Shows what these probes last saw at every scrape from now on.
    pub fn watch_health(&self, health: Arc<dyn SystemHealth>) {
        self.watch.health(health);
    }

    /// Shows this store's connections at every scrape from now on; a second store is not watched.
    pub fn watch_connections(&self, store: Arc<dyn StorageUpkeep>) {
        self.pool.watch(store);
    }

    pub fn shutdown_took(&self, elapsed: Duration) {
        self.app.shutdown_took(elapsed);
    }
}
