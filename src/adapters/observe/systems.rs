//! What an operator sees of the guards before each system outside, and what may be turned by hand.
//! Nothing here decides about an order.

use crate::core::domain::unavailable::System;
use std::fmt;
use std::time::Duration;

/// The guards of one system.
pub trait SystemControl: Send + Sync + fmt::Debug {
    fn system(&self) -> System;

    /// A look without side effect.
    fn describe(&self) -> SystemView;

    /// Switches the breaker's mode; with `ttl` the configured mode returns after it.
    fn set_mode(&self, mode: BreakerMode, ttl: Option<Duration>);

    /// Closes the breaker with an empty window.
    fn reset(&self);
}

/// What the health probes of one system last saw.
pub trait SystemHealth: Send + Sync + fmt::Debug {
    fn system(&self) -> System;

    /// The last finding, at once: a reader never waits for the network. An old finding is renewed
    /// behind the reader's back, by one probe at a time.
    fn look(&self) -> Probed;
}

/// What a probe found, and how long ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probed {
    NotYet,
    Up { age: Duration },
    Down { age: Duration },
}

#[derive(Debug, Clone, PartialEq)]
pub struct SystemView {
    pub system: System,
    pub breaker: BreakerView,
    pub bulkhead: BulkheadView,
    /// The effective settings as (name, value), secrets masked.
    pub config: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct BreakerView {
    /// The machine's own, also while the mode forces something.
    pub state: BreakerState,
    pub mode: BreakerMode,
    /// How long the mode will last, if it has an end: then the configured one returns.
    pub mode_left: Option<Duration>,
    pub window: WindowView,
    /// How long it stays open; zero unless it is.
    pub retry_after: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowView {
    pub calls: u64,
    pub failures: u64,
    pub slow: u64,
    /// 0 while there are no calls.
    pub failure_rate: f64,
    pub slow_rate: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkheadView {
    pub max_concurrent: usize,
    pub in_flight: usize,
    pub waiting: usize,
    pub rejected_total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BreakerState {
    Closed,
    Open,
    HalfOpen,
}

impl BreakerState {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// How far a breaker's word counts; the words are those of `CB_MODE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BreakerMode {
    Off,
    /// Counts and logs, never blocks.
    DryRun,
    Enforce,
    ForcedOpen,
    ForcedClosed,
}

impl BreakerMode {
    pub const ALL: [Self; 5] =
        [Self::Off, Self::DryRun, Self::Enforce, Self::ForcedOpen, Self::ForcedClosed];

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

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }

    /// Whether the breaker answers the same whatever it counts.
    #[must_use]
    pub const fn is_forced(self) -> bool {
        matches!(self, Self::ForcedOpen | Self::ForcedClosed)
    }
}
