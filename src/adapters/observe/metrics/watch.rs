//! What is read when somebody scrapes: the guards and the health probes as they stand at that
//! moment. A breaker is lazy, so a gauge written at its last change could be an hour wrong.

use super::families::Families;
use super::labels::INBOUND;
use crate::adapters::observe::systems::{Probed, SystemHealth};
use crate::adapters::resilience::breaker::{
    Breaker, BreakerMode, BreakerSnapshot, BreakerState, Transition,
};
use crate::adapters::resilience::semaphore::{BulkheadSnapshot, Semaphore};
use crate::core::domain::unavailable::System;
use prometheus::{CounterVec, GaugeVec, IntGaugeVec};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The states that `circuit_breaker_state_info` tells: what the breaker does, by whatever cause.
pub const BREAKER_STATES: [&str; 6] =
    ["closed", "open", "half_open", "forced_open", "forced_closed", "disabled"];

pub(super) struct Watched {
    gauges: Gauges,
    /// Also keeps two scrapes from counting the same open seconds twice.
    subjects: Mutex<Subjects>,
}

#[derive(Default)]
struct Subjects {
    guards: Vec<(Arc<Breaker>, Arc<Semaphore>)>,
    health: Vec<Arc<dyn SystemHealth>>,
    open_times: BTreeMap<System, OpenTime>,
}

#[derive(Debug)]
struct Gauges {
    state: IntGaugeVec,
    state_info: IntGaugeVec,
    mode: IntGaugeVec,
    window_calls: IntGaugeVec,
    window_failure_ratio: GaugeVec,
    window_slow_ratio: GaugeVec,
    open_seconds: CounterVec,
    probe_due: IntGaugeVec,
    concurrency_limit: IntGaugeVec,
    limit: IntGaugeVec,
    in_flight: IntGaugeVec,
    queue_depth: IntGaugeVec,
    health_up: IntGaugeVec,
    health_age: GaugeVec,
}

/// How long a breaker has been open.
#[derive(Debug, Default)]
struct OpenTime {
    generation: u64,
    before: Duration,
    since: Option<Instant>,
}

impl OpenTime {
    /// News may come out of order; the older one is then of a state that lasted no time.
    fn hear(&mut self, transition: &Transition) {
        if transition.generation < self.generation {
            return;
        }
        self.generation = transition.generation;
        self.before = self.total();
        self.since = (transition.to == BreakerState::Open).then(Instant::now);
    }

    fn total(&self) -> Duration {
        self.before + self.since.map(|since| since.elapsed()).unwrap_or_default()
    }
}

impl Watched {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let by_system = |name, help| families.gauge(name, help, &["system"]);
        let ratio = |name, help| families.ratio(name, help, &["system"]);
        let gauges = Gauges {
            state: by_system(
                "circuit_breaker_state",
                "Current state: 0=closed, 1=open, 2=half-open",
            ),
            state_info: families.gauge(
                "circuit_breaker_state_info",
                "What the breaker does: 1 for the state that holds, 0 for the others",
                &["system", "state"],
            ),
            mode: families.gauge(
                "circuit_breaker_mode",
                "The mode in force: 1 for it, 0 for the others",
                &["system", "mode"],
            ),
            window_calls: by_system("circuit_breaker_window_calls", "Calls in the window"),
            window_failure_ratio: ratio(
                "circuit_breaker_window_failure_ratio",
                "Share of failures in the window; NaN below the minimum of calls",
            ),
            window_slow_ratio: ratio(
                "circuit_breaker_window_slow_ratio",
                "Share of slow calls in the window; NaN below the minimum of calls",
            ),
            open_seconds: families.seconds_total(
                "circuit_breaker_open_seconds_total",
                "How long the breaker has been open",
                &["system"],
            ),
            probe_due: by_system(
                "circuit_breaker_probe_due",
                "Open, and the next call will probe: 0 or 1",
            ),
            concurrency_limit: families.gauge(
                "concurrency_limit",
                "What may run at the same time: requests inbound; of a system, the calls that it \
                 seems to bear, obeyed or not",
                &["scope"],
            ),
            limit: by_system("bulkhead_limit", "Calls that may run at the same time"),
            in_flight: by_system("bulkhead_in_flight", "Calls that run"),
            queue_depth: by_system("bulkhead_queue_depth", "Callers that wait for a place"),
            health_up: by_system(
                "external_health_up",
                "Whether the last health probe passed: 0 or 1; 0 before the first",
            ),
            health_age: ratio(
                "external_health_probe_age_seconds",
                "How old the last health probe is; NaN before the first",
            ),
        };
        for scope in [INBOUND].into_iter().chain(System::ALL.map(System::as_str)) {
            gauges.concurrency_limit.with_label_values(&[scope]);
        }
        Self { gauges, subjects: Mutex::default() }
    }

    fn subjects(&self) -> MutexGuard<'_, Subjects> {
        self.subjects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn inflight_limit(&self, limit: usize) {
        self.gauges.concurrency_limit.with_label_values(&[INBOUND]).set(whole(limit));
    }

    pub(super) fn guards(&self, breaker: Arc<Breaker>, semaphore: Arc<Semaphore>) {
        self.subjects().guards.push((breaker, semaphore));
    }

    pub(super) fn health(&self, health: Arc<dyn SystemHealth>) {
        self.subjects().health.push(health);
    }

    pub(super) fn heard(&self, system: System, transition: &Transition) {
        self.subjects().open_time(system).hear(transition);
    }

    /// Brings the gauges up to this moment.
    pub(super) fn look(&self) {
        let mut subjects = self.subjects();
        for (breaker, semaphore) in &subjects.guards {
            let name = breaker.system().as_str();
            self.gauges.show_breaker(name, &breaker.snapshot());
            self.gauges.show_bulkhead(name, &semaphore.snapshot());
        }
        for health in &subjects.health {
            self.gauges.show_health(health.system().as_str(), health.look());
        }
        let systems: Vec<System> = subjects.guards.iter().map(|(b, _)| b.system()).collect();
        for system in systems {
            let total = subjects.open_time(system).total().as_secs_f64();
            let counter = self.gauges.open_seconds.with_label_values(&[system.as_str()]);
            counter.inc_by((total - counter.get()).max(0.0));
        }
    }
}

impl Subjects {
    fn open_time(&mut self, system: System) -> &mut OpenTime {
        self.open_times.entry(system).or_default()
    }
}

impl Gauges {
    fn show_breaker(&self, name: &str, breaker: &BreakerSnapshot) {
        self.state.with_label_values(&[name]).set(match breaker.state {
            BreakerState::Closed => 0,
            BreakerState::Open => 1,
            BreakerState::HalfOpen => 2,
        });
        let doing = match breaker.mode {
            BreakerMode::Off => "disabled",
            BreakerMode::ForcedOpen | BreakerMode::ForcedClosed => breaker.mode.as_str(),
            BreakerMode::DryRun | BreakerMode::Enforce => breaker.state.label(),
        };
        for state in BREAKER_STATES {
            self.state_info.with_label_values(&[name, state]).set(i64::from(state == doing));
        }
        for mode in BreakerMode::ALL {
            let labels = [name, mode.as_str()];
            self.mode.with_label_values(&labels).set(i64::from(mode == breaker.mode));
        }
        let window = breaker.window;
        self.window_calls.with_label_values(&[name]).set(whole(window.calls));
        let told = |share: f64| if breaker.decidable { share } else { f64::NAN };
        self.window_failure_ratio.with_label_values(&[name]).set(told(window.failure_rate()));
        self.window_slow_ratio.with_label_values(&[name]).set(told(window.slow_rate()));
        self.probe_due.with_label_values(&[name]).set(i64::from(breaker.probe_due));
    }

    fn show_bulkhead(&self, name: &str, bulkhead: &BulkheadSnapshot) {
        self.concurrency_limit.with_label_values(&[name]).set(whole(bulkhead.found_limit));
        self.limit.with_label_values(&[name]).set(whole(bulkhead.limit));
        self.in_flight.with_label_values(&[name]).set(whole(bulkhead.in_flight));
        self.queue_depth.with_label_values(&[name]).set(whole(bulkhead.waiting));
    }

    fn show_health(&self, name: &str, probed: Probed) {
        // An age of 0 would say "just now"; a NaN is of no alert's interest.
        let (up, age) = match probed {
            Probed::NotYet => (0, f64::NAN),
            Probed::Up { age } => (1, age.as_secs_f64()),
            Probed::Down { age } => (0, age.as_secs_f64()),
        };
        self.health_up.with_label_values(&[name]).set(up);
        self.health_age.with_label_values(&[name]).set(age);
    }
}

fn whole(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("guards", &self.subjects().guards.len()).finish()
    }
}
