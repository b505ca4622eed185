//! A checked configuration, cut down to the integers that the machine compares.

use super::config::{BreakerConfig, SlowAs, WindowKind};
use super::layout::{self, Large, Small, Span};
use super::state::Tally;
use super::word::{MAX_LEVEL, Millis};
use crate::adapters::resilience::clock::nanos;
use std::time::Duration;

/// Of how many parts a whole is: shares are compared as integers, so that 15 of 50 is exactly 0.30.
pub(super) const PARTS: u64 = 1_000_000;

/// The rules of one breaker, the same for all of a keyed set.
#[derive(Debug, Clone)]
pub struct Rules {
    pub(super) window: Window,
    pub(super) min_calls: u64,
    failure_parts: u64,
    /// Zero: slow calls do not open it.
    slow_parts: u64,
    /// Zero: off.
    pub(super) streak: u64,
    open: Millis,
    open_max: Millis,
    jitter_parts: u64,
    /// No open time is longer, jitter and rounding included.
    pub(super) longest_open: Millis,
    pub(super) probes: u64,
    pub(super) probes_in_flight: u64,
    pub(super) reclaim: Millis,
    ramp: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Window {
    /// Few enough calls for the breaker's own words.
    Calls(Span),
    /// More, on the heap.
    ManyCalls(Span),
    Time {
        bucket_nanos: u64,
        buckets: u64,
    },
    /// Only the streak counts.
    None,
}

impl Rules {
    /// The configuration must have been validated.
    #[must_use]
    pub fn of(config: &BreakerConfig) -> Self {
        let open = millis(config.open_timeout);
        let open_max = config.open_timeout_max.map_or(open, millis).max(open);
        let jitter_parts = parts(config.open_jitter);
        Self {
            window: match config.window {
                WindowKind::Count => match u64::from(config.window_size) {
                    size if size <= layout::MAX_SMALL => Window::Calls(Span::of::<Small>(size)),
                    size => Window::ManyCalls(Span::of::<Large>(size)),
                },
                WindowKind::Time => Window::Time {
                    bucket_nanos: nanos(config.window_duration / config.window_buckets.max(1)),
                    buckets: u64::from(config.window_buckets),
                },
                WindowKind::Consecutive => Window::None,
            },
            min_calls: u64::from(config.effective_min_requests()),
            failure_parts: parts(config.failure_rate).max(1),
            slow_parts: match config.slow_as {
                SlowAs::Rate => parts(config.slow_call_rate).max(1),
                SlowAs::Failure | SlowAs::Ignore => 0,
            },
            streak: u64::from(config.consecutive_failures),
            open,
            open_max,
            jitter_parts,
            longest_open: lengthen(open_max, jitter_parts) + 1,
            probes: u64::from(config.half_open_requests),
            probes_in_flight: u64::from(config.half_open_max_in_flight),
            reclaim: millis(config.probe_timeout),
            ramp: millis(config.ramp),
        }
    }

    /// Whether these counts open the breaker.
    #[inline]
    pub(super) fn condemn(&self, tally: Tally) -> bool {
        tally.calls >= self.min_calls
            && (reaches(tally.failures, tally.calls, self.failure_parts)
                || self.too_slow(tally.slow, tally.calls))
    }

    pub(super) fn too_slow(&self, slow: u64, calls: u64) -> bool {
        self.slow_parts > 0 && reaches(slow, calls, self.slow_parts)
    }

    /// How long it stays open: doubled at each flap level within the maximum, plus jitter, so that
    /// instances do not probe in step. `jitter` is the part of it to take, in millionths.
    pub(super) fn open_for(&self, level: u64, jitter: u64) -> Millis {
        let grown = self.open.saturating_mul(1 << level).min(self.open_max);
        lengthen(grown, self.jitter_parts * jitter / PARTS)
    }

    /// The flap level of a breaker that opens now, closed since `since` (zero: never was open).
    /// Opening within ten open times of closing is flapping; each such calm takes a level back.
    pub(super) fn level_after(&self, level: u64, since: Millis, now: Millis) -> u64 {
        if since == 0 {
            return 0;
        }
        let calm = self.open.saturating_mul(10).max(1);
        match now.saturating_sub(since) / calm {
            0 => (level + 1).min(MAX_LEVEL),
            calms => level.saturating_sub(calms),
        }
    }

    /// How much of the work that waits may come back, in millionths, if it is closed since `since`
    /// (zero: never was open): a tenth at once, since a recovered partner that gets no calls cannot
    /// show that it has recovered, and all of it after the ramp.
    pub(super) fn returned(&self, since: Millis, now: Millis) -> u64 {
        let passed = now.saturating_sub(since);
        if since == 0 || passed >= self.ramp {
            return PARTS;
        }
        PARTS / 10 + PARTS / 10 * 9 * passed / self.ramp
    }
}

/// Whether `part` of `whole` is at least `parts` millionths.
#[inline]
const fn reaches(part: u64, whole: u64, parts: u64) -> bool {
    part * PARTS >= parts * whole && whole > 0
}

/// Longer by so many millionths.
const fn lengthen(time: Millis, parts: u64) -> Millis {
    time + time / PARTS * parts + time % PARTS * parts / PARTS
}

fn millis(duration: Duration) -> Millis {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "shares between 0 and 1, validated"
)]
fn parts(share: f64) -> u64 {
    (share * 1e6).round() as u64
}
