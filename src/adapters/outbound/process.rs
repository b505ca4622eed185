//! What the process itself gives: the wall clock, and random bits that nobody can guess.

use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::clock::{Clock, Entropy};
use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy, Default)]
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
    }
}

/// Draws of one system call: each for itself would be the dearest thing that a read from the cache does.
const DRAWS: usize = 64;
const BYTES: usize = size_of::<u128>();

thread_local! {
    static DRAWN: RefCell<Vec<u128>> = const { RefCell::new(Vec::new()) };
}

/// The operating system's random bits, each of them given once.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn bits(&self) -> u128 {
        DRAWN.with_borrow_mut(|drawn| {
            if drawn.is_empty() {
                drawn.extend(draw());
            }
            drawn.pop().expect("just drawn")
        })
    }
}

fn draw() -> [u128; DRAWS] {
    let mut bytes = [0; DRAWS * BYTES];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    let (draws, _) = bytes.as_chunks::<BYTES>();
    std::array::from_fn(|place| u128::from_ne_bytes(draws[place]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_draws_are_the_same() {
        let draws: HashSet<u128> = (0..3 * DRAWS).map(|_| SystemEntropy.bits()).collect();
        assert_eq!(draws.len(), 3 * DRAWS);
    }
}
