//! How many requests are served at a time.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A fixed number of permits, without a queue: who finds none is refused at once.
#[derive(Debug)]
pub struct ConcurrencyLimit {
    permits: usize,
    taken: AtomicUsize,
}

/// The right to be served; given back when dropped.
#[derive(Debug)]
pub struct RequestPermit<'a>(&'a ConcurrencyLimit);

impl ConcurrencyLimit {
    pub const fn new(permits: usize) -> Self {
        Self { permits, taken: AtomicUsize::new(0) }
    }

    /// Whether a request that came now would find no permit.
    pub fn is_full(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.permits
    }

    pub fn try_acquire(&self) -> Option<RequestPermit<'_>> {
        // The permit exists from here on, so that a refusal gives it back like everyone else.
        let permit = RequestPermit(self);
        (self.taken.fetch_add(1, Ordering::Relaxed) < self.permits).then_some(permit)
    }
}

impl Drop for RequestPermit<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reached_limit_refuses_and_a_permit_given_back_is_free_again() {
        let limit = ConcurrencyLimit::new(1);
        let permit = limit.try_acquire().unwrap();
        assert!(limit.try_acquire().is_none());
        assert!(limit.try_acquire().is_none());
        assert!(limit.is_full());
        drop(permit);
        assert!(!limit.is_full());
        assert!(limit.try_acquire().is_some());
    }
}
