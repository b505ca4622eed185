//! The guards of one partner, built together: each adapter takes them apart into fields of its own.

use super::breaker::{Breaker, BreakerConfig};
use super::clock::Clock;
use super::deadline::CallTimeout;
use super::observer::Observer;
use super::retry::Retry;
use super::semaphore::Semaphore;
use super::settings::{BulkheadConfig, Fault, RetryConfig, TimeoutConfig};
use crate::core::domain::unavailable::System;
use std::sync::Arc;

/// What the guards of one partner are built from.
#[derive(Debug, Clone)]
pub struct GuardConfig {
    pub timeouts: TimeoutConfig,
    pub bulkhead: BulkheadConfig,
    pub breaker: BreakerConfig,
    pub retry: RetryConfig,
}

#[derive(Debug)]
pub struct Guards {
    pub breaker: Arc<Breaker>,
    /// Tells the breaker of calls that hang.
    pub semaphore: Arc<Semaphore>,
    pub call_timeout: CallTimeout,
    pub retry: Retry,
}

impl Guards {
    /// # Errors
    /// Every setting that cannot be.
    pub fn new(
        system: System,
        config: &GuardConfig,
        clock: Clock,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Vec<Fault>> {
        let breaker =
            Arc::new(Breaker::new(system, &config.breaker, clock.clone(), Arc::clone(&observer))?);
        let semaphore = Semaphore::new(system, &config.bulkhead, clock, Arc::clone(&observer))?
            .watched_by(Arc::clone(&breaker));
        Ok(Self {
            breaker,
            semaphore: Arc::new(semaphore),
            call_timeout: CallTimeout::new(config.timeouts.call),
            retry: Retry::new(system, config.retry.clone(), observer)?,
        })
    }
}
