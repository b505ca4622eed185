//! What stands behind a breaker and can be common to many: its rules, the clock, the mode in force,
//! and whoever listens.

use super::config::{BreakerConfig, SlowAs};
use super::machine::{Change, Refusal, World};
use super::mode::{Mode, Switch, in_canary};
use super::rules::{Rules, Tally};
use crate::adapters::resilience::clock::Clock;
use crate::adapters::resilience::observer::{Observer, Rejection, Transition, tell};
use crate::adapters::resilience::settings::Fault;
use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Shed, System};
use std::sync::Arc;
use std::time::Duration;

/// When nobody knows how long a probe will take.
pub(super) const PROBE_HINT: Duration = Duration::from_secs(1);

/// What all breakers of one kind have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub system: System,
    pub rules: Rules,
    pub slow_as: SlowAs,
    pub slow_call_threshold: Duration,
    pub slow_call_rate: f64,
    pub mode: Switch,
    clock: Clock,
    observer: Arc<dyn Observer>,
}

impl Shared {
    pub(super) fn new(
        system: System,
        config: &BreakerConfig,
        clock: Clock,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Vec<Fault>> {
        let faults = config.validate();
        if !faults.is_empty() {
            return Err(faults);
        }
        let enforces = in_canary(&config.instance_id, config.canary_percent);
        let mode =
            if config.mode == Mode::Enforce && !enforces { Mode::DryRun } else { config.mode };
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

    #[inline]
    pub(super) fn tell(&self, news: impl FnOnce(&dyn Observer)) {
        tell(&*self.observer, news);
    }

    #[cold]
    pub(super) fn announce(&self, change: Change) {
        let Tally { calls, failures, slow } = change.tally;
        let transition = Transition {
            system: self.system,
            from: change.from,
            to: change.to,
            failure_rate: rate(failures.max(slow), calls),
            generation: u32::try_from(change.generation).unwrap_or(u32::MAX),
        };
        tracing::warn!(
            system = %self.system,
            prev_state = change.from.as_str(),
            new_state = change.to.as_str(),
            failure_rate = transition.failure_rate,
            "circuit breaker state changed"
        );
        self.tell(|observer| observer.transition(&transition));
    }
}

impl World for Shared {
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now_nanos()
    }

    #[inline]
    fn now_millis(&self) -> u64 {
        self.clock.now_millis()
    }

    fn chance(&self) -> u64 {
        fastrand::u64(0..1_000_000)
    }
}

impl Refusal {
    pub(super) const fn reason(self) -> Rejection {
        match self {
            Self::Open(_) => Rejection::Open,
            Self::ProbesTaken | Self::Returning(_) => Rejection::HalfOpenFull,
        }
    }

    pub(super) const fn retry_after(self) -> Duration {
        match self {
            Self::Open(left) => left,
            Self::ProbesTaken => PROBE_HINT,
            Self::Returning(left) => left,
        }
    }
}

impl From<Refusal> for NoAnswer {
    fn from(refusal: Refusal) -> Self {
        let cause = match refusal {
            Refusal::Open(_) => Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen)),
            Refusal::ProbesTaken | Refusal::Returning(_) => {
                Cause::NotExecuted(NotExecuted::Shed(Shed::ProbesTaken))
            }
        };
        Self { cause, retry_after: Some(refusal.retry_after()) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a window")]
pub(super) fn rate(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
