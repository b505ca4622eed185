//! How the guards before a system stand, as operators are shown.

use crate::adapters::observe::systems::SystemView;
use crate::adapters::resilience::breaker::BreakerSnapshot;
use crate::adapters::resilience::semaphore::BulkheadSnapshot;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Serialize)]
pub struct SystemBody {
    system: &'static str,
    breaker: BreakerBody,
    bulkhead: BulkheadBody,
    config: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
struct BreakerBody {
    state: &'static str,
    mode: &'static str,
    /// When the configured mode returns by itself; null when it is in force, or nothing will end this.
    mode_ends_in_ms: Option<u64>,
    window: WindowBody,
    retry_after_ms: u64,
}

#[derive(Debug, Serialize)]
struct WindowBody {
    calls: u64,
    failures: u64,
    slow: u64,
    failure_rate: f64,
    slow_rate: f64,
}

#[derive(Debug, Serialize)]
struct BulkheadBody {
    max_concurrent: usize,
    in_flight: usize,
    waiting: usize,
    rejected_total: u64,
}

impl SystemBody {
    pub fn of(view: SystemView) -> Self {
        let SystemView { system, breaker, bulkhead, config } = view;
        Self {
            system: system.as_str(),
            breaker: BreakerBody::of(&breaker),
            bulkhead: BulkheadBody::of(&bulkhead),
            config: config.into_iter().collect(),
        }
    }
}

impl BreakerBody {
    fn of(breaker: &BreakerSnapshot) -> Self {
        let window = breaker.window;
        Self {
            state: breaker.state.label(),
            mode: breaker.mode.as_str(),
            mode_ends_in_ms: breaker.mode_left.map(milliseconds),
            window: WindowBody {
                calls: window.calls,
                failures: window.failures,
                slow: window.slow,
                failure_rate: window.failure_rate(),
                slow_rate: window.slow_rate(),
            },
            retry_after_ms: milliseconds(breaker.retry_after.unwrap_or_default()),
        }
    }
}

impl BulkheadBody {
    fn of(bulkhead: &BulkheadSnapshot) -> Self {
        Self {
            max_concurrent: bulkhead.limit,
            in_flight: bulkhead.in_flight,
            waiting: bulkhead.waiting,
            rejected_total: bulkhead.rejected,
        }
    }
}

pub fn milliseconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}
