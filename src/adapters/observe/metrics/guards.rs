//! What the guards tell as it happens. Beside the calls themselves (their own file): places in the
//! bulkheads, and retries.

use super::Metrics;
use super::families::{Families, WAIT};
use super::labels::DeadlineStage;
use crate::adapters::resilience::deadline::{LEAST, MARGIN};
use crate::adapters::resilience::observer::{
    BulkheadRejection, Observer, Outcome, Rejection, RetryOutcome, Transition,
};
use crate::core::domain::unavailable::System;
use prometheus::{HistogramVec, IntCounterVec};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Guards {
    waits: HistogramVec,
    rejected: IntCounterVec,
    rejections: IntCounterVec,
    retries: IntCounterVec,
    budget_exhausted: IntCounterVec,
}

impl Guards {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            waits: families.histogram(
                "bulkhead_wait_seconds",
                "Wait for a place in the bulkhead, of those who got one",
                &["system"],
                WAIT,
            ),
            rejected: families.counter(
                "bulkhead_rejected_total",
                "Calls that found no place in the bulkhead",
                &["system"],
            ),
            rejections: families.counter(
                "bulkhead_rejections_total",
                "Calls that found no place in the bulkhead, by reason",
                &["system", "reason"],
            ),
            retries: families.counter(
                "retry_attempts_total",
                "Wishes to try again, by what became of them",
                &["system", "outcome"],
            ),
            budget_exhausted: families.counter(
                "retry_budget_exhausted_total",
                "Retries that the system's budget did not allow",
                &["system"],
            ),
        };
        System::ALL.into_iter().for_each(|system| made.start_at_zero(system.as_str()));
        made
    }

    fn start_at_zero(&self, name: &str) {
        for reason in BulkheadRejection::ALL {
            self.rejections.with_label_values(&[name, reason.as_str()]);
        }
        for outcome in RetryOutcome::ALL {
            self.retries.with_label_values(&[name, outcome.as_str()]);
        }
        self.waits.with_label_values(&[name]);
        self.rejected.with_label_values(&[name]);
        self.budget_exhausted.with_label_values(&[name]);
    }
}

impl Observer for Metrics {
    fn called(
        &self,
        system: System,
        operation: &'static str,
        outcome: Outcome,
        elapsed: Duration,
        trace_id: Option<u128>,
    ) {
        self.calls.ended(system, operation, outcome, elapsed, trace_id);
        if outcome == Outcome::Ignored {
            self.http.deadline_passed(stage_after(elapsed));
        }
    }

    fn rejected(&self, system: System, reason: Rejection) {
        self.calls.rejected(system, reason);
    }

    fn would_reject(&self, system: System, reason: Rejection) {
        self.calls.would_reject(system, reason);
    }

    fn transition(&self, transition: &Transition) {
        self.calls.moved(transition);
        self.watch.heard(transition);
    }

    fn bulkhead_waited(&self, system: System, waited: Duration) {
        let waits = &self.guards.waits;
        waits.with_label_values(&[system.as_str()]).observe(waited.as_secs_f64());
    }

    fn bulkhead_rejected(&self, system: System, reason: BulkheadRejection) {
        let (guards, name) = (&self.guards, system.as_str());
        guards.rejected.with_label_values(&[name]).inc();
        guards.rejections.with_label_values(&[name, reason.as_str()]).inc();
    }

    fn retried(&self, system: System, outcome: RetryOutcome) {
        let (guards, name) = (&self.guards, system.as_str());
        guards.retries.with_label_values(&[name, outcome.as_str()]).inc();
        if outcome == RetryOutcome::Budget {
            guards.budget_exhausted.with_label_values(&[name]).inc();
        }
    }
}

/// A call is ignored when the caller's deadline ended it. One that was begun had at least this much
/// time, so what ended earlier was never begun.
fn stage_after(elapsed: Duration) -> DeadlineStage {
    if elapsed < LEAST - MARGIN { DeadlineStage::BeforeCall } else { DeadlineStage::InCall }
}
