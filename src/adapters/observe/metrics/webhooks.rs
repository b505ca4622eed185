//! Webhooks: what becomes of attempts, and what waits.

use super::families::{CALL, Families};
use crate::core::ports::events::{WebhookBacklog, WebhookOutcome};
use prometheus::{GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Webhooks {
    attempts: IntCounterVec,
    took: HistogramVec,
    disabled: IntCounterVec,
    endpoints: IntGaugeVec,
    pending: IntGaugeVec,
    oldest: GaugeVec,
}

impl Webhooks {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            attempts: families.counter(
                "webhook_attempts_total",
                "Attempts to deliver a webhook, by what became of it",
                &["outcome"],
            ),
            took: families.histogram(
                "webhook_attempt_duration_seconds",
                "Attempts to deliver a webhook",
                &["outcome"],
                CALL,
            ),
            disabled: families.counter(
                "webhook_endpoints_gone_total",
                "Endpoints that answered 410 and were disabled",
                &[],
            ),
            endpoints: families.gauge(
                "webhook_endpoints",
                "Registered endpoints, by whether anything is sent to them",
                &["state"],
            ),
            pending: families.gauge(
                "webhook_deliveries_pending",
                "Deliveries that wait for their first or next attempt",
                &[],
            ),
            oldest: families.ratio(
                "webhook_oldest_pending_age_seconds",
                "Since the oldest waiting delivery was first to be sent; 0 when none waits",
                &[],
            ),
        };
        for outcome in WebhookOutcome::ALL {
            made.attempts.with_label_values(&[outcome.word()]);
            made.took.with_label_values(&[outcome.word()]);
        }
        made.disabled.with_label_values(&[] as &[&str]);
        made.show(WebhookBacklog::default());
        made
    }

    pub(super) fn attempted(&self, outcome: WebhookOutcome, took: Duration) {
        self.attempts.with_label_values(&[outcome.word()]).inc();
        self.took.with_label_values(&[outcome.word()]).observe(took.as_secs_f64());
    }

    pub(super) fn gone(&self) {
        self.disabled.with_label_values(&[] as &[&str]).inc();
    }

    pub(super) fn show(&self, backlog: WebhookBacklog) {
        let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
        self.endpoints.with_label_values(&["enabled"]).set(number(backlog.enabled));
        self.endpoints.with_label_values(&["disabled"]).set(number(backlog.disabled));
        self.pending.with_label_values(&[] as &[&str]).set(number(backlog.pending));
        let oldest = backlog.oldest.unwrap_or_default().as_secs_f64();
        self.oldest.with_label_values(&[] as &[&str]).set(oldest);
    }
}
