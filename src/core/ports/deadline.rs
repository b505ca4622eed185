//! When the caller stops waiting. Every port call gets one; what is left of it caps the call.

use std::time::Duration;
use tokio::time::Instant;

/// A moment on the monotonic clock after which nobody waits for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// So long from now.
    #[must_use]
    pub fn after(wait: Duration) -> Self {
        Self(Instant::now() + wait)
    }

    /// At that moment.
    #[must_use]
    pub const fn at(moment: Instant) -> Self {
        Self(moment)
    }

    /// For timers.
    #[must_use]
    pub const fn instant(self) -> Instant {
        self.0
    }

    /// Zero once it has passed.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// For spans.
    #[must_use]
    pub fn remaining_ms(self) -> u64 {
        u64::try_from(self.remaining().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whichever ends the wait first.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        self.min(other)
    }
}
