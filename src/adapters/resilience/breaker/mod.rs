//! A circuit breaker: stops calling a partner that fails, and finds out by itself when to begin
//! again. Passive: it has no task, no timer and no allocation, only a few words of memory.

mod atomic;
mod buckets;
mod config;
mod guard;
mod keyed;
mod layout;
mod machine;
mod mode;
mod permit;
mod ring;
mod rules;
mod shared;
mod streak;
mod view;
mod window;
mod word;

pub use config::{BreakerConfig, SlowAs, WindowKind};
pub use guard::{Breaker, Capacity, Snapshot};
pub use keyed::Keyed;
pub use mode::{Mode, UnknownMode, in_canary};
pub use permit::Permit;

/// The machine beneath, generic over its atomics: for model checks and for the curious.
pub mod parts {
    pub use super::atomic::Atomic;
    pub use super::machine::{Change, Machine, Pass, Refusal, World};
    pub use super::rules::{Rules, Tally};
    pub use super::view::View;
    pub use super::window::Sample;
}

/// A breaker's state. An open breaker whose time is over stays open until a call comes to probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    Closed,
    Open,
    HalfOpen,
}

impl State {
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
