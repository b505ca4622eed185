//! The last N calls, exactly, without a lock: a true ring whose every append is one
//! compare-and-swap.
//!
//! The newest calls live in the *active* word, together with the counts over the whole window.
//! When its slots are full, the next append first copies it to its cell among the older segments,
//! then goes on in an emptied active word. Whoever comes first does the copying, so nobody waits.
//!
//! ```text
//! active:  generation | lap | segment | failures | slow | fill | slow bits | failure bits
//! cell:    generation | lap | slow bits | failure bits
//! ```
//!
//! The call that leaves the window is read from its cell, which stands still as long as the active
//! word does; the swap that appends also moves the counts, so they cannot drift. A thread that was
//! held up between reading and swapping fails its swap, because laps and generations tag every
//! word: it would have to sleep through exactly a multiple of 1023 laps (135 036 calls) to be taken
//! for another.
//!
//! **The healthy shortcut.** When the window is full and holds only good calls, one more good call
//! leaves the same multiset whatever slot it takes. It is not written at all: on an ordinary day
//! the window costs three loads.

use super::atomic::Atomic;
use super::rules::Tally;
use super::window::{Generation, Sample};

/// The largest window that fits the counts of the large layout.
pub(super) const MAX_CALLS: u64 = 4095;
const MAX_SMALL: u64 = 128;

/// Cells of the small layout: 11 segments of 12 calls hold a window of up to 128 beside the active.
pub(super) const SMALL_CELLS: usize = 11;

/// How a window of this size is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) enum Size {
    Small(u64),
    Large(u64),
}

impl Size {
    pub(super) const fn of(calls: u64) -> Self {
        if calls <= MAX_SMALL { Self::Small(calls) } else { Self::Large(calls) }
    }

    /// Cells beyond the inline ones.
    pub(super) fn cells(self) -> u64 {
        match self {
            Self::Small(_) => 0,
            Self::Large(calls) => calls.div_ceil(Large::SLOTS),
        }
    }
}

/// Bits of the active word, from the lowest: failure bits, slow bits, fill, slow, failures,
/// segment, lap, generation.
pub(super) trait Layout {
    const SLOTS: u64;
    const FILL_BITS: u64;
    const COUNT_BITS: u64;
    const SEGMENT_BITS: u64;
    const LAP_BITS: u64;

    const FILL: u64 = 2 * Self::SLOTS;
    const SLOW: u64 = Self::FILL + Self::FILL_BITS;
    const FAILURES: u64 = Self::SLOW + Self::COUNT_BITS;
    const SEGMENT: u64 = Self::FAILURES + Self::COUNT_BITS;
    const LAP: u64 = Self::SEGMENT + Self::SEGMENT_BITS;
    const GENERATION: u64 = Self::LAP + Self::LAP_BITS;
}

#[derive(Debug)]
pub(super) struct Small;

impl Layout for Small {
    const SLOTS: u64 = 12;
    const FILL_BITS: u64 = 4;
    const COUNT_BITS: u64 = 8;
    const SEGMENT_BITS: u64 = 4;
    const LAP_BITS: u64 = 10;
}

#[derive(Debug)]
pub(super) struct Large;

impl Layout for Large {
    const SLOTS: u64 = 4;
    const FILL_BITS: u64 = 3;
    const COUNT_BITS: u64 = 12;
    const SEGMENT_BITS: u64 = 10;
    const LAP_BITS: u64 = 13;
}

/// The low bits of the generation that the words have room for.
const GENERATION_MASK: u64 = 63;

const fn mask(bits: u64) -> u64 {
    (1 << bits) - 1
}

/// The active word, unpacked.
struct Active<L> {
    generation: u64,
    /// How often the ring has gone round; skips zero when it wraps, since zero means "not yet full".
    lap: u64,
    segment: u64,
    failures: u64,
    slow: u64,
    fill: u64,
    bits: u64,
    layout: std::marker::PhantomData<L>,
}

impl<L: Layout> Active<L> {
    const fn empty(generation: u64) -> Self {
        Self {
            generation: generation & GENERATION_MASK,
            lap: 0,
            segment: 0,
            failures: 0,
            slow: 0,
            fill: 0,
            bits: 0,
            layout: std::marker::PhantomData,
        }
    }

    #[inline]
    fn unpack(word: u64) -> Self {
        Self {
            generation: word >> L::GENERATION,
            lap: (word >> L::LAP) & mask(L::LAP_BITS),
            segment: (word >> L::SEGMENT) & mask(L::SEGMENT_BITS),
            failures: (word >> L::FAILURES) & mask(L::COUNT_BITS),
            slow: (word >> L::SLOW) & mask(L::COUNT_BITS),
            fill: (word >> L::FILL) & mask(L::FILL_BITS),
            bits: word & mask(L::FILL),
            layout: std::marker::PhantomData,
        }
    }

    #[inline]
    fn pack(&self) -> u64 {
        (self.generation << L::GENERATION)
            | (self.lap << L::LAP)
            | (self.segment << L::SEGMENT)
            | (self.failures << L::FAILURES)
            | (self.slow << L::SLOW)
            | (self.fill << L::FILL)
            | self.bits
    }

    /// Calls so far in this generation, or the window's size if they are more.
    #[inline]
    fn calls(&self, size: u64) -> u64 {
        if self.lap > 0 { size } else { (self.segment * L::SLOTS + self.fill).min(size) }
    }

    #[inline]
    fn tally(&self, size: u64) -> Tally {
        Tally { calls: self.calls(size), failures: self.failures, slow: self.slow }
    }

    /// What this segment's cell holds once it is full.
    fn cell(&self) -> u64 {
        (((self.generation << L::LAP_BITS) | self.lap) << L::FILL) | self.bits
    }

    fn turn(&mut self, cells: u64) {
        self.segment += 1;
        if self.segment == cells {
            self.segment = 0;
            self.lap = if self.lap == mask(L::LAP_BITS) { 1 } else { self.lap + 1 };
        }
        self.fill = 0;
        self.bits = 0;
    }
}

/// A view of the words of one ring.
pub(super) struct Ring<'a, A, L> {
    active: &'a A,
    cells: &'a [A],
    size: u64,
    layout: std::marker::PhantomData<L>,
}

impl<'a, A: Atomic, L: Layout> Ring<'a, A, L> {
    #[inline]
    pub(super) const fn new(active: &'a A, cells: &'a [A], size: u64) -> Self {
        Self { active, cells, size, layout: std::marker::PhantomData }
    }

    /// Appends a call and tells what the window then holds; `None` when there is nothing to judge:
    /// the call came too late for its generation, or it changed nothing.
    #[inline]
    pub(super) fn record(&self, generation: &impl Generation, sample: Sample) -> Option<Tally> {
        let tag = generation.number() & GENERATION_MASK;
        loop {
            let word = self.active.read();
            let mut active = Active::<L>::unpack(word);
            if active.generation != tag {
                // Checked after the load: then a word of another generation is an older one.
                if !generation.is_current() {
                    return None;
                }
                active = Active::empty(tag);
            } else if sample.is_good() && self.is_healthy(&active) {
                return None;
            }
            if self.append(&mut active, sample).is_some()
                && self.active.replace(word, active.pack()).is_ok()
            {
                return Some(active.tally(self.size));
            }
        }
    }

    #[inline]
    fn is_healthy(&self, active: &Active<L>) -> bool {
        active.failures == 0 && active.slow == 0 && active.calls(self.size) == self.size
    }

    /// `None` when the word has moved on meanwhile.
    #[inline]
    fn append(&self, active: &mut Active<L>, sample: Sample) -> Option<()> {
        let full = active.calls(self.size) == self.size;
        if active.fill == L::SLOTS {
            self.put_away(active)?;
            active.turn(self.cells.len() as u64);
        }
        if full {
            let leaving = self.leaving(active);
            active.failures -= u64::from(leaving.failed);
            active.slow -= u64::from(leaving.slow);
        }
        active.bits |= u64::from(sample.failed) << active.fill;
        active.bits |= u64::from(sample.slow) << (L::SLOTS + active.fill);
        active.failures += u64::from(sample.failed);
        active.slow += u64::from(sample.slow);
        active.fill += 1;
        Some(())
    }

    /// Copies a full segment to its cell, unless somebody else has.
    fn put_away(&self, active: &Active<L>) -> Option<()> {
        let cell = &self.cells[index(active.segment)];
        let (stands, wanted) = (cell.read(), active.cell());
        if stands == wanted { Some(()) } else { cell.replace(stands, wanted).ok() }
    }

    /// The call that the next append pushes out of a full window.
    #[inline]
    fn leaving(&self, active: &Active<L>) -> Sample {
        let (bits, slot) = if self.size <= active.fill {
            (active.bits, active.fill - self.size)
        } else {
            let back = self.size - active.fill;
            let segments = back.div_ceil(L::SLOTS);
            let cells = self.cells.len() as u64;
            let cell = &self.cells[index((active.segment + cells - segments) % cells)];
            (cell.read(), segments * L::SLOTS - back)
        };
        Sample { failed: (bits >> slot) & 1 == 1, slow: (bits >> (L::SLOTS + slot)) & 1 == 1 }
    }

    /// What the window holds for this generation.
    pub(super) fn tally(&self, generation: u64) -> Tally {
        let active = Active::<L>::unpack(self.active.read());
        if active.generation == generation & GENERATION_MASK {
            active.tally(self.size)
        } else {
            Tally::default()
        }
    }

    /// Starts an empty window for this generation, so that one 64 generations old cannot pass for
    /// it. Late is harmless: whoever records first does it as well.
    pub(super) fn clear(&self, generation: &impl Generation) {
        let word = self.active.read();
        let empty = Active::<L>::empty(generation.number()).pack();
        if word >> L::GENERATION != generation.number() & GENERATION_MASK && generation.is_current()
        {
            // A lost race means that another has begun the new window.
            let _begun = self.active.replace(word, empty);
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
        let ring = Ring::<AtomicU64, L>::new(&active, cells, size);
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
            let cells = cells(Size::of(size).cells());
            matches_a_fold::<Large>(size, &cells, 3 * size + 2_000, 7);
        }
    }

    #[test]
    fn the_window_is_exact_across_the_wrap_of_its_laps() {
        let laps = 1_023 * SMALL_CELLS as u64 * Small::SLOTS;
        let (active, cells) = (AtomicU64::new(0), cells(SMALL_CELLS as u64));
        let ring = Ring::<AtomicU64, Small>::new(&active, &cells, 128);
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
        let ring = Ring::<AtomicU64, Small>::new(&active, &cells, 50);
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
