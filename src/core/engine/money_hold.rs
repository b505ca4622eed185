//! While it is held, nothing that moves money is sent to a payment system, whoever decided it; questions are.

use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that the gateway looks at before each call.
#[derive(Debug, Default)]
pub struct MoneyHold(AtomicBool);

impl MoneyHold {
    /// Whether calls are held back.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Holds or lets go; answers what it was before.
    pub fn set(&self, held: bool) -> bool {
        self.0.swap(held, Ordering::Relaxed)
    }
}
