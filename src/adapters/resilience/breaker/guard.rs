//! The breaker as an adapter holds it: what it refuses, admits and tells, by the mode in force.

use super::config::{BreakerConfig, SlowAs};
use super::machine::{Change, Machine, Pass, Refusal, World};
use super::mode::Mode;
use super::rules::Tally;
use super::shared::{PROBE_HINT, Shared, rate};
use super::view::View;
use super::{State, permit::Permit};
use crate::adapters::resilience::clock::Clock;
use crate::adapters::resilience::observer::{Observer, Rejection};
use crate::adapters::resilience::settings::Fault;
use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Shed, System};
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

/// What a breaker looks like at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Snapshot {
    /// The machine's own, also while the mode forces something.
    pub state: State,
    pub mode: Mode,
    /// How long the mode will last, if it has an end.
    pub mode_left: Option<Duration>,
    pub generation: u64,
    pub calls: u64,
    pub failures: u64,
    pub slow: u64,
    /// `None` below the minimum of calls.
    pub failure_rate: Option<f64>,
    pub slow_rate: Option<f64>,
    pub retry_after: Option<Duration>,
    /// Open, and the next call will probe.
    pub probe_due: bool,
    pub probes_in_flight: u64,
}

/// How much work may be begun now, for those who fetch work rather than receive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Calls that would be admitted now.
    pub calls: u32,
    /// When to ask again, if there are none.
    pub ask_again: Option<Duration>,
}

impl Breaker {
    /// # Errors
    ///
    /// Every fault of the configuration.
    pub fn new(
        system: System,
        config: &BreakerConfig,
        clock: Clock,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Vec<Fault>> {
        Shared::new(system, config, clock, observer).map(|shared| Self::of(Arc::new(shared)))
    }

    pub(super) fn of(shared: Arc<Shared>) -> Self {
        Self { machine: Machine::new(&shared.rules), shared }
    }

    #[must_use]
    pub fn system(&self) -> System {
        self.shared.system
    }

    /// Sheds a call that would be refused, before it queues for anything. Takes nothing, changes
    /// nothing, and counts the refusal. In dry run it lets everything pass.
    ///
    /// # Errors
    ///
    /// [`Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen))`], [`Cause::NotExecuted(NotExecuted::Shed(Shed::ProbesTaken))`] or [`Cause::NotExecuted(NotExecuted::Shed(Shed::ForcedOpen))`], each *not executed*.
    #[inline]
    pub fn check(&self) -> Result<(), NoAnswer> {
        if !self.shared.mode.plainly_enforces() {
            return self.check_by_mode();
        }
        if self.machine.is_closed() { Ok(()) } else { self.check_with_care() }
    }

    fn check_with_care(&self) -> Result<(), NoAnswer> {
        self.machine.peek(&self.shared.rules, &*self.shared).map_err(|refusal| self.refuse(refusal))
    }

    #[cold]
    fn check_by_mode(&self) -> Result<(), NoAnswer> {
        match self.mode() {
            Mode::Off | Mode::DryRun | Mode::ForcedClosed => Ok(()),
            Mode::ForcedOpen => Err(self.refuse_forced()),
            Mode::Enforce => self.check_with_care(),
        }
    }

    /// Admits one call. Report its end through the permit; dropping that says "cancelled".
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    #[inline]
    pub fn try_acquire(&self) -> Result<Permit<'_>, NoAnswer> {
        if self.shared.mode.plainly_enforces()
            && let Some(pass) = self.machine.admit_if_closed(&self.shared.rules)
        {
            return Ok(Permit::new(self, pass));
        }
        self.acquire_with_care()
    }

    fn acquire_with_care(&self) -> Result<Permit<'_>, NoAnswer> {
        let mode = self.mode();
        match mode {
            Mode::Off => return Ok(Permit::new(self, Pass::UNWATCHED)),
            Mode::ForcedOpen => return Err(self.refuse_forced()),
            Mode::DryRun | Mode::Enforce | Mode::ForcedClosed => {}
        }
        match self.machine.admit(&self.shared.rules, &*self.shared) {
            Ok((pass, change)) => {
                self.announce(change);
                Ok(Permit::new(self, pass))
            }
            Err(refusal) if mode == Mode::Enforce => Err(self.refuse(refusal)),
            Err(refusal) => {
                if mode == Mode::DryRun {
                    let reason = refusal.reason();
                    self.shared.tell(|observer| observer.would_reject(self.shared.system, reason));
                }
                Ok(Permit::new(self, Pass::UNWATCHED))
            }
        }
    }

    #[cold]
    fn refuse_forced(&self) -> NoAnswer {
        let (_, left) = self.shared.mode.read(|| self.shared.now_millis());
        self.tell_rejected(State::Open, Rejection::Forced);
        NoAnswer {
            cause: Cause::NotExecuted(NotExecuted::Shed(Shed::ForcedOpen)),
            retry_after: left.map(Duration::from_millis),
        }
    }

    #[inline]
    fn refuse(&self, refusal: Refusal) -> NoAnswer {
        let state = match refusal {
            Refusal::Open(_) => State::Open,
            Refusal::ProbesTaken => State::HalfOpen,
            Refusal::Returning(_) => State::Closed,
        };
        self.tell_rejected(state, refusal.reason());
        refusal.into()
    }

    fn tell_rejected(&self, state: State, reason: Rejection) {
        let system = self.shared.system;
        self.shared.tell(|observer| observer.rejected(system, reason));
        tracing::Span::current().record("circuit_breaker.state", state.as_str());
        tracing::debug!(%system, reason = reason.as_str(), "circuit_breaker.rejected");
    }

    /// Calls hang: the semaphore is full, and so many of the calls in flight are older than the
    /// slow threshold. Waiting for them to end would be waiting for the outage to pass.
    pub fn hanging(&self, slow: usize, in_flight: usize) {
        let (slow, calls) = (slow as u64, in_flight as u64);
        #[expect(clippy::cast_precision_loss, reason = "a few hundred calls")]
        let passes = calls > 0 && slow as f64 / calls as f64 >= self.shared.slow_call_rate;
        match (self.shared.slow_as, self.mode()) {
            (SlowAs::Ignore, _) | (_, Mode::Off) => {}
            (
                SlowAs::Failure | SlowAs::Rate,
                Mode::DryRun | Mode::Enforce | Mode::ForcedOpen | Mode::ForcedClosed,
            ) => {
                if passes {
                    let tally = Tally { calls, failures: 0, slow };
                    self.announce(self.machine.trip(&self.shared.rules, &*self.shared, tally));
                }
            }
        }
    }

    #[must_use]
    pub fn slow_call_threshold(&self) -> Duration {
        self.shared.slow_call_threshold
    }

    /// Closes it, with an empty window.
    pub fn reset(&self) {
        self.announce(self.machine.reset(&self.shared.rules));
    }

    /// The mode in force.
    #[inline]
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.shared.mode.mode(|| self.shared.now_millis())
    }

    /// Switches the mode. A forced mode without a `ttl` lasts [`Mode::FORCED_TTL`]; afterwards the
    /// configured one is back.
    pub fn set_mode(&self, mode: Mode, ttl: Option<Duration>) {
        self.shared.mode.set(mode, ttl, self.shared.now_millis());
    }

    /// The machine's own state, whatever the mode.
    #[must_use]
    pub fn state(&self) -> State {
        self.machine.state()
    }

    /// How long callers should stay away; `None` when a call would be admitted.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let (mode, left) = self.shared.mode.read(|| self.shared.now_millis());
        match mode {
            Mode::Off | Mode::DryRun | Mode::ForcedClosed => None,
            Mode::ForcedOpen => Some(left.map_or(PROBE_HINT, Duration::from_millis)),
            Mode::Enforce => {
                self.machine.peek(&self.shared.rules, &*self.shared).err().map(Refusal::retry_after)
            }
        }
    }

    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let view = self.view();
        let (mode, left) = self.shared.mode.read(|| self.shared.now_millis());
        let Tally { calls, failures, slow } = view.tally;
        let enough = calls > 0 && calls >= self.shared.rules.min_calls;
        Snapshot {
            state: view.state,
            mode,
            mode_left: left.map(Duration::from_millis),
            generation: view.generation,
            calls,
            failures,
            slow,
            failure_rate: enough.then(|| rate(failures, calls)),
            slow_rate: enough.then(|| rate(slow, calls)),
            retry_after: self.retry_after(),
            probe_due: view.open_for == Some(Duration::ZERO),
            probes_in_flight: view.probes_in_flight,
        }
    }

    fn view(&self) -> View {
        self.machine.view(&self.shared.rules, &*self.shared)
    }

    /// How many of `wanted` calls to begin now: all when closed, a growing share after recovery,
    /// the free probes while half-open, none while open. A pure question: nothing is reserved.
    #[must_use]
    pub fn capacity(&self, wanted: u32) -> Capacity {
        let (mode, left) = self.shared.mode.read(|| self.shared.now_millis());
        match mode {
            Mode::Off | Mode::DryRun | Mode::ForcedClosed => {
                Capacity { calls: wanted, ask_again: None }
            }
            Mode::ForcedOpen => Capacity {
                calls: 0,
                ask_again: Some(left.map_or(PROBE_HINT, Duration::from_millis)),
            },
            Mode::Enforce => self.machine_capacity(wanted),
        }
    }

    fn machine_capacity(&self, wanted: u32) -> Capacity {
        let view = self.view();
        let rules = &self.shared.rules;
        let wanted = u64::from(wanted);
        let calls = match view.state {
            State::Closed => (wanted * view.returned).div_ceil(1_000_000),
            State::HalfOpen => view.free_probes.unwrap_or(0).min(wanted),
            State::Open if view.open_for == Some(Duration::ZERO) => {
                rules.probes.min(rules.probes_in_flight).min(wanted)
            }
            State::Open => 0,
        };
        let ask_again = (calls == 0).then(|| view.open_for.unwrap_or(PROBE_HINT));
        Capacity { calls: u32::try_from(calls).unwrap_or(u32::MAX), ask_again }
    }

    /// The only place where a change of state is told: to the log and to the observer, after the
    /// swap that made it visible, by the one thread whose swap it was.
    #[inline]
    pub(super) fn announce(&self, change: Option<Change>) {
        if let Some(change) = change {
            self.shared.announce(change);
        }
    }
}
