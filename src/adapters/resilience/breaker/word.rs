//! The breaker's state in one 64-bit word: state, generation, and what justifies the next change.
//! One compare-and-swap changes all of it, so the parts can never disagree.
//!
//! | bits | closed | open | half-open |
//! |---|---|---|---|
//! | 62-63 | 0 | 1 | 2 |
//! | 42-61 | generation | generation | generation |
//! | 39-41 | flap level | flap level | flap level |
//! | 33-38 | since, ms | until, ms | probes in flight |
//! | 27-32 | | | probes passed |
//! | 21-26 | | | of these, slow |
//! | 0-20 | | | last progress, in 64 ms, wrapping |

/// Milliseconds since the clock's origin; 39 bits are 17 years.
pub(super) type Millis = u64;

const GENERATION: u32 = 42;
const LEVEL: u32 = 39;
const IN_FLIGHT: u32 = 33;
const PASSED: u32 = 27;
const SLOW: u32 = 21;

const GENERATION_MASK: u64 = (1 << 20) - 1;
const TIME_MASK: u64 = (1 << LEVEL) - 1;
const COUNT_MASK: u64 = 63;
const PROGRESS_MASK: u64 = (1 << SLOW) - 1;
const PROGRESS_UNIT: u64 = 64;

/// The most probes that the counts can hold.
pub(super) const MAX_PROBES: u64 = COUNT_MASK;
pub(super) const MAX_LEVEL: u64 = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StateWord {
    pub generation: u64,
    /// How often it has opened again soon after closing; lengthens the open time.
    pub level: u64,
    pub phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Since when, or zero if it has never been open.
    Closed {
        since: Millis,
    },
    Open {
        until: Millis,
    },
    HalfOpen(Probing),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Probing {
    pub in_flight: u64,
    pub passed: u64,
    pub slow: u64,
    pub progress: Progress,
}

/// A moment that only distances up to a day are taken from. Off by a whole turn (37 hours), it
/// delays the reclaim of a lost probe once; nothing else depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Progress(u64);

impl Progress {
    pub(super) const fn at(now: Millis) -> Self {
        Self((now / PROGRESS_UNIT) & PROGRESS_MASK)
    }

    /// Time since then. A clock that seems to have gone back shows as zero, not as a day.
    pub(super) const fn age(self, now: Millis) -> Millis {
        let distance = Self::at(now).0.wrapping_sub(self.0) & PROGRESS_MASK;
        if distance > PROGRESS_MASK / 2 { 0 } else { distance * PROGRESS_UNIT }
    }
}

/// Closed, without unpacking the rest.
#[inline]
pub(super) const fn is_closed(word: u64) -> bool {
    word >> 62 == 0
}

#[inline]
pub(super) const fn is_half_open(word: u64) -> bool {
    word >> 62 == 2
}

#[inline]
pub(super) const fn generation(word: u64) -> u64 {
    (word >> GENERATION) & GENERATION_MASK
}

impl StateWord {
    pub(super) const fn new() -> Self {
        Self { generation: 0, level: 0, phase: Phase::Closed { since: 0 } }
    }

    /// The word after this one. Generations wrap after a million changes; a permit that old is gone.
    pub(super) const fn next(self, level: u64, phase: Phase) -> Self {
        Self { generation: (self.generation + 1) & GENERATION_MASK, level, phase }
    }

    #[inline]
    pub(super) fn pack(self) -> u64 {
        let (tag, data) = match self.phase {
            Phase::Closed { since } => (0, since.min(TIME_MASK)),
            Phase::Open { until } => (1, until.min(TIME_MASK)),
            Phase::HalfOpen(probing) => (2, probing.pack()),
        };
        (tag << 62) | (self.generation << GENERATION) | (self.level.min(MAX_LEVEL) << LEVEL) | data
    }

    #[inline]
    pub(super) fn unpack(word: u64) -> Self {
        let phase = match word >> 62 {
            0 => Phase::Closed { since: word & TIME_MASK },
            1 => Phase::Open { until: word & TIME_MASK },
            _ => Phase::HalfOpen(Probing::unpack(word)),
        };
        Self { generation: generation(word), level: (word >> LEVEL) & MAX_LEVEL, phase }
    }
}

impl Probing {
    const fn pack(self) -> u64 {
        (self.in_flight << IN_FLIGHT)
            | (self.passed << PASSED)
            | (self.slow << SLOW)
            | self.progress.0
    }

    const fn unpack(word: u64) -> Self {
        Self {
            in_flight: (word >> IN_FLIGHT) & COUNT_MASK,
            passed: (word >> PASSED) & COUNT_MASK,
            slow: (word >> SLOW) & COUNT_MASK,
            progress: Progress(word & PROGRESS_MASK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn phase() -> impl Strategy<Value = Phase> {
        prop_oneof![
            (0..=TIME_MASK).prop_map(|since| Phase::Closed { since }),
            (0..=TIME_MASK).prop_map(|until| Phase::Open { until }),
            (0..=63_u64, 0..=63_u64, 0..=63_u64, 0..=PROGRESS_MASK).prop_map(
                |(in_flight, passed, slow, progress)| {
                    let progress = Progress(progress);
                    Phase::HalfOpen(Probing { in_flight, passed, slow, progress })
                }
            ),
        ]
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(phase in phase(), generation in 0..=GENERATION_MASK, level in 0..=MAX_LEVEL) {
            let word = StateWord { generation, level, phase };
            prop_assert_eq!(StateWord::unpack(word.pack()), word);
        }
    }

    #[test]
    fn progress_is_measured_across_its_wrap_and_never_backwards() {
        let turn = (PROGRESS_MASK + 1) * PROGRESS_UNIT;
        assert_eq!(Progress::at(turn - 64).age(turn + 64), 128);
        assert_eq!(Progress::at(10_000).age(5_000), 0);
    }
}
