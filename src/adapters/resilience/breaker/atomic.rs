//! The two operations on shared memory that the machine is made of. Behind a trait, so that a model
//! checker can put its own word in the place of the processor's.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

/// A word that threads share: read it, or replace a value that you have read.
pub trait Atomic: Send + Sync + Debug {
    /// A word that holds `value`.
    fn new(value: u64) -> Self;

    /// Sees everything that was written before the value it returns.
    fn read(&self) -> u64;

    /// Replaces `current` by `new`.
    ///
    /// # Errors
    ///
    /// The value that stands there instead.
    fn replace(&self, current: u64, new: u64) -> Result<(), u64>;
}

impl Atomic for AtomicU64 {
    fn new(value: u64) -> Self {
        Self::new(value)
    }

    #[inline]
    fn read(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    #[inline]
    fn replace(&self, current: u64, new: u64) -> Result<(), u64> {
        self.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }
}
