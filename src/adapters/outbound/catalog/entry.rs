//! An answer of the catalog, and how old it is: by a clock that nobody sets, from the moment on that we
//! have it.

use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::catalog::{Offer, Product};
use std::time::Duration;
use tokio::time::Instant;

/// An answer of the catalog.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) product: Product,
    pub(super) as_of: Timestamp,
    /// How old it was when we got it, and since when we have it on the clock that nobody sets.
    age_then: Duration,
    since: Instant,
}

impl Entry {
    /// An answer to ourselves.
    pub(super) fn new(product: Product, as_of: Timestamp) -> Self {
        Self::aged(product, as_of, Duration::ZERO)
    }

    /// An answer that somebody else heard a while ago.
    pub(super) fn aged(product: Product, as_of: Timestamp, age: Duration) -> Self {
        Self { product, as_of, age_then: age, since: Instant::now() }
    }

    pub(super) fn age(&self) -> Duration {
        self.age_then.saturating_add(self.since.elapsed())
    }

    /// As the core wants it.
    pub(super) fn offer(&self, stale: bool) -> Offer {
        let (product, as_of) = (self.product.clone(), self.as_of);
        Offer { product, as_of, age: self.age(), stale }
    }
}
