//! The breaker as an adapter holds it: the machine, its rules, a clock, the mode in force and
//! whoever listens.

use super::config::{BreakerConfig, SlowAs};
use super::machine::{Change, Machine, Pass, Refusal, View, World};
use super::mode::{Mode, Switch, in_canary};
use super::rules::{Rules, Tally};
use super::{State, permit::Permit};
use crate::adapters::resilience::clock::Clock;
use crate::adapters::resilience::observer::{Observer, Rejection, Transition, tell};
use crate::adapters::resilience::settings::Fault;
use crate::core::ports::unavailable::{Cause, NoAnswer, System};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// When nobody knows how long a probe will take.
const PROBE_HINT: Duration = Duration::from_secs(1);

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

/// What all breakers of one kind have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub system: System,
    pub rules: Rules,
    pub slow_as: SlowAs,
    pub slow_call_threshold: Duration,
    slow_call_rate: f64,
    clock: Clock,
    mode: Switch,
    observer: Arc<dyn Observer>,
}

/// What a breaker looks like at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Snapshot {
    /// The machine's own, also while the mode forces something.
    pub state: State,
    pub mode: Mode,
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
    /// [`Cause::BreakerOpen`], [`Cause::ProbesTaken`] or [`Cause::ForcedOpen`], each *not executed*.
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
        self.shared.tell(|observer| observer.rejected(self.shared.system, Rejection::Forced));
        NoAnswer { cause: Cause::ForcedOpen, retry_after: left.map(Duration::from_millis) }
    }

    #[inline]
    fn refuse(&self, refusal: Refusal) -> NoAnswer {
        self.shared.tell(|observer| observer.rejected(self.shared.system, refusal.reason()));
        refusal.into()
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
        let Tally { calls, failures, slow } = view.tally;
        let enough = calls > 0 && calls >= self.shared.rules.min_calls;
        Snapshot {
            state: view.state,
            mode: self.mode(),
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
    fn announce(&self, change: Change) {
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
    const fn reason(self) -> Rejection {
        match self {
            Self::Open(_) => Rejection::Open,
            Self::ProbesTaken | Self::Returning(_) => Rejection::HalfOpenFull,
        }
    }

    const fn retry_after(self) -> Duration {
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
            Refusal::Open(_) => Cause::BreakerOpen,
            Refusal::ProbesTaken | Refusal::Returning(_) => Cause::ProbesTaken,
        };
        Self { cause, retry_after: Some(refusal.retry_after()) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a window")]
fn rate(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
