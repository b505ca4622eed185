//! What both listeners and the workers are made from.

use super::partners::Partners;
use crate::adapters::inbound::http_kit::lifecycle::Lifecycle;
use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::adapters::observe::log_control::LogControl;
use crate::adapters::observe::metrics::Metrics;
use crate::adapters::observe::service_mode::ModeWatch;
use crate::adapters::observe::systems::SystemHealth;
use crate::adapters::observe::traffic::Traffic;
use crate::adapters::outbound::process::{SystemEntropy, WallClock};
use crate::adapters::outbound::storage::{FileLock, Store};
use crate::config::Config;
use crate::core::engine::Engine;
use crate::core::ports::clock::{Clock, Entropy};
use crate::core::ports::events::Events;
use crate::core::ports::webhooks::WebhookSender;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
/// What both listeners and the workers share.
pub(super) struct Parts {
    pub(super) config: Config,
    pub(super) store: Arc<dyn Store>,
    pub(super) file_lock: Option<FileLock>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) partners: Partners,
    pub(super) engine: Arc<Engine>,
    pub(super) mode: Arc<ModeWatch>,
    pub(super) log: Arc<dyn LogControl>,
    pub(super) webhooks: Arc<dyn WebhookSender>,
    pub(super) probes: Vec<Arc<dyn SystemHealth>>,
    pub(super) lifecycle: Arc<Lifecycle>,
    pub(super) detached: TaskTracker,
    pub(super) stop: CancellationToken,
}

pub(super) fn clock() -> Arc<dyn Clock> {
    Arc::new(WallClock)
}

pub(super) fn entropy() -> Arc<dyn Entropy> {
    Arc::new(SystemEntropy)
}

pub(super) fn events(parts: &Parts) -> Arc<dyn Events> {
    Arc::clone(&parts.metrics) as Arc<dyn Events>
}

pub(super) fn adapter_events(parts: &Parts) -> Arc<dyn AdapterEvents> {
    Arc::clone(&parts.metrics) as Arc<dyn AdapterEvents>
}

pub(super) fn traffic(parts: &Parts) -> Arc<dyn Traffic> {
    Arc::clone(&parts.metrics) as Arc<dyn Traffic>
}
