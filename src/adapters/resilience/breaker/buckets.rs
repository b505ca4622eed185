//! The calls of the last so many seconds: one word per bucket, which says itself which stretch of
//! time it counts. One swap adds a call and recycles an old bucket, so there is no rotation step
//! that could move the dates of what is there.
//!
//! ```text
//! generation 8 | turn 20 | calls 12 | failures 12 | slow 12
//! ```
//!
//! The turn says how often the ring of buckets has gone round; a bucket of another turn is empty.
//! Twenty bits come round again after a million windows: four months of ten seconds, in which this
//! bucket would have to have seen no call at all.

use super::atomic::Atomic;
use super::sample::{Generation, Sample};
use super::state::Tally;

const COUNT_BITS: u64 = 12;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const TURN_MASK: u64 = (1 << 20) - 1;
const GENERATION_MASK: u64 = (1 << 8) - 1;

/// A view of the words of one time window.
pub(super) struct Buckets<'a, A> {
    cells: &'a [A],
    bucket_nanos: u64,
}

#[derive(Clone, Copy)]
struct Bucket {
    tag: u64,
    tally: Tally,
}

impl Bucket {
    const fn unpack(word: u64) -> Self {
        Self {
            tag: word >> (3 * COUNT_BITS),
            tally: Tally {
                calls: (word >> (2 * COUNT_BITS)) & COUNT_MASK,
                failures: (word >> COUNT_BITS) & COUNT_MASK,
                slow: word & COUNT_MASK,
            },
        }
    }

    const fn pack(self) -> u64 {
        (self.tag << (3 * COUNT_BITS))
            | (self.tally.calls << (2 * COUNT_BITS))
            | (self.tally.failures << COUNT_BITS)
            | self.tally.slow
    }

    /// A bucket that is full is halved first: shares stay, and no count wraps.
    const fn add(mut self, sample: Sample) -> Self {
        if self.tally.calls == COUNT_MASK {
            self.tally.calls /= 2;
            self.tally.failures /= 2;
            self.tally.slow /= 2;
        }
        self.tally.calls += 1;
        self.tally.failures += sample.failed as u64;
        self.tally.slow += sample.slow as u64;
        self
    }
}

impl<'a, A: Atomic> Buckets<'a, A> {
    pub(super) const fn new(cells: &'a [A], bucket_nanos: u64) -> Self {
        Self { cells, bucket_nanos }
    }

    /// Counts a call that ended now, and tells what the window then holds.
    pub(super) fn record(
        &self,
        generation: &impl Generation,
        sample: Sample,
        now: u64,
    ) -> Option<Tally> {
        let epoch = now / self.bucket_nanos;
        let count = self.cells.len() as u64;
        let cell = &self.cells[index(epoch % count)];
        let tag = tag(generation.number(), epoch / count);
        loop {
            let word = cell.read();
            let mut bucket = Bucket::unpack(word);
            // A bucket ahead of this call's time (it was held up, or the clock seemed to go back) is
            // the newer one: count there rather than wipe it.
            if bucket.tag != tag && !is_ahead(bucket.tag, tag) {
                if !generation.is_current() {
                    return None;
                }
                bucket = Bucket { tag, tally: Tally::default() };
            }
            if cell.replace(word, bucket.add(sample).pack()).is_ok() {
                return Some(self.tally(generation.number(), now));
            }
        }
    }

    /// What the window holds at this moment: the current bucket and those before it.
    pub(super) fn tally(&self, generation: u64, now: u64) -> Tally {
        let epoch = now / self.bucket_nanos;
        let count = self.cells.len() as u64;
        let (current, turn) = (epoch % count, epoch / count);
        let mut sum = Tally::default();
        for (cell, place) in self.cells.iter().zip(0..) {
            // A place after the current one was last passed a turn ago; before the first turn, never.
            let turn = if place <= current { Some(turn) } else { turn.checked_sub(1) };
            let bucket = Bucket::unpack(cell.read());
            if turn.is_some_and(|turn| bucket.tag == tag(generation, turn)) {
                sum.calls += bucket.tally.calls;
                sum.failures += bucket.tally.failures;
                sum.slow += bucket.tally.slow;
            }
        }
        sum
    }
}

const fn tag(generation: u64, turn: u64) -> u64 {
    ((generation & GENERATION_MASK) << 20) | (turn & TURN_MASK)
}

/// Whether `stored` is of the same generation and a later turn, by less than half the turns there are.
const fn is_ahead(stored: u64, tag: u64) -> bool {
    let turns = stored.wrapping_sub(tag) & TURN_MASK;
    stored >> 20 == tag >> 20 && turns != 0 && turns <= TURN_MASK / 2
}

#[expect(clippy::cast_possible_truncation, reason = "a bucket's number, at most 120")]
const fn index(place: u64) -> usize {
    place as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    struct Always(u64);

    impl Generation for Always {
        fn number(&self) -> u64 {
            self.0
        }

        fn is_current(&self) -> bool {
            true
        }
    }

    const SECOND: u64 = 1_000_000_000;

    fn cells(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn a_window_holds_exactly_the_calls_of_its_buckets() {
        for (count, seed) in [(1, 1), (2, 2), (10, 3), (11, 4), (60, 5)] {
            let cells = cells(count);
            let buckets = Buckets::new(&cells, SECOND);
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut now, mut calls) = (random.u64(0..SECOND * 100), Vec::new());
            for _ in 0..3_000 {
                now += [0, 1, SECOND / 7, SECOND, 3_600 * SECOND][random.usize(0..40) / 9];
                let sample = Sample { failed: random.bool(), slow: random.bool() };
                calls.push((now / SECOND, sample));
                let kept = (now / SECOND + 1).saturating_sub(count as u64);
                let fold = || calls.iter().filter(|(epoch, _)| *epoch >= kept).map(|(_, s)| s);
                let expected = Tally {
                    calls: fold().count() as u64,
                    failures: fold().filter(|sample| sample.failed).count() as u64,
                    slow: fold().filter(|sample| sample.slow).count() as u64,
                };
                assert_eq!(buckets.record(&Always(3), sample, now), Some(expected));
            }
        }
    }

    #[test]
    fn a_call_leaves_the_window_with_the_nanosecond_that_its_bucket_does() {
        let cells = cells(10);
        let buckets = Buckets::new(&cells, SECOND);
        buckets.record(&Always(0), Sample::FAILED, 5 * SECOND);
        assert_eq!(buckets.tally(0, 15 * SECOND - 1).failures, 1);
        assert_eq!(buckets.tally(0, 15 * SECOND).failures, 0);
    }

    #[test]
    fn after_an_hour_of_silence_the_window_is_empty() {
        let cells = cells(10);
        let buckets = Buckets::new(&cells, SECOND);
        for bucket in 0..10 {
            buckets.record(&Always(0), Sample::FAILED, bucket * SECOND);
        }
        assert_eq!(buckets.tally(0, 3_600 * SECOND), Tally::default());
    }

    #[test]
    fn a_call_that_was_held_up_does_not_wipe_newer_ones() {
        let cells = cells(10);
        let buckets = Buckets::new(&cells, SECOND);
        buckets.record(&Always(0), Sample::FAILED, 20 * SECOND);
        buckets.record(&Always(0), Sample::FAILED, 10 * SECOND);
        assert_eq!(buckets.tally(0, 20 * SECOND).failures, 2);
    }

    #[test]
    fn a_crowded_bucket_keeps_its_shares() {
        let cells = cells(10);
        let buckets = Buckets::new(&cells, SECOND);
        for call in 0..100_000 {
            let failed = call % 4 == 0;
            buckets.record(&Always(0), Sample { failed, slow: false }, SECOND);
        }
        let tally = buckets.tally(0, SECOND);
        assert!(tally.failures * 4 >= tally.calls - 8 && tally.failures * 4 <= tally.calls + 8);
    }
}
