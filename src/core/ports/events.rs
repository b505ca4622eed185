//! What happened that somebody counts: the core tells, the metrics adapter listens.

use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::domain::provider::Provider;
use crate::core::domain::unavailable::{Cause, System};
use crate::core::payment::task::TaskKind;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub trait Events: Send + Sync + fmt::Debug {
    fn record(&self, event: &Event);
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unheard;

impl Events for Unheard {
    fn record(&self, _: &Event) {}
}

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    OrderPlaced {
        total: Money,
    },
    OrderMoved {
        from: OrderStatus,
        to: OrderStatus,
    },
    /// `system` is the provider that was asked last.
    Registration {
        system: Provider,
        result: RegistrationResult,
    },
    Reconciled {
        system: Provider,
        finding: ReconcileFinding,
    },
    Fallback {
        system: System,
        kind: FallbackKind,
        cause: Cause,
    },
    FallbackFailed {
        system: System,
        kind: FallbackKind,
    },
    StaleServed {
        age: Duration,
    },
    /// A read went through the system's cache; `hit` when a fresh entry answered it.
    CacheRead {
        system: System,
        hit: bool,
    },
    /// A read of the catalog went on to the cache that instances share; `hit` when something usable
    /// lay there.
    SharedCacheRead {
        hit: bool,
    },
    TaskStep {
        kind: TaskKind,
        outcome: StepOutcome,
    },
    TaskFinished {
        kind: TaskKind,
        outcome: &'static str,
        age: Duration,
    },
    TaskPoll,
    Idempotency(IdempotencyResult),
    /// One HTTP exchange with a partner is over: up to the head of its answer, or its end without.
    Exchanged {
        server: Arc<str>,
        method: &'static str,
        status: Option<u16>,
        /// Why there was none.
        failure: Option<&'static str>,
        took: Duration,
    },
    /// The provider refuses our address, credentials or account.
    Misconfigured {
        system: System,
    },
    /// A task needs a person.
    Review {
        kind: TaskKind,
    },
    /// Money arrived for a registration that was given up.
    LateTruth {
        system: Provider,
    },
    /// The keys that tokens are checked with were changed into something that is none.
    KeysUnusable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistrationResult {
    Registered,
    Queued,
    Declined,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReconcileFinding {
    Executed,
    NotExecuted,
    Mismatch,
    RefundElsewhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FallbackKind {
    Cached,
    Default,
    Queued,
    Failover,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    Completed,
    Retry,
    Postponed,
    Failed,
    LeaseLost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyResult {
    New,
    Replayed,
    InFlight,
    Mismatch,
}
