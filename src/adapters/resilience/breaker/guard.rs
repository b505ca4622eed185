//! The breaker as an adapter holds it: what it refuses and tells, by the mode in force. How it admits a
//! call is in `permit`, how it runs one in `call`.

use super::config::{BreakerConfig, SlowAs};
use super::machine::{Machine, PROBE_HINT, Rejected};
use super::rules::PARTS;
use super::shared::Shared;
use super::state::{
    BreakerCapacity, BreakerMode, BreakerRejection, BreakerSnapshot, BreakerState, Tally,
    Transition,
};
use super::view::MachineView;
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::observer::Observer;
use crate::adapters::resilience::settings::InvalidSetting;
use crate::core::domain::unavailable::{NoAnswer, System};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// A circuit breaker for one partner. Share it by reference or `Arc`; all methods take `&self`.
///
/// Two cache lines: what every call reads comes first, what records write comes last.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Breaker {
    pub(super) shared: Arc<Shared>,
    pub(super) machine: Machine<AtomicU64>,
}

const _: () = assert!(size_of::<Breaker>() == 128, "a breaker is two cache lines");

impl Breaker {
    /// A closed breaker with an empty window.
    ///
    /// # Errors
    ///
    /// Every setting that cannot be.
    pub fn new(
        system: System,
        config: &BreakerConfig,
        clock: MonotonicClock,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Vec<InvalidSetting>> {
        Shared::new(system, config, clock, observer).map(|shared| Self::of(Arc::new(shared)))
    }

    pub(super) fn of(shared: Arc<Shared>) -> Self {
        Self { machine: Machine::new(&shared.rules), shared }
    }

    /// The partner that it guards.
    #[must_use]
    pub fn system(&self) -> System {
        self.shared.system
    }

    /// Sheds a call that would be refused, before it queues for anything. Takes nothing, changes
    /// nothing, and counts the refusal. In dry run it lets everything pass.
    ///
    /// # Errors
    ///
    /// `BreakerOpen`, `ProbesTaken` or `ForcedOpen`
    /// ([`Shed`](crate::core::domain::unavailable::Shed)), each *not executed*.
    #[inline]
    pub fn check(&self) -> Result<(), NoAnswer> {
        if !self.shared.mode.plainly_enforces() {
            return self.check_by_mode();
        }
        if self.machine.is_closed() { Ok(()) } else { self.check_with_care() }
    }

    fn check_with_care(&self) -> Result<(), NoAnswer> {
        let peek = self.machine.peek(&self.shared.rules, &self.shared.clock);
        peek.map_err(|rejected| self.refuse(rejected))
    }

    #[cold]
    fn check_by_mode(&self) -> Result<(), NoAnswer> {
        match self.mode() {
            BreakerMode::Off | BreakerMode::DryRun | BreakerMode::ForcedClosed => Ok(()),
            BreakerMode::ForcedOpen => Err(self.refuse_forced()),
            BreakerMode::Enforce => self.check_with_care(),
        }
    }

    #[cold]
    pub(super) fn refuse_forced(&self) -> NoAnswer {
        let (_, retry_after) = self.shared.mode_and_rest();
        self.refuse(Rejected { reason: BreakerRejection::Forced, retry_after })
    }

    #[inline]
    pub(super) fn refuse(&self, rejected: Rejected) -> NoAnswer {
        let (system, reason) = (self.shared.system, rejected.reason);
        let state = match reason {
            BreakerRejection::Open | BreakerRejection::Forced => BreakerState::Open,
            BreakerRejection::HalfOpenFull => BreakerState::HalfOpen,
        };
        self.shared.tell(|observer| observer.rejected(system, reason));
        tracing::Span::current().record("circuit_breaker.state", state.as_str());
        tracing::debug!(%system, reason = reason.as_str(), "circuit_breaker.rejected");
        rejected.into()
    }

    /// Calls hang: the semaphore is full, and so many of the calls in flight are older than the
    /// slow threshold. Waiting for them to end would be waiting for the outage to pass.
    pub fn hanging(&self, slow: usize, in_flight: usize) {
        let tally = Tally { calls: in_flight as u64, failures: 0, slow: slow as u64 };
        // Too few calls say nothing here either; what the window holds against the partner counts.
        let held = self.view().tally;
        let known = tally.calls + held.failures.max(held.slow);
        let passes =
            known >= self.shared.rules.min_calls && tally.slow_rate() >= self.shared.slow_call_rate;
        match (self.shared.slow_as, self.mode()) {
            (SlowAs::Ignore, _) | (_, BreakerMode::Off) => {}
            (
                SlowAs::Failure | SlowAs::Rate,
                BreakerMode::DryRun
                | BreakerMode::Enforce
                | BreakerMode::ForcedOpen
                | BreakerMode::ForcedClosed,
            ) => {
                if passes {
                    let Shared { rules, clock, .. } = &*self.shared;
                    self.announce(self.machine.trip(rules, clock, tally));
                }
            }
        }
    }

    /// From this duration on a call is slow (`SLOW_CALL_THRESHOLD`).
    #[must_use]
    pub fn slow_call_threshold(&self) -> Duration {
        self.shared.slow_call_threshold
    }

    /// Closes it, with an empty window and no memory of flapping.
    pub fn reset(&self) {
        self.announce(self.machine.reset(&self.shared.rules));
    }

    /// The mode in force.
    #[inline]
    #[must_use]
    pub fn mode(&self) -> BreakerMode {
        self.shared.mode()
    }

    /// Switches the mode. A forced mode without a `ttl` lasts [`BreakerMode::FORCED_TTL`];
    /// afterwards the configured one is back.
    pub fn set_mode(&self, mode: BreakerMode, ttl: Option<Duration>) {
        self.shared.mode.set(mode, ttl, self.shared.clock.now_millis());
    }

    /// The machine's own state, whatever the mode: half-open as soon as the open time is over, though
    /// nobody has called since.
    #[must_use]
    pub fn state(&self) -> BreakerState {
        told(&self.view())
    }

    /// How long callers should stay away; `None` when a call would be admitted.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let (mode, left) = self.shared.mode_and_rest();
        match mode {
            BreakerMode::Off | BreakerMode::DryRun | BreakerMode::ForcedClosed => None,
            BreakerMode::ForcedOpen => Some(left.unwrap_or(PROBE_HINT)),
            BreakerMode::Enforce => {
                self.machine.peek(&self.shared.rules, &self.shared.clock).err()?.retry_after
            }
        }
    }

    /// How it stands at this moment; looking changes nothing.
    #[must_use]
    pub fn snapshot(&self) -> BreakerSnapshot {
        let view = self.view();
        let (mode, mode_left) = self.shared.mode_and_rest();
        let window = view.tally;
        BreakerSnapshot {
            state: told(&view),
            mode,
            mode_left,
            generation: view.generation,
            window,
            decidable: window.calls > 0 && window.calls >= self.shared.rules.min_calls,
            retry_after: self.retry_after(),
            probe_due: view.open_for == Some(Duration::ZERO),
            probes_in_flight: view.probes_in_flight,
        }
    }

    fn view(&self) -> MachineView {
        self.machine.view(&self.shared.rules, &self.shared.clock)
    }

    /// How many of `wanted` calls to begin now: all when closed, a growing share after recovery,
    /// the free probes while half-open, none while open. A pure question: nothing is reserved.
    #[must_use]
    pub fn capacity(&self, wanted: usize) -> BreakerCapacity {
        let (mode, left) = self.shared.mode_and_rest();
        match mode {
            BreakerMode::Off | BreakerMode::DryRun | BreakerMode::ForcedClosed => {
                BreakerCapacity { calls: wanted, ask_again: None }
            }
            BreakerMode::ForcedOpen => {
                BreakerCapacity { calls: 0, ask_again: Some(left.unwrap_or(PROBE_HINT)) }
            }
            BreakerMode::Enforce => self.machine_capacity(wanted),
        }
    }

    fn machine_capacity(&self, wanted: usize) -> BreakerCapacity {
        let view = self.view();
        let rules = &self.shared.rules;
        let all = wanted as u64;
        let calls = match view.state {
            BreakerState::Closed => (all * view.returned).div_ceil(PARTS),
            BreakerState::HalfOpen => view.free_probes.unwrap_or(0).min(all),
            BreakerState::Open if view.open_for == Some(Duration::ZERO) => {
                rules.probes.min(rules.probes_in_flight).min(all)
            }
            BreakerState::Open => 0,
        };
        let ask_again = (calls == 0).then(|| view.open_for.unwrap_or(PROBE_HINT));
        BreakerCapacity { calls: usize::try_from(calls).unwrap_or(wanted), ask_again }
    }

    #[inline]
    pub(super) fn announce(&self, transition: Option<Transition>) {
        if let Some(transition) = transition {
            self.shared.announce(&transition);
        }
    }
}

/// As people see it: the next call will probe, whether one comes or not.
fn told(view: &MachineView) -> BreakerState {
    match view.state {
        BreakerState::Open if view.open_for == Some(Duration::ZERO) => BreakerState::HalfOpen,
        stands @ (BreakerState::Closed | BreakerState::Open | BreakerState::HalfOpen) => stands,
    }
}
