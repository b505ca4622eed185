//! Random choices as streams: each part of the world has its own, so that one part's draws do not
//! shift another's.

use fastrand::Rng;
use order_service::core::ports::clock::Entropy;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// One stream of the seed.
#[derive(Debug)]
pub struct Dice(Mutex<Rng>);

impl Dice {
    pub fn new(seed: u64, stream: &str, number: usize) -> Self {
        // FNV-1a over the stream's name: only that the streams differ matters.
        let name = stream
            .bytes()
            .chain(number.to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        let mut mixed = Rng::with_seed(seed ^ name);
        Self(Mutex::new(Rng::with_seed(mixed.u64(..))))
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut Rng) -> T) -> T {
        draw(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn chance(&self, probability: f64) -> bool {
        self.draw(Rng::f64) < probability
    }

    pub fn below(&self, end: usize) -> usize {
        self.draw(|rng| rng.usize(..end.max(1)))
    }

    pub fn between(&self, least: usize, most: usize) -> usize {
        self.draw(|rng| rng.usize(least..=most))
    }

    pub fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub fn millis(&self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.draw(|rng| rng.u64(least..=most.max(least))))
    }

    /// Up to an hour early or late, for three clocks.
    pub fn offsets(&self) -> [i64; 3] {
        [(); 3].map(|()| self.draw(|rng| rng.i64(-3_600..=3_600)))
    }

    pub fn up_to(&self, most: Duration) -> Duration {
        self.millis(0, u64::try_from(most.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Entropy for Dice {
    fn bits(&self) -> u128 {
        self.draw(|rng| rng.u128(..))
    }
}
