//! What the breaker remembers of calls while it is closed: one interface over the three kinds of
//! window, and the words they are made of.

use super::atomic::Atomic;
use super::buckets::Buckets;
use super::layout::{Large, SMALL_CELLS, Small, Span, is_healthy};
use super::ring::Ring;
use super::rules::{self, Rules};
use super::sample::{Generation, Sample};
use super::state::Tally;
use super::streak;
use super::time_source::TimeSource;

/// The words of a window; what they mean is in the [`Rules`]. Those that every record writes stand
/// last, away from the breaker's word, which every call reads.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Window<A> {
    cells: Cells<A>,
    streak: A,
    active: A,
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
            rules::Window::ManyCalls(span) => span.cells::<Large>(),
            rules::Window::Time { buckets, .. } if buckets > SMALL_CELLS as u64 => buckets,
            rules::Window::Calls(_) | rules::Window::Time { .. } | rules::Window::None => 0,
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
        is_healthy(self.active.read(), generation)
            && (rules.streak == 0 || streak::is_over(&self.streak))
    }

    /// Remembers a call, and says with which counts the breaker must open because of it.
    #[inline(always)]
    pub(super) fn record(
        &self,
        rules: &Rules,
        generation: &impl Generation,
        sample: Sample,
        time: &impl TimeSource,
    ) -> Option<Tally> {
        if let rules::Window::Calls(span) = rules.window
            && let Cells::Inline(cells) = &self.cells
            && rules.streak == 0
        {
            let ring = Ring::<A, Small>::new(&self.active, cells, span);
            let tally = ring.tally_of(ring.record(generation, sample)?);
            // A good call lowers every share; only by reaching the minimum can it show one.
            let decides = !sample.is_good() || tally.calls == rules.min_calls;
            return (decides && rules.condemn(tally)).then_some(tally);
        }
        self.record_with_care(rules, generation, sample, time)
    }

    /// The windows that are rarer than the default one, kept out of its way.
    #[inline(never)]
    fn record_with_care(
        &self,
        rules: &Rules,
        generation: &impl Generation,
        sample: Sample,
        time: &impl TimeSource,
    ) -> Option<Tally> {
        let tally = match rules.window {
            rules::Window::Calls(span) => {
                let ring = self.small(span);
                ring.record(generation, sample).map(|word| ring.tally_of(word))
            }
            rules::Window::ManyCalls(span) => {
                let ring = self.large(span);
                ring.record(generation, sample).map(|word| ring.tally_of(word))
            }
            rules::Window::Time { bucket_nanos, buckets } => {
                self.buckets(buckets, bucket_nanos).record(generation, sample, time.now())
            }
            rules::Window::None => None,
        };
        if rules.streak > 0 {
            let length = streak::record(&self.streak, generation, sample.failed);
            if length >= rules.streak {
                return Some(tally.unwrap_or(Tally { calls: length, failures: length, slow: 0 }));
            }
        }
        tally.filter(|tally| rules.condemn(*tally))
    }

    pub(super) fn tally(&self, rules: &Rules, generation: u64, time: &impl TimeSource) -> Tally {
        match rules.window {
            rules::Window::Calls(span) => self.small(span).tally(generation),
            rules::Window::ManyCalls(span) => self.large(span).tally(generation),
            rules::Window::Time { bucket_nanos, buckets } => {
                self.buckets(buckets, bucket_nanos).tally(generation, time.now())
            }
            rules::Window::None => {
                let length = streak::length(&self.streak, generation);
                Tally { calls: length, failures: length, slow: 0 }
            }
        }
    }

    /// Forgets everything, for a generation that begins.
    pub(super) fn clear(&self, rules: &Rules, generation: &impl Generation) {
        match rules.window {
            rules::Window::Calls(span) => self.small(span).clear(generation),
            rules::Window::ManyCalls(span) => self.large(span).clear(generation),
            rules::Window::Time { .. } | rules::Window::None => {}
        }
    }

    #[inline]
    fn small(&self, span: Span) -> Ring<'_, A, Small> {
        Ring::new(&self.active, self.cells(), span)
    }

    fn buckets(&self, count: u64, nanos: u64) -> Buckets<'_, A> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Buckets::new(self.cells().get(..count).unwrap_or_default(), nanos)
    }

    fn large(&self, span: Span) -> Ring<'_, A, Large> {
        Ring::new(&self.active, self.cells(), span)
    }
}
