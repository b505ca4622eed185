//! How the words of a ring are cut into parts: one layout for windows that fit the breaker itself,
//! one for larger windows on the heap.

/// The largest window that fits the counts of the large layout.
pub(super) const MAX_CALLS: u64 = 4095;
pub(super) const MAX_SMALL: u64 = 128;

/// Cells of the small layout: 11 segments of 12 calls hold a window of up to 128 beside the active.
pub(super) const SMALL_CELLS: usize = 11;

/// The size of a window, and how far back in the ring it reaches: whole segments and slots on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) size: u64,
    pub(super) segments: u64,
    pub(super) slots: u64,
}

impl Span {
    pub(super) const fn of<L: Layout>(size: u64) -> Self {
        Self { size, segments: size / L::SLOTS, slots: size % L::SLOTS }
    }

    /// Cells for the segments that are not active.
    pub(super) const fn cells<L: Layout>(self) -> u64 {
        self.size.div_ceil(L::SLOTS)
    }
}

/// Where the parts of the active word lie, from the lowest bit. Counts are changed in place: the
/// arithmetic of a whole append is a few additions on one register.
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
    /// Failures and slow calls together, to be compared with zero.
    const BAD: u64 = mask(2 * Self::COUNT_BITS) << Self::SLOW;
}

#[derive(Debug)]
pub(super) struct Small;

impl Layout for Small {
    const SLOTS: u64 = 12;
    const FILL_BITS: u64 = 4;
    const COUNT_BITS: u64 = 8;
    const SEGMENT_BITS: u64 = 4;
    const LAP_BITS: u64 = 8;
}

#[derive(Debug)]
pub(super) struct Large;

impl Layout for Large {
    const SLOTS: u64 = 4;
    const FILL_BITS: u64 = 3;
    const COUNT_BITS: u64 = 12;
    const SEGMENT_BITS: u64 = 10;
    const LAP_BITS: u64 = 11;
}

/// Above the parts of either layout. Once full, a window stays so.
pub(super) const FULL: u64 = 1 << 56;
/// The window is full and holds only good calls.
pub(super) const HEALTHY: u64 = 1 << 57;
/// The low bits of the generation, as many as there is room for.
pub(super) const GENERATION: u64 = 58;
pub(super) const GENERATION_MASK: u64 = mask(64 - GENERATION);

pub(super) const fn mask(bits: u64) -> u64 {
    (1 << bits) - 1
}

/// Whether one more good call would change nothing in this window of this generation: it is full
/// and holds only good calls already.
#[inline]
pub(super) const fn is_healthy(active: u64, generation: u64) -> bool {
    let tag = (generation & GENERATION_MASK) << GENERATION | HEALTHY;
    active & (GENERATION_MASK << GENERATION | HEALTHY) == tag
}

pub(super) const fn empty(generation: u64) -> u64 {
    (generation & GENERATION_MASK) << GENERATION
}

#[inline]
pub(super) const fn fill<L: Layout>(word: u64) -> u64 {
    (word >> L::FILL) & mask(L::FILL_BITS)
}

#[inline]
pub(super) const fn segment<L: Layout>(word: u64) -> u64 {
    (word >> L::SEGMENT) & mask(L::SEGMENT_BITS)
}

/// Calls so far in this generation, as long as the ring has not gone round.
#[inline]
pub(super) const fn calls<L: Layout>(word: u64) -> u64 {
    segment::<L>(word) * L::SLOTS + fill::<L>(word)
}

/// How often the ring has gone round, wrapping.
#[inline]
pub(super) const fn lap<L: Layout>(word: u64) -> u64 {
    (word >> L::LAP) & mask(L::LAP_BITS)
}

/// What a full segment's cell holds: its calls, tagged with generation and lap.
pub(super) const fn cell_of<L: Layout>(word: u64) -> u64 {
    let tag = ((word >> GENERATION) << L::LAP_BITS) | lap::<L>(word);
    (tag << L::FILL) | (word & mask(L::FILL))
}
