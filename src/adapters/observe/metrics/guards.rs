//! What the guards tell as it happens, beside the calls themselves (their own file): permits of the
//! bulkheads, and retries.

use super::families::{Families, WAIT};
use crate::adapters::resilience::observer::{BulkheadRejection, RetryOutcome};
use crate::core::domain::unavailable::System;
use prometheus::{HistogramVec, IntCounterVec};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct GuardSeries {
    waits: HistogramVec,
    rejected: IntCounterVec,
    rejections: IntCounterVec,
    retries: IntCounterVec,
    budget_exhausted: IntCounterVec,
}

impl GuardSeries {
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

    pub(super) fn waited(&self, system: System, waited: Duration) {
        self.waits.with_label_values(&[system.as_str()]).observe(waited.as_secs_f64());
    }

    pub(super) fn rejected(&self, system: System, reason: BulkheadRejection) {
        self.rejected.with_label_values(&[system.as_str()]).inc();
        self.rejections.with_label_values(&[system.as_str(), reason.as_str()]).inc();
    }

    pub(super) fn retried(&self, system: System, outcome: RetryOutcome) {
        self.retries.with_label_values(&[system.as_str(), outcome.as_str()]).inc();
        if outcome == RetryOutcome::Budget {
            self.budget_exhausted.with_label_values(&[system.as_str()]).inc();
        }
    }
}
