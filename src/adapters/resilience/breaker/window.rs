//! What the breaker remembers of calls while it is closed: one interface over the three kinds of
//! window, and the words they are made of.

use super::atomic::Atomic;
use super::buckets::Buckets;
use super::ring::{self, Large, Ring, SMALL_CELLS, Size, Small};
use super::rules::{self, Rules, Tally};
use super::streak;

/// What a call adds to the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    pub failed: bool,
    pub slow: bool,
}

impl Sample {
    pub const GOOD: Self = Self { failed: false, slow: false };
    pub const FAILED: Self = Self { failed: true, slow: false };
    pub const SLOW: Self = Self { failed: false, slow: true };

    #[inline]
    #[must_use]
    pub const fn is_good(self) -> bool {
        !self.failed && !self.slow
    }
}

/// The generation that a call belongs to. Results of another are too late to count.
pub(super) trait Generation {
    fn number(&self) -> u64;

    /// Whether the breaker is still in it.
    fn is_current(&self) -> bool;
}

/// The words of a window; what they mean is in the [`Rules`].
#[derive(Debug)]
pub(super) struct Window<A> {
    active: A,
    streak: A,
    cells: Cells<A>,
}

/// Inline for windows of up to 128 calls or 11 buckets, so that the whole breaker fits two cache
/// lines; on the heap beyond.
#[derive(Debug)]
enum Cells<A> {
    Inline([A; SMALL_CELLS]),
    Heap(Box<[A]>),
}

impl<A: Atomic> Window<A> {
    pub(super) fn new(rules: &Rules) -> Self {
        let heap = match rules.window {
            rules::Window::Calls { size } => Size::of(size).cells(),
            rules::Window::Time { buckets, .. } if buckets > SMALL_CELLS as u64 => buckets,
            rules::Window::Time { .. } | rules::Window::None => 0,
        };
        let cells = if heap == 0 {
            Cells::Inline(std::array::from_fn(|_| A::new(0)))
        } else {
            Cells::Heap((0..heap).map(|_| A::new(0)).collect())
        };
        Self { active: A::new(0), streak: A::new(0), cells }
    }

    #[inline]
    fn cells(&self) -> &[A] {
        match &self.cells {
            Cells::Inline(cells) => cells,
            Cells::Heap(cells) => cells,
        }
    }

    /// Whether a good call would change nothing, so that it need not be recorded at all.
    #[inline]
    pub(super) fn is_healthy(&self, rules: &Rules, generation: u64) -> bool {
        // Only a ring ever sets the bit that is asked for here.
        ring::is_healthy(self.active.read(), generation)
            && (rules.streak == 0 || streak::is_over(&self.streak))
    }

    /// Remembers a call, and says with which counts the breaker must open because of it.
    #[inline]
    pub(super) fn record(
        &self,
        rules: &Rules,
        generation: &impl Generation,
        sample: Sample,
        now: impl FnOnce() -> u64,
    ) -> Option<Tally> {
        // As time passes good calls leave, so in a time window each call may show a share.
        let is_timed = matches!(rules.window, rules::Window::Time { .. });
        let tally = match rules.window {
            rules::Window::Calls { size } => match Size::of(size) {
                Size::Small(size) => self.small(size).record(generation, sample),
                Size::Large(size) => self.large(size).record(generation, sample),
            },
            rules::Window::Time { bucket_nanos, buckets } => {
                self.buckets(buckets, bucket_nanos).record(generation, sample, now())
            }
            rules::Window::None => None,
        };
        if rules.streak > 0 {
            let length = streak::record(&self.streak, generation, sample.failed);
            if length >= rules.streak {
                return Some(tally.unwrap_or(Tally { calls: length, failures: length, slow: 0 }));
            }
        }
        // A good call lowers every share; only by reaching the minimum can it show one.
        tally.filter(|tally| {
            let decides = !sample.is_good() || tally.calls == rules.min_calls || is_timed;
            decides && rules.condemn(*tally)
        })
    }

    pub(super) fn tally(&self, rules: &Rules, generation: u64, now: impl FnOnce() -> u64) -> Tally {
        match rules.window {
            rules::Window::Calls { size } => match Size::of(size) {
                Size::Small(size) => self.small(size).tally(generation),
                Size::Large(size) => self.large(size).tally(generation),
            },
            rules::Window::Time { bucket_nanos, buckets } => {
                self.buckets(buckets, bucket_nanos).tally(generation, now())
            }
            rules::Window::None => {
                let length = streak::length(&self.streak, generation);
                Tally { calls: length, failures: length, slow: 0 }
            }
        }
    }

    /// Forgets everything, for a generation that begins.
    pub(super) fn clear(&self, rules: &Rules, generation: &impl Generation) {
        if let rules::Window::Calls { size } = rules.window {
            match Size::of(size) {
                Size::Small(size) => self.small(size).clear(generation),
                Size::Large(size) => self.large(size).clear(generation),
            }
        }
    }

    #[inline]
    fn small(&self, size: u64) -> Ring<'_, A, Small> {
        Ring::new(&self.active, self.cells(), size)
    }

    fn buckets(&self, count: u64, nanos: u64) -> Buckets<'_, A> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Buckets::new(self.cells().get(..count).unwrap_or_default(), nanos)
    }

    fn large(&self, size: u64) -> Ring<'_, A, Large> {
        Ring::new(&self.active, self.cells(), size)
    }
}
