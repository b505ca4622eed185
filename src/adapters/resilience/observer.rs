//! What the guards tell the outside: one trait that metrics implement, called after the fact and
//! under no lock. Every method does nothing by default.

use super::breaker::state::{BreakerRejection, Transition};
use crate::core::domain::unavailable::System;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Hears what the guards do. Methods may call back into the guards; a panic is caught and logged,
/// because a broken counter must not break a payment.
#[expect(unused_variables, reason = "default bodies ignore what they are told")]
pub trait Observer: Send + Sync + Debug {
    /// A call through the breaker ended, with its outcome for the breaker, how long it ran, and the
    /// trace of its last exchange, if it came to one.
    fn called(
        &self,
        system: System,
        operation: &'static str,
        outcome: CallOutcome,
        elapsed: Duration,
        trace_id: Option<u128>,
    ) {
    }

    /// The breaker refused a call.
    fn rejected(&self, system: System, reason: BreakerRejection) {}

    /// The breaker would have refused a call, but only watches (dry run).
    fn would_reject(&self, system: System, reason: BreakerRejection) {}

    /// The state changed; heard exactly once per change, when it is already visible. Two changes in
    /// quick succession may be heard out of order: `generation` orders them.
    fn transition(&self, system: System, transition: &Transition) {}

    /// A call got its semaphore permit after this wait (zero when one was free).
    fn bulkhead_waited(&self, system: System, waited: Duration) {}

    /// A call found no permit, at once or after its wait.
    fn bulkhead_rejected(&self, system: System, reason: BulkheadRejection) {}

    /// A wish to try again was granted or not, or an attempt after the first one ended.
    fn retried(&self, system: System, outcome: RetryOutcome) {}
}

/// Tells an observer. A listener that panics is its own affair, not that of the payment whose call
/// it heard of.
#[inline]
pub(super) fn tell(observer: &dyn Observer, news: impl FnOnce(&dyn Observer)) {
    if catch_unwind(AssertUnwindSafe(|| news(observer))).is_err() {
        complain();
    }
}

#[cold]
fn complain() {
    tracing::error!("an observer of the resilience guards panicked");
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}

/// How a call counted. `Slow` and `Success` exclude one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallOutcome {
    /// It ended in time, whatever the partner answered.
    Success,
    /// There was no answer, and that is the partner's doing.
    Failure,
    /// It passed the slow threshold and did not fail otherwise.
    Slow,
    /// It says nothing of the partner: the caller's deadline, or refused before it began.
    Ignored,
    /// Its future was dropped.
    Cancelled,
}

impl CallOutcome {
    /// Each value once.
    pub const ALL: [Self; 5] =
        [Self::Success, Self::Failure, Self::Slow, Self::Ignored, Self::Cancelled];

    /// As metric labels have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Slow => "slow",
            Self::Ignored => "ignored",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Why a semaphore refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BulkheadRejection {
    /// As many callers wait as may.
    Full,
    /// No permit became free within the wait.
    WaitTimeout,
}

impl BulkheadRejection {
    /// Each value once.
    pub const ALL: [Self; 2] = [Self::Full, Self::WaitTimeout];

    /// As metric labels have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::WaitTimeout => "wait_timeout",
        }
    }
}

/// What became of a wish to try again. A call that succeeds at once is not heard here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetryOutcome {
    /// A second or later attempt succeeded.
    Success,
    /// A second or later attempt failed.
    Failure,
    /// No attempt or no time was left.
    Exhausted,
    /// The system's budget had no retry left.
    Budget,
    /// The failure is of a kind that trying again cannot help.
    NotRetriable,
}

impl RetryOutcome {
    /// Each value once.
    pub const ALL: [Self; 5] =
        [Self::Success, Self::Failure, Self::Exhausted, Self::Budget, Self::NotRetriable];

    /// As metric labels have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Exhausted => "exhausted",
            Self::Budget => "budget",
            Self::NotRetriable => "not_retriable",
        }
    }
}
