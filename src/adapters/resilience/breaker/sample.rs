//! What a call adds to a window, and to which generation of the breaker it belongs.

/// What a call adds to the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// It failed, or it counts as a failure because it was slow.
    pub failed: bool,
    /// It took as long as the slow threshold or longer.
    pub slow: bool,
}

impl Sample {
    /// In time, and without a failure.
    pub const GOOD: Self = Self { failed: false, slow: false };
    /// In time, but a failure.
    pub const FAILED: Self = Self { failed: true, slow: false };
    /// Without a failure, but slow.
    pub const SLOW: Self = Self { failed: false, slow: true };

    /// Neither failed nor slow.
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
