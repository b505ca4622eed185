//! The last N calls, exactly, without a lock: a true ring whose every append is one
//! compare-and-swap.
//!
//! The newest calls live in the *active* word, together with the counts over the whole window.
//! When its slots are full, the next append first copies it to its cell among the older segments,
//! then goes on in an emptied active word. Whoever comes first does the copying, so nobody waits.
//!
//! ```text
//! active:  generation | healthy | full | lap | segment | failures | slow | fill | slow bits | failure bits
//! cell:    generation | lap | slow bits | failure bits
//! ```
//!
//! The call that leaves the window is read from its cell, which stands still as long as the active
//! word does; the swap that appends also moves the counts, so they cannot drift. A thread that was
//! held up between reading and swapping fails its swap, because laps and generations tag every
//! word: it would have to sleep through exactly a multiple of 256 laps (33 792 calls) to be taken
//! for another.
//!
//! **The healthy shortcut.** When the window is full and holds only good calls, one more good call
//! leaves the same multiset whatever slot it takes. It is not written at all: on an ordinary day
//! the window costs one load, the same on every thread.

use super::atomic::Atomic;
use super::layout::{
    FULL, GENERATION, GENERATION_MASK, HEALTHY, Layout, Span, calls, cell_of, empty, fill, lap,
    mask, segment,
};
use super::sample::{Generation, Sample};
use super::state::Tally;

/// A view of the words of one ring.
pub(super) struct Ring<'a, A, L> {
    active: &'a A,
    cells: &'a [A],
    span: Span,
    layout: std::marker::PhantomData<L>,
}

impl<'a, A: Atomic, L: Layout> Ring<'a, A, L> {
    #[inline]
    pub(super) const fn new(active: &'a A, cells: &'a [A], span: Span) -> Self {
        Self { active, cells, span, layout: std::marker::PhantomData }
    }

    /// Appends a call and returns the word that then stands; `None` when there is nothing to judge:
    /// the call came too late for its generation, or it changed nothing.
    #[inline(always)]
    pub(super) fn record(&self, generation: &impl Generation, sample: Sample) -> Option<u64> {
        let mut stands = self.active.read();
        loop {
            let mut word = stands;
            if word >> GENERATION != generation.number() & GENERATION_MASK {
                // Checked after the read: then a word of another generation is an older one.
                if !generation.is_current() {
                    return None;
                }
                word = empty(generation.number());
            } else if word & HEALTHY != 0 && sample.is_good() {
                return None;
            }
            if fill::<L>(word) == L::SLOTS {
                let Some(turned) = self.advance(word) else {
                    stands = self.active.read();
                    continue;
                };
                word = turned;
            }
            let next = self.append(word, sample);
            match self.active.replace(stands, next) {
                Ok(()) => return Some(next),
                Err(other) => stands = other,
            }
        }
    }

    /// The word with one call more, and one less if the window was full.
    #[inline(always)]
    fn append(&self, word: u64, sample: Sample) -> u64 {
        let (failed, slow) = (u64::from(sample.failed), u64::from(sample.slow));
        let fill = fill::<L>(word);
        let bits = (failed << fill) | (slow << (L::SLOTS + fill));
        let counts = (1 << L::FILL) + (failed << L::FAILURES) + (slow << L::SLOW);
        let mut next = ((word & !HEALTHY) + counts) | bits;
        if word & FULL != 0 {
            let (failed, slow) = self.leaving(word, fill);
            next -= (failed << L::FAILURES) + (slow << L::SLOW);
        } else if calls::<L>(next) == self.span.size {
            next |= FULL;
        }
        if next & (L::BAD | FULL) == FULL { next | HEALTHY } else { next }
    }

    /// Puts a full segment away into its cell, unless somebody else has, and goes to the next.
    /// `None` when the word has moved on meanwhile.
    #[cold]
    fn advance(&self, word: u64) -> Option<u64> {
        let (segment, lap) = (segment::<L>(word), lap::<L>(word));
        let cell = &self.cells[index(segment)];
        let (there, wanted) = (cell.read(), cell_of::<L>(word));
        if there != wanted {
            cell.replace(there, wanted).ok()?;
        }
        let around = segment + 1 == self.cells.len() as u64;
        let (segment, lap) =
            if around { (0, (lap + 1) & mask(L::LAP_BITS)) } else { (segment + 1, lap) };
        let kept = (word >> 56 << 56) | (word & L::BAD);
        Some(kept | (segment << L::SEGMENT) | (lap << L::LAP))
    }

    /// The call that the next append pushes out of a full window, as two bits.
    #[inline(always)]
    fn leaving(&self, word: u64, fill: u64) -> (u64, u64) {
        // One segment further back where the slots of this one do not suffice.
        let borrow = u64::from(fill < self.span.slots);
        let slot = fill + borrow * L::SLOTS - self.span.slots;
        let back = self.span.segments + borrow;
        let bits = if back == 0 {
            word
        } else {
            let segment = segment::<L>(word);
            let around = if segment < back { self.cells.len() as u64 } else { 0 };
            self.cells[index(segment + around - back)].read()
        };
        ((bits >> slot) & 1, (bits >> (L::SLOTS + slot)) & 1)
    }

    /// What the window holds by this word.
    #[inline]
    pub(super) fn tally_of(&self, word: u64) -> Tally {
        Tally {
            calls: if word & FULL == 0 { calls::<L>(word) } else { self.span.size },
            failures: (word >> L::FAILURES) & mask(L::COUNT_BITS),
            slow: (word >> L::SLOW) & mask(L::COUNT_BITS),
        }
    }

    /// What the window holds for this generation.
    pub(super) fn tally(&self, generation: u64) -> Tally {
        let word = self.active.read();
        if word >> GENERATION == generation & GENERATION_MASK {
            self.tally_of(word)
        } else {
            Tally::default()
        }
    }

    /// Starts an empty window for this generation, so that one 64 generations old cannot pass for
    /// it. Late is harmless: whoever records first does it as well.
    pub(super) fn clear(&self, generation: &impl Generation) {
        let stands = self.active.read();
        let word = empty(generation.number());
        if stands >> GENERATION != word >> GENERATION && generation.is_current() {
            // A lost race means that another has begun the new window.
            let _begun = self.active.replace(stands, word);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a segment's number, at most 1024")]
#[inline]
const fn index(segment: u64) -> usize {
    segment as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::resilience::breaker::layout::{
        Large, MAX_CALLS, MAX_SMALL, SMALL_CELLS, Small,
    };
    use std::collections::VecDeque;
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

    fn cells(count: u64) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(0)).collect()
    }

    /// Good weeks, bad hours: long stretches of one temper, so that the healthy shortcut is taken
    /// as well as left.
    fn weather(random: &mut fastrand::Rng, call: u64) -> Sample {
        let share =
            [0.0, 0.0, 0.1, 0.5, 1.0][usize::from(call / 150 % 5 == 4) + random.usize(0..4)];
        Sample { failed: random.f64() < share, slow: random.f64() < share / 2.0 }
    }

    fn matches_a_fold<L: Layout>(size: u64, cells: &[AtomicU64], calls: u64, generation: u64) {
        let active = AtomicU64::new(0);
        let ring = Ring::<AtomicU64, L>::new(&active, cells, Span::of::<L>(size));
        let mut random = fastrand::Rng::with_seed(size);
        let mut last = VecDeque::new();
        for call in 0..calls {
            let sample =
                if call / 700 % 2 == 0 { weather(&mut random, call) } else { Sample::GOOD };
            ring.record(&Always(generation), sample);
            last.push_back(sample);
            if last.len() as u64 > size {
                last.pop_front();
            }
            let count = |by: fn(&Sample) -> bool| last.iter().filter(|s| by(s)).count() as u64;
            let fold = Tally {
                calls: last.len() as u64,
                failures: count(|sample| sample.failed),
                slow: count(|sample| sample.slow),
            };
            assert_eq!(ring.tally(generation), fold, "window {size}, call {call}");
        }
    }

    #[test]
    fn every_small_window_is_exactly_the_last_calls() {
        for size in 1..=MAX_SMALL {
            matches_a_fold::<Small>(size, &cells(SMALL_CELLS as u64), 3_000, size);
        }
    }

    #[test]
    fn larger_windows_are_exactly_the_last_calls() {
        for size in [129, 130, 131, 132, 200, 257, 1_000, MAX_CALLS] {
            let cells = cells(Span::of::<Large>(size).cells::<Large>());
            matches_a_fold::<Large>(size, &cells, 3 * size + 2_000, 7);
        }
    }

    #[test]
    fn the_window_is_exact_across_the_wrap_of_its_laps() {
        let laps = 256 * SMALL_CELLS as u64 * Small::SLOTS;
        let (active, cells) = (AtomicU64::new(0), cells(SMALL_CELLS as u64));
        let ring = Ring::<AtomicU64, Small>::new(&active, &cells, Span::of::<Small>(128));
        for call in 0..laps + 10_000 {
            let failed = call % 4 == 0;
            ring.record(&Always(0), Sample { failed, slow: false });
            if call > laps - 10_000 {
                let fold = Tally { calls: 128, failures: 32, slow: 0 };
                assert_eq!(ring.tally(0), fold, "call {call}");
            }
        }
    }

    #[test]
    fn a_full_window_of_good_calls_is_not_written_again() {
        let (active, cells) = (AtomicU64::new(0), cells(SMALL_CELLS as u64));
        let ring = Ring::<AtomicU64, Small>::new(&active, &cells, Span::of::<Small>(50));
        for _ in 0..50 {
            ring.record(&Always(0), Sample::GOOD);
        }
        let full = active.read();
        for _ in 0..1_000 {
            assert_eq!(ring.record(&Always(0), Sample::GOOD), None);
        }
        assert_eq!(active.read(), full);
    }
}
