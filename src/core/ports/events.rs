//! What the core did that somebody counts: the core tells, the metrics adapter listens.

use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::domain::provider::Provider;
use crate::core::domain::unavailable::{Cause, System};
use crate::core::payment::task::TaskKind;
use std::fmt;
use std::time::Duration;

/// Whoever counts. Called in the middle of a use case: it never waits and never fails.
pub trait Events: Send + Sync + fmt::Debug {
    /// Counts it.
    fn record(&self, event: &Event);
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unheard;

impl Events for Unheard {
    fn record(&self, _: &Event) {}
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// An order was placed, with this total.
    OrderPlaced {
        /// Its price.
        total: Money,
    },
    /// An order's status changed.
    OrderMoved {
        /// What it was.
        from: OrderStatus,
        /// What it is now.
        to: OrderStatus,
    },
    /// Registering a payment came to an end; `system` is the provider that was asked last.
    Registration {
        /// Who was asked last.
        system: Provider,
        /// How it ended.
        result: RegistrationResult,
    },
    /// An outcome that was unknown is known.
    Reconciled {
        /// Who was asked.
        system: Provider,
        /// What it said.
        finding: ReconcileFinding,
    },
    /// A system did not answer, and something else was done instead.
    Fallback {
        /// Who did not answer.
        system: System,
        /// What was done instead.
        kind: FallbackKind,
        /// Why there was no answer.
        cause: Cause,
    },
    /// A product was shown that is so old.
    StaleServed {
        /// Since the catalog last told of it.
        age: Duration,
    },
    /// A run of a task ended.
    TaskStep {
        /// What the task is for.
        kind: TaskKind,
        /// How the run ended.
        outcome: StepOutcome,
    },
    /// A task reached a final state at this age.
    TaskFinished {
        /// What the task was for.
        kind: TaskKind,
        /// The word of its final state.
        outcome: &'static str,
        /// Since the task was made.
        age: Duration,
    },
    /// A task needs a person.
    Review {
        /// What the task was for.
        kind: TaskKind,
    },
    /// Money arrived for a registration that was given up.
    LateTruth {
        /// Where the money is.
        system: Provider,
    },
    /// A provider tells a status that we do not know.
    StrangeStatus {
        /// Who told it.
        system: Provider,
    },
    /// A callback was served.
    Callback {
        /// Whose callback it was.
        system: Provider,
        /// What became of it.
        outcome: CallbackOutcome,
    },
    /// A webhook was sent.
    WebhookAttempt {
        /// How it went.
        outcome: WebhookOutcome,
        /// How long it took.
        took: Duration,
    },
    /// A receiver of webhooks is gone, and gets none any more.
    WebhookDisabled,
    /// What waits to be brought, as it was just seen.
    WebhookBacklog(WebhookBacklog),
    /// A request came with an idempotency key.
    Idempotency(IdempotencyResult),
}

/// What became of a webhook by an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// The receiver took it.
    Delivered,
    /// It is sent again later.
    Retried,
    /// Nobody tries any more.
    Failed,
}

impl WebhookOutcome {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Delivered, Self::Retried, Self::Failed];

    /// A stable word for metrics.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Retried => "retried",
            Self::Failed => "failed",
        }
    }
}

/// Webhooks that wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebhookBacklog {
    /// Endpoints that are told.
    pub enabled: u64,
    /// Endpoints that are not.
    pub disabled: u64,
    /// Deliveries that wait.
    pub pending: u64,
    /// How long the oldest of them has waited.
    pub oldest: Option<Duration>,
}

/// How registering a payment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistrationResult {
    /// There is a form to pay by.
    Registered,
    /// Nobody could be asked: later.
    Queued,
    /// A provider said no.
    Declined,
    /// There will be no payment.
    Failed,
}

/// What an unknown outcome turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReconcileFinding {
    /// The call had its effect.
    Executed,
    /// It had none.
    NotExecuted,
    /// What the provider has contradicts what we have.
    Mismatch,
    /// More was given back than our refunds explain.
    RefundElsewhere,
}

/// What became of a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackOutcome {
    /// Its payment is asked about.
    Followed,
    /// The database had forgotten its payment, which is taken up again and asked about.
    Adopted,
    /// It was signed, and no payment of ours has its number.
    UnknownNumber,
    /// It was signed, and names no payment: an event of another sort.
    NotOurs,
    /// Unsigned: about no payment of ours, or one too many.
    Dropped,
    /// Its signed time is too far from the database's.
    Skewed,
    /// Its signature is not the provider's, or nobody can read it.
    Refused,
}

/// What was done instead of what a system did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FallbackKind {
    /// An empty answer.
    Default,
    /// It waits in the queue.
    Queued,
    /// Another provider was asked.
    Failover,
}

/// How a run of a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    /// The task is done.
    Completed,
    /// It goes on later.
    Retry,
    /// Nobody could serve it; it goes on later.
    Postponed,
    /// The task has failed.
    Failed,
    /// Another instance holds the task.
    LeaseLost,
}

/// What an idempotency key stood for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyResult {
    /// For nothing: its request was served.
    New,
    /// For this request, which got the first answer once more.
    Replayed,
    /// For this request, which is still under way.
    InFlight,
    /// For another request.
    Mismatch,
}
