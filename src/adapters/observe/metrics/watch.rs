//! What is read when somebody scrapes: the guards and the health probes as they stand at that
//! moment. A breaker is lazy, so a gauge written at its last change could be an hour wrong.

use super::Metrics;
use super::families::Families;
use crate::adapters::observe::systems::{Probed, SystemHealth};
use crate::adapters::resilience::breaker::{Breaker, Mode, Snapshot, State};
use crate::adapters::resilience::observer::Transition;
use crate::adapters::resilience::semaphore::Semaphore;
use crate::core::domain::unavailable::System;
use prometheus::{CounterVec, GaugeVec, IntGaugeVec};
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
    open_times: [OpenTime; System::ALL.len()],
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
    limit: IntGaugeVec,
    in_flight: IntGaugeVec,
    queue_depth: IntGaugeVec,
    health_up: IntGaugeVec,
    health_age: GaugeVec,
}

/// How long a breaker has been open.
#[derive(Debug, Default)]
struct OpenTime {
    generation: u32,
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
        self.since = (transition.to == State::Open).then(Instant::now);
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
        Self { gauges, subjects: Mutex::default() }
    }

    fn subjects(&self) -> MutexGuard<'_, Subjects> {
        self.subjects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn heard(&self, transition: &Transition) {
        self.subjects().open_time(transition.system).hear(transition);
    }

    /// Brings the gauges up to this moment.
    pub(super) fn look(&self) {
        let mut subjects = self.subjects();
        for (breaker, semaphore) in &subjects.guards {
            let name = breaker.system().as_str();
            self.gauges.show_breaker(name, &breaker.snapshot());
            self.gauges.show_bulkhead(name, semaphore);
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
        &mut self.open_times[system as usize]
    }
}

impl Gauges {
    fn show_breaker(&self, name: &str, breaker: &Snapshot) {
        self.state.with_label_values(&[name]).set(match breaker.state {
            State::Closed => 0,
            State::Open => 1,
            State::HalfOpen => 2,
        });
        let doing = match breaker.mode {
            Mode::Off => "disabled",
            Mode::ForcedOpen | Mode::ForcedClosed => breaker.mode.as_str(),
            Mode::DryRun | Mode::Enforce => breaker.state.label(),
        };
        for state in BREAKER_STATES {
            self.state_info.with_label_values(&[name, state]).set(i64::from(state == doing));
        }
        for mode in Mode::ALL {
            let labels = [name, mode.as_str()];
            self.mode.with_label_values(&labels).set(i64::from(mode == breaker.mode));
        }
        self.window_calls.with_label_values(&[name]).set(whole(breaker.calls));
        let share = |rate: Option<f64>| rate.unwrap_or(f64::NAN);
        self.window_failure_ratio.with_label_values(&[name]).set(share(breaker.failure_rate));
        self.window_slow_ratio.with_label_values(&[name]).set(share(breaker.slow_rate));
        self.probe_due.with_label_values(&[name]).set(i64::from(breaker.probe_due));
    }

    fn show_bulkhead(&self, name: &str, semaphore: &Semaphore) {
        self.limit.with_label_values(&[name]).set(whole(semaphore.limit()));
        self.in_flight.with_label_values(&[name]).set(whole(semaphore.in_flight()));
        self.queue_depth.with_label_values(&[name]).set(whole(semaphore.waiting()));
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

impl Metrics {
    /// Shows these guards at every scrape from now on.
    pub fn watch(&self, breaker: Arc<Breaker>, semaphore: Arc<Semaphore>) {
        self.watch.subjects().guards.push((breaker, semaphore));
    }

    /// Shows what these probes last saw at every scrape from now on.
    pub fn watch_health(&self, health: Arc<dyn SystemHealth>) {
        self.watch.subjects().health.push(health);
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("guards", &self.subjects().guards.len()).finish()
    }
}
