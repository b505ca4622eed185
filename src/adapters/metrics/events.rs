//! What the core tells: orders, registrations, fallbacks, tasks.

use super::Metrics;
use super::families::{AGE, AMOUNT, Families};
use super::labels::{self, CAUSES, Label};
use super::tasks::unix_now;
use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::domain::registration::Provider;
use crate::core::domain::task::TaskKind;
use crate::core::ports::events::{
    Event, Events, FallbackKind, IdempotencyResult, ReconcileFinding, RegistrationResult,
    StepOutcome,
};
use crate::core::ports::unavailable::System;
use prometheus::{GaugeVec, HistogramVec, IntCounterVec};

#[derive(Debug)]
pub(super) struct Happenings {
    orders: IntCounterVec,
    amounts: HistogramVec,
    moves: IntCounterVec,
    registered: IntCounterVec,
    reconciled: IntCounterVec,
    idempotency: IntCounterVec,
    fallbacks: IntCounterVec,
    fallbacks_failed: IntCounterVec,
    stale_age: HistogramVec,
    cache_hits: IntCounterVec,
    cache_misses: IntCounterVec,
    task_steps: IntCounterVec,
    task_ages: HistogramVec,
    task_poll: GaugeVec,
}

impl Happenings {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            orders: families.counter("orders_created_total", "Orders placed", &[]),
            amounts: families.histogram(
                "order_amount_rub",
                "Totals of placed orders, in roubles",
                &[],
                AMOUNT,
            ),
            moves: families.counter(
                "order_transitions_total",
                "Changes of an order's status",
                &["from", "to"],
            ),
            registered: families.counter(
                "payments_registered_total",
                "Ends of registering a payment, by the system asked last",
                &["system", "result"],
            ),
            reconciled: families.counter(
                "payments_reconciled_total",
                "Unknown outcomes that were found out",
                &["system", "finding"],
            ),
            idempotency: families.counter(
                "idempotency_total",
                "Requests with an Idempotency-Key",
                &["result"],
            ),
            fallbacks: families.counter(
                "fallback_total",
                "Answers given by other means, by the cause of the missing one",
                &["system", "kind", "reason"],
            ),
            fallbacks_failed: families.counter(
                "fallback_failed_total",
                "Fallbacks that had nothing to give",
                &["system", "kind"],
            ),
            stale_age: families.histogram(
                "stale_response_age_seconds",
                "Age of answers served from a cache because the system could not answer",
                &["system"],
                AGE,
            ),
            cache_hits: families.counter(
                "cache_hits_total",
                "Reads answered by a fresh entry",
                &["cache"],
            ),
            cache_misses: families.counter(
                "cache_misses_total",
                "Reads that had to ask the system",
                &["cache"],
            ),
            task_steps: families.counter(
                "task_attempts_total",
                "Runs of tasks, by what became of them",
                &["kind", "outcome"],
            ),
            task_ages: families.histogram(
                "task_completion_seconds",
                "From a task's creation to its end",
                &["kind", "outcome"],
                AGE,
            ),
            task_poll: families.ratio(
                "task_poll_last_success_timestamp_seconds",
                "When the workers last looked for due tasks; 0 before the first time",
                &[],
            ),
        };
        made.start_at_zero();
        made
    }

    fn start_at_zero(&self) {
        self.orders.with_label_values::<&str>(&[]);
        self.amounts.with_label_values::<&str>(&[]);
        self.task_poll.with_label_values::<&str>(&[]);
        self.stale_age.with_label_values(&[System::Catalog.as_str()]);
        self.cache_hits.with_label_values(&[System::Catalog.as_str()]);
        self.cache_misses.with_label_values(&[System::Catalog.as_str()]);
        for from in OrderStatus::ALL {
            for to in OrderStatus::ALL.into_iter().filter(|to| *to != from) {
                self.moves.with_label_values(&[from.as_str(), to.as_str()]);
            }
        }
        for result in IdempotencyResult::ALL {
            self.idempotency.with_label_values(&[result.word()]);
        }
        for provider in Provider::ALL {
            for result in RegistrationResult::ALL {
                self.registered.with_label_values(&[provider.as_str(), result.word()]);
            }
            for finding in ReconcileFinding::ALL {
                self.reconciled.with_label_values(&[provider.as_str(), finding.word()]);
            }
        }
        for system in System::ALL {
            for kind in labels::fallbacks(system) {
                self.fallbacks_failed.with_label_values(&[system.as_str(), kind.word()]);
                for cause in CAUSES.into_iter().filter(|cause| can_lead_to(*kind, cause)) {
                    self.fallbacks.with_label_values(&[
                        system.as_str(),
                        kind.word(),
                        cause.as_str(),
                    ]);
                }
            }
        }
        for kind in TaskKind::ALL {
            for outcome in StepOutcome::ALL {
                self.task_steps.with_label_values(&[kind.as_str(), outcome.word()]);
            }
            for ending in labels::task_endings() {
                self.task_ages.with_label_values(&[kind.as_str(), ending]);
            }
        }
    }

    fn order_placed(&self, total: Money) {
        self.orders.with_label_values::<&str>(&[]).inc();
        self.amounts.with_label_values::<&str>(&[]).observe(roubles(total));
    }
}

impl Events for Metrics {
    fn record(&self, event: &Event) {
        let to = &self.events;
        match *event {
            Event::OrderPlaced { total } => to.order_placed(total),
            Event::OrderMoved { from, to: next } => {
                to.moves.with_label_values(&[from.as_str(), next.as_str()]).inc();
            }
            Event::Registration { system, result } => {
                to.registered.with_label_values(&[system.as_str(), result.word()]).inc();
            }
            Event::Reconciled { system, finding } => {
                to.reconciled.with_label_values(&[system.as_str(), finding.word()]).inc();
            }
            Event::Fallback { system, kind, cause } => {
                let labels = [system.as_str(), kind.word(), cause.as_str()];
                to.fallbacks.with_label_values(&labels).inc();
            }
            Event::FallbackFailed { system, kind } => {
                to.fallbacks_failed.with_label_values(&[system.as_str(), kind.word()]).inc();
            }
            Event::StaleServed { age } => {
                let family = &to.stale_age;
                family.with_label_values(&[System::Catalog.as_str()]).observe(age.as_secs_f64());
            }
            Event::CacheRead { system, hit } => {
                let family = if hit { &to.cache_hits } else { &to.cache_misses };
                family.with_label_values(&[system.as_str()]).inc();
            }
            Event::TaskStep { kind, outcome } => {
                to.task_steps.with_label_values(&[kind.as_str(), outcome.word()]).inc();
            }
            Event::TaskFinished { kind, outcome, age } => {
                let family = &to.task_ages;
                family.with_label_values(&[kind.as_str(), outcome]).observe(age.as_secs_f64());
            }
            Event::TaskPoll => to.task_poll.with_label_values::<&str>(&[]).set(unix_now()),
            Event::Idempotency(result) => {
                to.idempotency.with_label_values(&[result.word()]).inc();
            }
            Event::Misconfigured { .. } => self.app.error("provider_misconfigured"),
            Event::Review { .. } => self.app.error("task_review"),
            Event::LateTruth { .. } => self.app.error("late_payment"),
        }
    }
}

/// Going to another provider is only for what certainly had no effect.
fn can_lead_to(kind: FallbackKind, cause: &crate::core::ports::unavailable::Cause) -> bool {
    match kind {
        FallbackKind::Failover => cause.not_executed(),
        FallbackKind::Cached | FallbackKind::Default | FallbackKind::Queued => true,
    }
}

/// For a histogram only: the sum of many orders need not be exact to the kopeck.
fn roubles(total: Money) -> f64 {
    let (whole, rest) = (total.minor() / 100, total.minor() % 100);
    #[expect(clippy::cast_precision_loss, reason = "a histogram's value")]
    let roubles = whole as f64 + rest as f64 / 100.0;
    roubles
}
