//! What this process counts, for Prometheus. Names, labels and buckets are a contract with the
//! dashboards and alerts (docs/metrics.md); this room hears of things and decides nothing.
//!
//! Each family of series has a file, `series` holds them all, and `events` and `observer` sort what is
//! told into them.

pub mod labels;

mod exemplars;
mod families;
mod openmetrics;

mod app;
mod calls;
mod clients;
mod connections;
mod db_operations;
mod exchanges;
mod fallbacks;
mod guards;
mod http;
mod orders;
mod payments;
mod tasks;
mod watch;
mod webhooks;

mod events;
mod observer;
mod series;
mod store;
mod store_webhooks;

pub use app::BuildInfo;
pub use openmetrics::OPENMETRICS;
pub use series::Metrics;
pub use store::MeteredStore;

/// What [`Metrics::render`] returns.
pub const CONTENT_TYPE: &str = prometheus::TEXT_FORMAT;
