//! Failures in a row, in one word: generation and count. A good call writes only if there is a
//! streak to end.

use super::atomic::Atomic;
use super::sample::Generation;

const COUNT_BITS: u64 = 40;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

/// Counts a call; returns the failures in a row that end with it.
#[inline]
pub(super) fn record<A: Atomic>(word: &A, generation: &impl Generation, failed: bool) -> u64 {
    loop {
        let stands = word.read();
        let mut count = stands & COUNT_MASK;
        if stands >> COUNT_BITS != generation.number() {
            if !generation.is_current() {
                return 0;
            }
            count = 0;
        }
        if count == 0 && !failed {
            return 0;
        }
        let next = if failed { (count + 1).min(COUNT_MASK) } else { 0 };
        if word.replace(stands, (generation.number() << COUNT_BITS) | next).is_ok() {
            return next;
        }
    }
}

/// Whether the word holds no streak of any generation, so that a good call has none to end.
#[inline]
pub(super) fn is_over<A: Atomic>(word: &A) -> bool {
    word.read() & COUNT_MASK == 0
}

/// The streak of this generation.
pub(super) fn length<A: Atomic>(word: &A, generation: u64) -> u64 {
    let stands = word.read();
    if stands >> COUNT_BITS == generation { stands & COUNT_MASK } else { 0 }
}
