//! The service's own guards, in the hands of an experiment.

use super::load::Answer;
use super::partner::Partner;
use crate::adapters::resilience::breaker::{Breaker, BreakerConfig};
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::deadline::CallTimeout;
use crate::adapters::resilience::guards::{GuardConfig, Guards};
use crate::adapters::resilience::observer::{Observer, Silent};
use crate::adapters::resilience::semaphore::Semaphore;
use crate::adapters::resilience::settings::{BulkheadConfig, RetryConfig, TimeoutConfig};
use crate::core::domain::unavailable::System;
use crate::core::ports::deadline::Deadline;
use std::sync::Arc;
use std::time::Duration;

/// Which system it is said to be does not matter here.
const SYSTEM: System = System::Catalog;

/// The defaults of a payment system, with a call timeout that fits in an experiment.
pub(super) fn defaults(call_timeout: Duration) -> GuardConfig {
    GuardConfig {
        timeouts: TimeoutConfig { call: call_timeout, ..TimeoutConfig::default() },
        bulkhead: BulkheadConfig::default(),
        breaker: BreakerConfig::default(),
        retry: RetryConfig::default(),
    }
}

pub(super) fn guards(config: &GuardConfig) -> Guards {
    Guards::new(SYSTEM, config, MonotonicClock::tokio(), Arc::new(Silent))
        .expect("an experiment's settings are valid")
}

pub(super) fn breaker(config: &BreakerConfig) -> Breaker {
    watched_breaker(config, Arc::new(Silent))
}

/// A breaker that somebody listens to.
pub(super) fn watched_breaker(config: &BreakerConfig, observer: Arc<dyn Observer>) -> Breaker {
    Breaker::new(SYSTEM, config, MonotonicClock::tokio(), observer)
        .expect("an experiment's settings are valid")
}

pub(super) fn semaphore(config: &BulkheadConfig) -> Semaphore {
    Semaphore::new(SYSTEM, config, MonotonicClock::tokio(), Arc::new(Silent))
        .expect("an experiment's settings are valid")
}

/// The sentence that each adapter's method says.
pub(super) async fn guarded(guards: &Guards, deadline: Deadline, partner: &Partner<'_>) -> Answer {
    guards.breaker.check()?;
    let permit = guards.semaphore.acquire(deadline).await?;
    let call = guards.call_timeout.cap(deadline, partner.call());
    permit.hold(guards.breaker.call("call", call)).await
}

/// The same call with nothing but a time limit.
pub(super) async fn bare(limit: Duration, partner: &Partner<'_>) -> Answer {
    CallTimeout::new(limit).cap(patient(), partner.call()).await
}

/// A caller who would wait for an hour.
pub(super) fn patient() -> Deadline {
    Deadline::after(Duration::from_secs(3_600))
}
