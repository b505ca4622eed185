//! Calls to the systems outside: how the breakers counted them, and what they refused.

use super::exemplars::{Exemplars, Traced};
use super::families::{CALL, Families, unix_now};
use super::labels::operations;
use crate::adapters::resilience::breaker::{BreakerRejection, BreakerState, Transition};
use crate::adapters::resilience::observer::CallOutcome;
use crate::core::domain::unavailable::System;
use prometheus::{GaugeVec, IntCounterVec};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Calls {
    calls: IntCounterVec,
    durations: Traced,
    rejected: IntCounterVec,
    would_reject: IntCounterVec,
    transitions: IntCounterVec,
    last_transition: GaugeVec,
    misconfigured: IntCounterVec,
}

impl Calls {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            calls: families.counter(
                "circuit_breaker_calls_total",
                "Calls by how the breaker counted them; slow and success exclude one another",
                &["system", "operation", "outcome"],
            ),
            durations: Traced::new(
                families,
                "external_call_duration_seconds",
                "Duration of calls to a system, each attempt for itself",
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
            misconfigured: families.counter(
                "system_misconfigured_total",
                "Answers that refuse our address, credentials or account",
                &["system"],
            ),
        };
        System::ALL.into_iter().for_each(|system| made.start_at_zero(system));
        made
    }

    fn start_at_zero(&self, system: System) {
        let name = system.as_str();
        for operation in operations(system) {
            for outcome in CallOutcome::ALL {
                self.calls.with_label_values(&[name, *operation, outcome.as_str()]);
                self.durations.start_at_zero(&[name, operation, outcome.as_str()]);
            }
        }
        for reason in BreakerRejection::ALL {
            self.rejected.with_label_values(&[name, reason.as_str()]);
            self.would_reject.with_label_values(&[name, reason.as_str()]);
        }
        for from in BreakerState::ALL {
            for to in BreakerState::ALL.into_iter().filter(|to| *to != from) {
                self.transitions.with_label_values(&[name, from.label(), to.label()]);
            }
        }
        self.last_transition.with_label_values(&[name]);
        self.misconfigured.with_label_values(&[name]);
    }

    pub(super) fn ended(
        &self,
        system: System,
        operation: &str,
        outcome: CallOutcome,
        elapsed: Duration,
        trace_id: Option<u128>,
    ) {
        let labels = [system.as_str(), operation, outcome.as_str()];
        self.calls.with_label_values(&labels).inc();
        self.durations.observe(&labels, elapsed.as_secs_f64(), trace_id);
    }

    pub(super) fn exemplars(&self) -> Arc<Exemplars> {
        self.durations.exemplars()
    }

    pub(super) fn rejected(&self, system: System, reason: BreakerRejection) {
        self.rejected.with_label_values(&[system.as_str(), reason.as_str()]).inc();
    }

    pub(super) fn would_reject(&self, system: System, reason: BreakerRejection) {
        self.would_reject.with_label_values(&[system.as_str(), reason.as_str()]).inc();
    }

    pub(super) fn misconfigured(&self, system: System) {
        self.misconfigured.with_label_values(&[system.as_str()]).inc();
    }

    pub(super) fn moved(&self, system: System, transition: &Transition) {
        let name = system.as_str();
        let labels = [name, transition.from.label(), transition.to.label()];
        self.transitions.with_label_values(&labels).inc();
        self.last_transition.with_label_values(&[name]).set(unix_now());
    }
}
