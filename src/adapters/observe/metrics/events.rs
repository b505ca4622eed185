//! What the core, the adapters and the door tell, sorted by whom it concerns.

use super::series::Metrics;
use crate::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use crate::adapters::observe::traffic::{
    ConnectionEvent, Priority, ServedRequest, ShedReason, Traffic,
};
use crate::core::ports::events::{Event, Events};

impl Events for Metrics {
    fn record(&self, event: &Event) {
        match *event {
            Event::OrderPlaced { total } => self.orders.placed(total),
            Event::OrderMoved { from, to } => self.orders.moved(from, to),
            Event::Registration { system, result } => self.payments.registered(system, result),
            Event::Reconciled { system, finding } => self.payments.reconciled(system, finding),
            Event::Fallback { system, kind, cause } => self.fallbacks.used(system, kind, cause),
            Event::StaleServed { age } => self.fallbacks.stale(age),
            Event::TaskStep { kind, outcome } => self.tasks.step(kind, outcome),
            Event::TaskFinished { kind, outcome, age } => self.tasks.finished(kind, outcome, age),
            Event::Review { kind } => {
                self.tasks.reviewed(kind);
                self.app.error("task_review");
            }
            Event::LateTruth { system } => {
                self.payments.came_late(system);
                self.app.error("late_payment");
            }
            Event::StrangeStatus { system } => self.payments.told_strangely(system),
            Event::Callback { system, outcome } => self.payments.called_back(system, outcome),
            Event::Idempotency(result) => self.orders.keyed(result),
            Event::WebhookAttempt { outcome, took } => self.webhooks.attempted(outcome, took),
            Event::WebhookDisabled => self.webhooks.gone(),
            Event::WebhookBacklog(backlog) => self.webhooks.show(backlog),
        }
    }
}

impl AdapterEvents for Metrics {
    fn tell(&self, event: &AdapterEvent) {
        match *event {
            AdapterEvent::Exchanged { ref server, method, status, failure, took } => {
                self.exchanges.ended(server, method, status, failure, took);
            }
            AdapterEvent::CacheRead { system, hit } => self.fallbacks.cache_read(system, hit),
            AdapterEvent::SharedCacheRead { hit } => self.fallbacks.shared_cache_read(hit),
            AdapterEvent::FellBackToCache { system, cause } => {
                self.fallbacks.cache_used(system, cause);
            }
            AdapterEvent::NothingCached { system } => self.fallbacks.nothing_cached(system),
            AdapterEvent::Misconfigured { system } => {
                self.calls.misconfigured(system);
                self.app.error("provider_misconfigured");
            }
            AdapterEvent::RowSetAside => self.app.error("row_unreadable"),
            AdapterEvent::TaskPoll => self.tasks.polled(),
            AdapterEvent::KeysUnusable => self.app.error("keys_unusable"),
        }
    }
}

impl Traffic for Metrics {
    fn began(&self, method: &'static str) {
        self.http.began(method);
    }

    fn ended(&self, request: &ServedRequest<'_>) {
        self.http.ended(request);
        if let Some(code) = request.code {
            self.app.error(code);
        }
    }

    fn shed(&self, priority: Priority, reason: ShedReason) {
        self.http.shed(priority, reason);
    }

    fn inbound_limit(&self, limit: usize) {
        self.watch.inflight_limit(limit);
    }

    fn checked(&self, check: &'static str, ready: bool) {
        self.http.checked(check, ready);
    }

    fn connection(&self, event: ConnectionEvent) {
        self.clients.changed(event);
    }
}
