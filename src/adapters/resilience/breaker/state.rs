//! What a breaker is, does and tells, in the words that the machine, whoever listens to it and whoever
//! looks at it share. This file stands below all of them and names none.

use std::time::Duration;

/// A breaker's state. An open breaker whose time is over stays open until a call comes to probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BreakerState {
    /// Every call passes and its end is recorded.
    Closed,
    /// Every call is refused.
    Open,
    /// A few calls try the partner.
    HalfOpen,
}

impl BreakerState {
    /// Each state once.
    pub const ALL: [Self; 3] = [Self::Closed, Self::Open, Self::HalfOpen];

    /// As people write it, in logs and spans.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        }
    }

    /// As metric labels and JSON have it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// How far the machine's word counts; the names are those of `CB_MODE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BreakerMode {
    /// Nothing is recorded and nothing refused.
    Off,
    /// The machine plays, but every call passes; what it would have refused is counted.
    DryRun,
    /// The machine is obeyed.
    Enforce,
    /// Every call is refused.
    ForcedOpen,
    /// Every call passes; the machine goes on watching.
    ForcedClosed,
}

impl BreakerMode {
    /// Each mode once.
    pub const ALL: [Self; 5] =
        [Self::Off, Self::DryRun, Self::Enforce, Self::ForcedOpen, Self::ForcedClosed];

    /// How long a forced mode lasts unless somebody says otherwise: one that everybody forgot must not
    /// outlive the outage that it was made for.
    pub const FORCED_TTL: Duration = Duration::from_secs(15 * 60);

    /// As `CB_MODE`, metric labels and JSON have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::DryRun => "dry_run",
            Self::Enforce => "enforce",
            Self::ForcedOpen => "forced_open",
            Self::ForcedClosed => "forced_closed",
        }
    }

    /// How long it lasts unless somebody says otherwise; `None` is for ever.
    #[must_use]
    pub const fn default_ttl(self) -> Option<Duration> {
        match self {
            Self::ForcedOpen | Self::ForcedClosed => Some(Self::FORCED_TTL),
            Self::Off | Self::DryRun | Self::Enforce => None,
        }
    }
}

impl std::str::FromStr for BreakerMode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word).ok_or(UnknownMode)
    }
}

/// A word that names no mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not one of off, dry_run, enforce, forced_open, forced_closed")]
pub struct UnknownMode;

/// Why a breaker refused a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BreakerRejection {
    /// The partner is down, and the open time is not over.
    Open,
    /// The partner is being tried, and every probe is taken.
    HalfOpenFull,
    /// A person wants every call refused.
    Forced,
}

impl BreakerRejection {
    /// Each reason once.
    pub const ALL: [Self; 3] = [Self::Open, Self::HalfOpenFull, Self::Forced];

    /// As the metric label `reason` has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::HalfOpenFull => "half_open_full",
            Self::Forced => "forced",
        }
    }
}

/// Calls counted together: those of a window, or the probes of one half-open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// All of them.
    pub calls: u64,
    /// Of these, how many failed.
    pub failures: u64,
    /// Of these, how many were slow, failed or not.
    pub slow: u64,
}

impl Tally {
    /// Share of failures, 0 to 1; 0 where there are no calls.
    #[must_use]
    pub fn failure_rate(&self) -> f64 {
        share(self.failures, self.calls)
    }

    /// Share of slow calls, 0 to 1; 0 where there are no calls.
    #[must_use]
    pub fn slow_rate(&self) -> f64 {
        share(self.slow, self.calls)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a window holds a few thousand calls at most")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A change of a breaker's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// What it was.
    pub from: BreakerState,
    /// What it is.
    pub to: BreakerState,
    /// Grows with every change; two changes that are heard out of order are put right by it.
    pub generation: u64,
    /// The counts that justified it: of the window, or of the probes.
    pub tally: Tally,
}

impl Transition {
    /// The share that justified it, 0 to 1: of failures, or of slow calls where these are more.
    #[must_use]
    pub fn failure_rate(&self) -> f64 {
        self.tally.failure_rate().max(self.tally.slow_rate())
    }
}

/// What a breaker looks like at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSnapshot {
    /// The machine's own, also while the mode forces something.
    pub state: BreakerState,
    /// The mode in force.
    pub mode: BreakerMode,
    /// How long the mode will last, if it has an end: then the configured one returns.
    pub mode_left: Option<Duration>,
    /// How often the state has changed, wrapping after a million.
    pub generation: u64,
    /// The window; empty unless it is closed.
    pub window: Tally,
    /// Whether the window holds as many calls as a decision takes (`CB_MIN_REQUESTS`).
    pub decidable: bool,
    /// How long callers should stay away; `None` when a call would be admitted.
    pub retry_after: Option<Duration>,
    /// Open, and the next call will probe.
    pub probe_due: bool,
    /// Probes under way; none unless it is half-open.
    pub probes_in_flight: u64,
}

impl BreakerSnapshot {
    /// Whether calls are refused, because the partner is down or because a person wants it so.
    #[must_use]
    pub const fn refuses(&self) -> bool {
        match self.mode {
            BreakerMode::ForcedOpen => true,
            BreakerMode::Enforce => matches!(self.state, BreakerState::Open),
            BreakerMode::Off | BreakerMode::DryRun | BreakerMode::ForcedClosed => false,
        }
    }
}

/// How much work may be begun now, for those who fetch work rather than receive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerCapacity {
    /// Calls that would be admitted now.
    pub calls: usize,
    /// When to ask again, if there are none.
    pub ask_again: Option<Duration>,
}
