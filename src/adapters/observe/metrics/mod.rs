//! What this process counts, for Prometheus. Names, labels and buckets are a contract with the
//! dashboards and alerts (docs/metrics.md); this room hears of things and decides nothing.

pub mod labels;

mod exemplars;
mod families;
mod openmetrics;

mod app;
mod calls;
mod connections;
mod events;
mod exchanges;
mod fallbacks;
mod guards;
mod http;
mod orders;
mod store;
mod tasks;
mod watch;

pub use app::BuildInfo;
pub use store::MeteredStore;

use families::Families;
use prometheus::proto::MetricFamily;
use prometheus::{Registry, TextEncoder};

/// All series of the process. Made once, before anything that is counted; shared by `Arc`.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    app: app::App,
    calls: calls::Calls,
    exchanges: exchanges::Exchanges,
    fallbacks: fallbacks::Fallbacks,
    guards: guards::Guards,
    http: http::Http,
    orders: orders::Orders,
    pool: connections::Pool,
    store: store::Store,
    tasks: tasks::Tasks,
    watch: watch::Watched,
}

impl Metrics {
    #[must_use]
    pub fn new(build: BuildInfo) -> Self {
        let registry = Registry::new();
        let families = Families(&registry);
        Self {
            app: app::App::new(&families, build),
            calls: calls::Calls::new(&families),
            exchanges: exchanges::Exchanges::new(&families),
            fallbacks: fallbacks::Fallbacks::new(&families),
            guards: guards::Guards::new(&families),
            http: http::Http::new(&families),
            orders: orders::Orders::new(&families),
            pool: connections::Pool::new(&families),
            store: store::Store::new(&families),
            tasks: tasks::Tasks::new(&families),
            watch: watch::Watched::new(&families),
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
}

/// What [`Metrics::render`] returns.
pub const CONTENT_TYPE: &str = prometheus::TEXT_FORMAT;

/// What [`Metrics::render_openmetrics`] returns.
pub const OPENMETRICS: &str = openmetrics::OPENMETRICS;
