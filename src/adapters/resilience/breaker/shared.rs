//! What stands behind a breaker and can be common to many: its rules, the clock, the mode in force,
//! and whoever listens.

use super::config::{BreakerConfig, SlowAs};
use super::machine::Rejected;
use super::mode::{Switch, in_canary};
use super::rules::Rules;
use super::state::{BreakerMode, BreakerRejection, Transition};
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::observer::{Observer, tell};
use crate::adapters::resilience::settings::InvalidSetting;
use crate::core::domain::unavailable::{NoAnswer, Shed, System};
use std::sync::Arc;
use std::time::Duration;

/// What all breakers of one kind have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub system: System,
    pub rules: Rules,
    pub slow_as: SlowAs,
    pub slow_call_threshold: Duration,
    pub slow_call_rate: f64,
    pub mode: Switch,
    pub clock: MonotonicClock,
    observer: Arc<dyn Observer>,
}

impl Shared {
    pub(super) fn new(
        system: System,
        config: &BreakerConfig,
        clock: MonotonicClock,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Vec<InvalidSetting>> {
        let invalid = config.validate();
        if !invalid.is_empty() {
            return Err(invalid);
        }
        let enforces = in_canary(&config.instance_id, config.canary_percent);
        let mode = if config.mode == BreakerMode::Enforce && !enforces {
            BreakerMode::DryRun
        } else {
            config.mode
        };
        Ok(Self {
            system,
            rules: Rules::of(config),
            slow_as: config.slow_as,
            slow_call_threshold: config.slow_call_threshold,
            slow_call_rate: config.slow_call_rate,
            clock,
            mode: Switch::new(mode),
            observer,
        })
    }

    /// The mode in force.
    #[inline]
    pub(super) fn mode(&self) -> BreakerMode {
        self.mode_and_rest().0
    }

    /// The mode in force, and how long it will last if it has an end.
    #[inline]
    pub(super) fn mode_and_rest(&self) -> (BreakerMode, Option<Duration>) {
        let (mode, left) = self.mode.read(|| self.clock.now_millis());
        (mode, left.map(Duration::from_millis))
    }

    #[inline]
    pub(super) fn tell(&self, news: impl FnOnce(&dyn Observer)) {
        tell(&*self.observer, news);
    }

    /// The only place where a change of state is told: to the log and to the observer, after the
    /// swap that made it visible, by the one thread whose swap it was.
    #[cold]
    pub(super) fn announce(&self, transition: &Transition) {
        tracing::warn!(
            system = %self.system,
            prev_state = transition.from.as_str(),
            new_state = transition.to.as_str(),
            failure_rate = transition.failure_rate(),
            "circuit breaker state changed"
        );
        self.tell(|observer| observer.transition(self.system, transition));
    }
}

impl From<Rejected> for NoAnswer {
    fn from(rejected: Rejected) -> Self {
        let shed = match rejected.reason {
            BreakerRejection::Open => Shed::BreakerOpen,
            BreakerRejection::HalfOpenFull => Shed::ProbesTaken,
            BreakerRejection::Forced => Shed::ForcedOpen,
        };
        Self { cause: shed.into(), retry_after: rejected.retry_after }
    }
}
