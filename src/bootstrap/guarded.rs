//! The guards of one system, as the operator's port knows them.

use crate::adapters::observe::systems::{SystemControl, SystemView};
use crate::adapters::resilience::breaker::{Breaker, BreakerMode};
use crate::adapters::resilience::semaphore::Semaphore;
use crate::core::domain::unavailable::System;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub struct GuardedSystem {
    pub breaker: Arc<Breaker>,
    pub semaphore: Arc<Semaphore>,
    /// Names without the system's prefix.
    pub settings: Vec<(String, String)>,
}

impl SystemControl for GuardedSystem {
    fn system(&self) -> System {
        self.breaker.system()
    }

    fn describe(&self) -> SystemView {
        SystemView {
            system: self.system(),
            breaker: self.breaker.snapshot(),
            bulkhead: self.semaphore.snapshot(),
            config: self.settings.clone(),
        }
    }

    fn set_mode(&self, mode: BreakerMode, ttl: Option<Duration>) {
        self.breaker.set_mode(mode, ttl);
    }

    fn reset(&self) {
        self.breaker.reset();
    }
}
