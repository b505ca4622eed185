//! What the core tells, sorted by whom it concerns.

use super::Metrics;
use crate::core::ports::events::{Event, Events};

impl Events for Metrics {
    fn record(&self, event: &Event) {
        match *event {
            Event::OrderPlaced { total } => self.orders.placed(total),
            Event::OrderMoved { from, to } => self.orders.moved(from, to),
            Event::Registration { system, result } => self.orders.registered(system, result),
            Event::Reconciled { system, finding } => self.orders.reconciled(system, finding),
            Event::Idempotency(result) => self.orders.keyed(result),
            Event::Fallback { system, kind, cause } => self.fallbacks.used(system, kind, cause),
            Event::FallbackFailed { system, kind } => self.fallbacks.failed(system, kind),
            Event::StaleServed { age } => self.fallbacks.stale(age),
            Event::CacheRead { system, hit } => self.fallbacks.cache_read(system, hit),
            Event::SharedCacheRead { hit } => self.fallbacks.shared_cache_read(hit),
            Event::TaskStep { kind, outcome } => self.tasks.step(kind, outcome),
            Event::TaskFinished { kind, outcome, age } => self.tasks.finished(kind, outcome, age),
            Event::TaskPoll => self.tasks.polled(),
            Event::Exchanged { ref server, method, status, failure, took } => {
                self.exchanges.ended(server, method, status, failure, took);
            }
            Event::Misconfigured { .. } => self.app.error("provider_misconfigured"),
            Event::Review { .. } => self.app.error("task_review"),
            Event::LateTruth { .. } => self.app.error("late_payment"),
            Event::KeysUnusable => self.app.error("keys_unusable"),
        }
    }
}
