//! What works in the background: tasks, webhooks, and forgetting what nobody needs any more.

use super::parts::{Parts, adapter_events, entropy, events};
use super::webhooks;
use crate::adapters::inbound::worker::{Housekeeping, WebhookWorker, Worker};
use crate::adapters::observe::storage_upkeep::Retention;
use std::sync::Arc;
use std::time::Duration;

pub(super) fn worker(parts: &Parts) -> Worker {
    Worker {
        engine: Arc::clone(&parts.engine),
        events: adapter_events(parts),
        workers: parts.config.worker.workers,
        poll_interval: parts.config.worker.poll_interval,
        tracker: parts.detached.clone(),
        stop: parts.stop.clone(),
    }
}

pub(super) fn webhook_worker(parts: &Parts) -> WebhookWorker {
    let shared = webhooks::Shared {
        store: Arc::clone(&parts.store),
        sender: Arc::clone(&parts.webhooks),
        entropy: entropy(),
        events: events(parts),
        tracker: parts.detached.clone(),
        stop: parts.stop.clone(),
    };
    webhooks::worker(&parts.config, shared)
}

/// Idempotency keys are kept for a day, the time within which a client may repeat. A refund's own row keeps
/// its key for ever.
const KEYS: Duration = Duration::from_secs(24 * 3600);

pub(super) fn housekeeping(parts: &Parts) -> Housekeeping {
    let database = &parts.config.service.database;
    Housekeeping {
        database: parts.store.clone(),
        retention: Retention {
            tasks: parts.config.worker.retention,
            keys: KEYS,
            callbacks: database.callback_retention,
            audit: database.audit_retention,
            buyers: database.buyer_retention,
            orders: database.order_retention,
        },
        stop: parts.stop.clone(),
    }
}
