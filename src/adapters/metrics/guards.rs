//! What the guards of the partners tell as it happens: calls, refusals, changes of state, retries.

use super::Metrics;
use super::families::{CALL, Families, WAIT};
use super::labels::{DeadlineStage, Label, operations};
use super::tasks::unix_now;
use crate::adapters::resilience::breaker::State;
use crate::adapters::resilience::deadline::{LEAST, MARGIN};
use crate::adapters::resilience::observer::{
    BulkheadRejection, Observer, Outcome, Rejection, RetryOutcome, Transition,
};
use crate::core::ports::unavailable::System;
use prometheus::{GaugeVec, HistogramVec, IntCounterVec};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Guards {
    calls: IntCounterVec,
    durations: HistogramVec,
    rejected: IntCounterVec,
    would_reject: IntCounterVec,
    transitions: IntCounterVec,
    last_transition: GaugeVec,
    bulkhead_waits: HistogramVec,
    bulkhead_rejected: IntCounterVec,
    bulkhead_rejections: IntCounterVec,
    retries: IntCounterVec,
    budget_exhausted: IntCounterVec,
    deadline: IntCounterVec,
}

impl Guards {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            calls: families.counter(
                "circuit_breaker_calls_total",
                "Calls by how the breaker counted them; slow and success exclude one another",
                &["system", "operation", "outcome"],
            ),
            durations: families.histogram(
                "external_call_duration_seconds",
                "Duration of calls to a system, all attempts apart",
                &["system", "operation", "outcome"],
                CALL,
            ),
            rejected: families.counter(
                "circuit_breaker_rejected_total",
                "Calls that the breaker refused",
                &["system", "reason"],
            ),
            would_reject: families.counter(
                "circuit_breaker_would_reject_total",
                "Calls that the breaker would have refused, had it not run dry",
                &["system", "reason"],
            ),
            transitions: families.counter(
                "circuit_breaker_transitions_total",
                "Changes of the breaker's state",
                &["system", "from", "to"],
            ),
            last_transition: families.ratio(
                "circuit_breaker_last_transition_timestamp_seconds",
                "When the state last changed; 0 before the first change",
                &["system"],
            ),
            bulkhead_waits: families.histogram(
                "bulkhead_wait_seconds",
                "Wait for a place in the bulkhead, of those who got one",
                &["system"],
                WAIT,
            ),
            bulkhead_rejected: families.counter(
                "bulkhead_rejected_total",
                "Calls that found no place in the bulkhead",
                &["system"],
            ),
            bulkhead_rejections: families.counter(
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
            deadline: families.counter(
                "deadline_exceeded_total",
                "Work that the caller's own deadline ended",
                &["stage"],
            ),
        };
        for stage in DeadlineStage::ALL {
            made.deadline.with_label_values(&[stage.word()]);
        }
        System::ALL.into_iter().for_each(|system| made.start_at_zero(system));
        made
    }

    pub(super) fn deadline_passed(&self, stage: DeadlineStage) {
        self.deadline.with_label_values(&[stage.word()]).inc();
    }

    fn start_at_zero(&self, system: System) {
        let name = system.as_str();
        for operation in operations(system) {
            for outcome in Outcome::ALL {
                self.calls.with_label_values(&[name, *operation, outcome.as_str()]);
                self.durations.with_label_values(&[name, *operation, outcome.as_str()]);
            }
        }
        for reason in Rejection::ALL {
            self.rejected.with_label_values(&[name, reason.as_str()]);
            self.would_reject.with_label_values(&[name, reason.as_str()]);
        }
        for from in State::ALL {
            for to in State::ALL.into_iter().filter(|to| *to != from) {
                self.transitions.with_label_values(&[name, from.label(), to.label()]);
            }
        }
        for reason in BulkheadRejection::ALL {
            self.bulkhead_rejections.with_label_values(&[name, reason.as_str()]);
        }
        for outcome in RetryOutcome::ALL {
            self.retries.with_label_values(&[name, outcome.as_str()]);
        }
        self.last_transition.with_label_values(&[name]);
        self.bulkhead_waits.with_label_values(&[name]);
        self.bulkhead_rejected.with_label_values(&[name]);
        self.budget_exhausted.with_label_values(&[name]);
    }
}

/// A call is ignored when the caller's deadline ended it. One that was begun had at least this much
/// time, so what ended earlier was never begun.
fn ended_by_deadline(elapsed: Duration) -> DeadlineStage {
    if elapsed < LEAST - MARGIN { DeadlineStage::BeforeCall } else { DeadlineStage::InCall }
}

impl Observer for Metrics {
    fn called(&self, system: System, operation: &'static str, outcome: Outcome, elapsed: Duration) {
        let labels = [system.as_str(), operation, outcome.as_str()];
        self.guards.calls.with_label_values(&labels).inc();
        self.guards.durations.with_label_values(&labels).observe(elapsed.as_secs_f64());
        if outcome == Outcome::Ignored {
            self.guards.deadline_passed(ended_by_deadline(elapsed));
        }
    }

    fn rejected(&self, system: System, reason: Rejection) {
        self.guards.rejected.with_label_values(&[system.as_str(), reason.as_str()]).inc();
    }

    fn would_reject(&self, system: System, reason: Rejection) {
        self.guards.would_reject.with_label_values(&[system.as_str(), reason.as_str()]).inc();
    }

    fn transition(&self, transition: &Transition) {
        let name = transition.system.as_str();
        let labels = [name, transition.from.label(), transition.to.label()];
        self.guards.transitions.with_label_values(&labels).inc();
        self.guards.last_transition.with_label_values(&[name]).set(unix_now());
        self.watch.heard(transition);
    }

    fn bulkhead_waited(&self, system: System, waited: Duration) {
        let family = &self.guards.bulkhead_waits;
        family.with_label_values(&[system.as_str()]).observe(waited.as_secs_f64());
    }

    fn bulkhead_rejected(&self, system: System, reason: BulkheadRejection) {
        let (guards, name) = (&self.guards, system.as_str());
        guards.bulkhead_rejected.with_label_values(&[name]).inc();
        guards.bulkhead_rejections.with_label_values(&[name, reason.as_str()]).inc();
    }

    fn retried(&self, system: System, outcome: RetryOutcome) {
        let (guards, name) = (&self.guards, system.as_str());
        guards.retries.with_label_values(&[name, outcome.as_str()]).inc();
        if outcome == RetryOutcome::Budget {
            guards.budget_exhausted.with_label_values(&[name]).inc();
        }
    }
}
