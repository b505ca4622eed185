//! The sandbox's own clock: the wall clock plus an offset that the control API can advance,
//! so that an order's twenty minutes pass in one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Shared by all partners; clones show the same time.
#[derive(Debug, Clone, Default)]
pub struct SandboxClock {
    ahead_ms: Arc<AtomicI64>,
}

impl SandboxClock {
    /// Unix milliseconds on this clock.
    pub fn now_ms(&self) -> i64 {
        wall_ms() + self.ahead_ms.load(Ordering::Relaxed)
    }

    pub fn ahead_ms(&self) -> i64 {
        self.ahead_ms.load(Ordering::Relaxed)
    }

    pub fn advance_ms(&self, by_ms: i64) {
        self.ahead_ms.fetch_add(by_ms, Ordering::Relaxed);
    }

    pub fn reset(&self) {
        self.ahead_ms.store(0, Ordering::Relaxed);
    }
}

/// Unix milliseconds on everybody's clock: signatures use it, because their reader does.
pub fn wall_ms() -> i64 {
    i64::try_from(OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

/// RFC 3339 UTC of Unix milliseconds; a time out of range is shown as the epoch.
pub fn rfc3339(unix_ms: i64) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ms) * 1_000_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
        .format(&Rfc3339)
        .unwrap_or_default()
}
