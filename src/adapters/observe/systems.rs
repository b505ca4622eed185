//! What an operator sees of the guards before each system outside, and what may be turned by hand.
//! Nothing here decides about an order.

use crate::adapters::resilience::breaker::{BreakerMode, BreakerSnapshot};
use crate::adapters::resilience::semaphore::BulkheadSnapshot;
use crate::core::domain::unavailable::System;
use std::fmt;
use std::time::Duration;

/// The guards of one system.
pub trait SystemControl: Send + Sync + fmt::Debug {
    fn system(&self) -> System;

    /// A look without side effect.
    fn describe(&self) -> SystemView;

    /// Switches the breaker's mode; with `ttl` the configured mode returns after it.
    fn set_mode(&self, mode: BreakerMode, ttl: Option<Duration>);

    /// Closes the breaker with an empty window.
    fn reset(&self);
}

/// What the health probes of one system last saw.
pub trait SystemHealth: Send + Sync + fmt::Debug {
    fn system(&self) -> System;

    /// The last finding, at once: a reader never waits for the network. An old finding is renewed
    /// behind the reader's back, by one probe at a time.
    fn look(&self) -> Probed;
}

/// What a probe found, and how long ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probed {
    NotYet,
    Up { age: Duration },
    Down { age: Duration },
}

#[derive(Debug, Clone, PartialEq)]
pub struct SystemView {
    pub system: System,
    pub breaker: BreakerSnapshot,
    pub bulkhead: BulkheadSnapshot,
    /// The effective settings as (name, value), secrets masked.
    pub config: Vec<(String, String)>,
}
