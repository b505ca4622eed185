//! What the machine must be told from outside: the time, and by how much chance lengthens an open time.
//! A trait, so that model checks can let time stand still.

use crate::adapters::resilience::clock::MonotonicClock;

pub(super) const NANOS_PER_MILLI: u64 = 1_000_000;

/// Where the machine takes its time from.
pub trait TimeSource {
    /// Nanoseconds of a monotonic clock.
    fn now(&self) -> u64;

    /// The same in whole milliseconds, for those who need no more.
    #[inline]
    fn now_millis(&self) -> u64 {
        self.now() / NANOS_PER_MILLI
    }

    /// How much of the allowed jitter one open time takes, in millionths: less than a million.
    fn jitter(&self) -> u64;
}

impl TimeSource for MonotonicClock {
    #[inline]
    fn now(&self) -> u64 {
        self.now_nanos()
    }

    #[inline]
    fn now_millis(&self) -> u64 {
        Self::now_millis(self)
    }

    fn jitter(&self) -> u64 {
        fastrand::u64(0..1_000_000)
    }
}
