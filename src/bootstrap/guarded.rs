//! The guards of one system, as the operator's port knows them.

use crate::adapters::observe::systems::{
    BreakerMode, BreakerState, BreakerView, BulkheadView, SystemControl, SystemView, WindowView,
};
use crate::adapters::resilience::breaker::{Breaker, Mode, State};
use crate::adapters::resilience::semaphore::Semaphore;
use crate::core::domain::unavailable::System;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub struct GuardedSystem {
    pub system: System,
    pub breaker: Arc<Breaker>,
    pub semaphore: Arc<Semaphore>,
    /// Names without the system's prefix.
    pub settings: Vec<(String, String)>,
}

impl SystemControl for GuardedSystem {
    fn system(&self) -> System {
        self.system
    }

    fn describe(&self) -> SystemView {
        let seen = self.breaker.snapshot();
        SystemView {
            system: self.system,
            breaker: BreakerView {
                state: match seen.state {
                    State::Closed => BreakerState::Closed,
                    State::Open => BreakerState::Open,
                    State::HalfOpen => BreakerState::HalfOpen,
                },
                mode: shown(seen.mode),
                mode_left: seen.mode_left,
                window: WindowView {
                    calls: seen.calls,
                    failures: seen.failures,
                    slow: seen.slow,
                    failure_rate: share(seen.failures, seen.calls),
                    slow_rate: share(seen.slow, seen.calls),
                },
                retry_after: seen.retry_after.unwrap_or_default(),
            },
            bulkhead: BulkheadView {
                max_concurrent: self.semaphore.limit(),
                in_flight: self.semaphore.in_flight(),
                waiting: self.semaphore.waiting(),
                rejected_total: self.semaphore.rejected(),
            },
            config: self.settings.clone(),
        }
    }

    fn set_mode(&self, mode: BreakerMode, ttl: Option<Duration>) {
        let mode = match mode {
            BreakerMode::Off => Mode::Off,
            BreakerMode::DryRun => Mode::DryRun,
            BreakerMode::Enforce => Mode::Enforce,
            BreakerMode::ForcedOpen => Mode::ForcedOpen,
            BreakerMode::ForcedClosed => Mode::ForcedClosed,
        };
        self.breaker.set_mode(mode, ttl);
    }

    fn reset(&self) {
        self.breaker.reset();
    }
}

const fn shown(mode: Mode) -> BreakerMode {
    match mode {
        Mode::Off => BreakerMode::Off,
        Mode::DryRun => BreakerMode::DryRun,
        Mode::Enforce => BreakerMode::Enforce,
        Mode::ForcedOpen => BreakerMode::ForcedOpen,
        Mode::ForcedClosed => BreakerMode::ForcedClosed,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a window holds a few thousand calls at most")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
