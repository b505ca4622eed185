//! Monotonic time for the guards: cheap in production, turned by hand in tests. The breaker never
//! reads a wall clock, so a clock set back cannot keep it open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Where the guards read the time: distances only, never a date. An enum, not a trait object: a refusal costs about as much as
/// reading the clock, so one more indirect call would be felt.
#[derive(Debug, Clone)]
pub enum MonotonicClock {
    /// The kernel's coarse monotonic clock: a few milliseconds coarse, ten times cheaper.
    Coarse,
    /// Tokio's clock, which follows `tokio::time::pause`; for tests and simulations.
    Tokio(tokio::time::Instant),
    /// Stands still until it is turned; for tests.
    Manual(ManualClock),
}

impl MonotonicClock {
    /// For production.
    #[must_use]
    pub const fn coarse() -> Self {
        Self::Coarse
    }

    /// Tokio's, counted from now.
    #[must_use]
    pub fn tokio() -> Self {
        Self::Tokio(tokio::time::Instant::now())
    }

    /// Nanoseconds since some moment in the past that stays the same for this clock.
    #[inline]
    #[must_use]
    pub fn now_nanos(&self) -> u64 {
        if matches!(self, Self::Coarse) { coarse::nanos() } else { self.test_nanos() }
    }

    /// The same in whole milliseconds.
    #[inline]
    #[must_use]
    pub fn now_millis(&self) -> u64 {
        if matches!(self, Self::Coarse) { coarse::millis() } else { self.test_nanos() / 1_000_000 }
    }

    #[cold]
    fn test_nanos(&self) -> u64 {
        match self {
            Self::Coarse => coarse::nanos(),
            Self::Tokio(origin) => nanos(origin.elapsed()),
            Self::Manual(clock) => clock.0.load(Ordering::Acquire),
        }
    }
}

/// A clock that stands still until a test turns it, forwards or back.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// At zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns it forwards; its clones turn with it.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(nanos(by), Ordering::AcqRel);
    }

    /// What a broken hypervisor does to a monotonic clock.
    pub fn set_back(&self, by: Duration) {
        let now = self.0.load(Ordering::Acquire);
        self.0.store(now.saturating_sub(nanos(by)), Ordering::Release);
    }
}

impl From<&ManualClock> for MonotonicClock {
    fn from(clock: &ManualClock) -> Self {
        Self::Manual(clock.clone())
    }
}

/// In nanoseconds; saturates after 584 years.
#[must_use]
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(target_os = "linux")]
mod coarse {
    use rustix::time::{ClockId, clock_gettime};

    /// Seconds and nanoseconds since boot, never negative.
    #[inline]
    fn now() -> (u64, u64) {
        let now = clock_gettime(ClockId::MonotonicCoarse);
        (now.tv_sec.cast_unsigned(), now.tv_nsec.cast_unsigned())
    }

    #[inline]
    pub(super) fn nanos() -> u64 {
        let (seconds, nanos) = now();
        seconds * 1_000_000_000 + nanos
    }

    /// Not by way of [`nanos`]: one multiplication less on the way to every refusal.
    #[inline]
    pub(super) fn millis() -> u64 {
        let (seconds, nanos) = now();
        seconds * 1_000 + nanos / 1_000_000
    }
}

#[cfg(not(target_os = "linux"))]
mod coarse {
    use std::sync::OnceLock;
    use tokio::time::Instant;

    pub(super) fn nanos() -> u64 {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        super::nanos(ORIGIN.get_or_init(Instant::now).elapsed())
    }

    pub(super) fn millis() -> u64 {
        nanos() / 1_000_000
    }
}
