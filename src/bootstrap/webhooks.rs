//! How shops are told: one sender, for what is due and for what a shop tries.

use crate::adapters::inbound::api;
use crate::adapters::inbound::worker::WebhookWorker;
use crate::adapters::outbound::storage::Store;
use crate::adapters::outbound::webhooks::{Webhooks, WebhooksConfig};
use crate::adapters::resilience::clock::MonotonicClock;
use crate::config::Config;
use crate::core::ports::clock::Entropy;
use crate::core::ports::events::Events;
use crate::core::ports::webhooks::WebhookSender;
use crate::core::use_cases::deliver_webhooks::DeliverWebhooks;
use crate::core::use_cases::manage_webhooks::ManageWebhooks;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Attempts under way, in all: each holds a connection.
const MAX_IN_FLIGHT: usize = 256;
/// Attempts under way to one endpoint, each of another order.
const MAX_IN_FLIGHT_EACH: usize = 4;
/// Endpoints that an instance serves at a time.
const ENDPOINTS: usize = 64;

/// # Errors
/// No usable TLS roots on this system.
pub(super) fn sender(config: &Config) -> anyhow::Result<Arc<dyn WebhookSender>> {
    let webhooks = &config.service.webhooks;
    let sender = Webhooks::new(
        WebhooksConfig {
            timeout: webhooks.timeout,
            allowed_hosts: webhooks.allowed_hosts.clone(),
            max_in_flight: MAX_IN_FLIGHT,
            max_in_flight_each: MAX_IN_FLIGHT_EACH,
        },
        MonotonicClock::coarse(),
    )?;
    Ok(Arc::new(sender))
}

pub(super) fn manage(
    store: &Arc<dyn Store>,
    sender: &Arc<dyn WebhookSender>,
    entropy: Arc<dyn Entropy>,
) -> ManageWebhooks {
    ManageWebhooks {
        endpoints: store.clone(),
        orders: store.clone(),
        sender: Arc::clone(sender),
        entropy,
    }
}

/// What the worker shares with the rest of the process.
pub(super) struct Shared {
    pub(super) store: Arc<dyn Store>,
    pub(super) sender: Arc<dyn WebhookSender>,
    pub(super) entropy: Arc<dyn Entropy>,
    pub(super) events: Arc<dyn Events>,
    pub(super) tracker: TaskTracker,
    pub(super) stop: CancellationToken,
}

pub(super) fn worker(config: &Config, shared: Shared) -> WebhookWorker {
    let Shared { store, sender, entropy, events, tracker, stop } = shared;
    let webhooks = &config.service.webhooks;
    let deliver = DeliverWebhooks {
        queue: store.clone(),
        outbox: store.clone(),
        orders: store.clone(),
        sender,
        schedule: webhooks.schedule.clone(),
        at_a_time: MAX_IN_FLIGHT_EACH,
        timeout: webhooks.timeout,
        body: api::event_json,
        entropy,
        events: Arc::clone(&events),
    };
    WebhookWorker {
        deliver: Arc::new(deliver),
        queue: store.clone(),
        orders: store,
        events,
        at_a_time: ENDPOINTS,
        tracker,
        stop,
    }
}
