//! The guards of one partner, built together: each adapter takes them apart into fields of its own.

use super::breaker::{Breaker, BreakerConfig};
use super::clock::MonotonicClock;
use super::deadline::CallTimeout;
use super::observer::Observer;
use super::retry::Retry;
use super::semaphore::Semaphore;
use super::settings::{BulkheadConfig, InvalidSetting, RetryConfig, TimeoutConfig};
use crate::core::domain::unavailable::System;
use std::sync::Arc;

/// What the guards of one partner are built from.
#[derive(Debug, Clone)]
pub struct GuardConfig {
    /// How long a call may take, in layers.
    pub timeouts: TimeoutConfig,
    /// How many calls at a time.
    pub bulkhead: BulkheadConfig,
    /// When no calls at all.
    pub breaker: BreakerConfig,
    /// Which reads again.
    pub retry: RetryConfig,
}

/// The guards of one partner.
#[derive(Debug)]
pub struct Guards {
    /// Shared with whoever shows it.
    pub breaker: Arc<Breaker>,
    /// Tells the breaker of calls that hang.
    pub semaphore: Arc<Semaphore>,
    /// Of one attempt.
    pub call_timeout: CallTimeout,
    /// Of reads.
    pub retry: Retry,
}

impl Guards {
    /// Guards that know one another.
    ///
    /// # Errors
    ///
    /// Every setting that cannot be.
    pub fn new(
        system: System,
        config: &GuardConfig,
        clock: MonotonicClock,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Vec<InvalidSetting>> {
        let breaker =
            Arc::new(Breaker::new(system, &config.breaker, clock.clone(), Arc::clone(&observer))?);
        let semaphore = Semaphore::new(system, &config.bulkhead, clock, Arc::clone(&observer))?
            .reporting_to(Arc::clone(&breaker));
        Ok(Self {
            breaker,
            semaphore: Arc::new(semaphore),
            call_timeout: CallTimeout::new(config.timeouts.call),
            retry: Retry::new(system, config.retry.clone(), observer)?,
        })
    }
}
