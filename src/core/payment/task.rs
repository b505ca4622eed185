//! A task: work on an order that outlives the request that asked for it. Whoever holds its lease
//! token decides; everyone else may only contribute facts.

use crate::core::domain::ids::{InstanceId, LeaseToken, OrderId, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::{NotExecuted, Shed};
use crate::core::payment::dispute::Dispute;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskKind {
    RegisterPayment,
    CancelPayment,
    RefundPayment,
    SyncPayment,
}

impl TaskKind {
    pub const ALL: [Self; 4] =
        [Self::RegisterPayment, Self::CancelPayment, Self::RefundPayment, Self::SyncPayment];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RegisterPayment => "register_payment",
            Self::CancelPayment => "cancel_payment",
            Self::RefundPayment => "refund_payment",
            Self::SyncPayment => "sync_payment",
        }
    }

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskState {
    Queued,
    /// Somebody holds the lease.
    Running,
    Succeeded,
    Failed,
    Cancelled,
    /// A person must look; the outcome is not claimed.
    Review,
}

impl TaskState {
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Succeeded, Self::Failed, Self::Cancelled, Self::Review];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Review => "review",
        }
    }

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// Why a task waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    BreakerOpen,
    BulkheadFull,
    OutcomeUnknown,
    /// Every other cause of "not executed".
    Retry,
    RespondAsync,
    /// Waits for a person to release it.
    Operator,
}

impl Reason {
    pub const ALL: [Self; 6] = [
        Self::BreakerOpen,
        Self::BulkheadFull,
        Self::OutcomeUnknown,
        Self::Retry,
        Self::RespondAsync,
        Self::Operator,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BreakerOpen => "breaker_open",
            Self::BulkheadFull => "bulkhead_full",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Retry => "retry",
            Self::RespondAsync => "respond_async",
            Self::Operator => "operator",
        }
    }

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }

    /// Why a task waits whose call was not executed.
    #[must_use]
    pub const fn after(cause: NotExecuted) -> Self {
        match cause {
            NotExecuted::Shed(Shed::BreakerOpen | Shed::ProbesTaken | Shed::ForcedOpen) => {
                Self::BreakerOpen
            }
            NotExecuted::Shed(Shed::BulkheadFull | Shed::BulkheadWait) => Self::BulkheadFull,
            NotExecuted::Shed(Shed::DeadlineTooShort | Shed::LeaseTooShort | Shed::Maintenance)
            | NotExecuted::Unreachable
            | NotExecuted::Throttled
            | NotExecuted::Misdirected => Self::Retry,
        }
    }
}

/// The right to decide for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub owner: InstanceId,
    pub token: LeaseToken,
    pub until: Timestamp,
}

/// How a task ended badly: a stable word for programs. People's words are made at the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskError {
    PaymentRejected,
    PaymentSystemUnavailable,
    /// `TASK_MAX_AGE` passed.
    Expired,
    OrderNotCancellable,
    RefundRejected,
    DeadlineExceeded,
    QueueFull,
    /// The provider's record contradicts ours.
    Mismatch,
    /// Unknown for too long.
    OutcomeUnknown,
    /// Its holder died again and again.
    LeaseLost,
    CancelledByOperator,
}

impl TaskError {
    pub const ALL: [Self; 11] = [
        Self::PaymentRejected,
        Self::PaymentSystemUnavailable,
        Self::Expired,
        Self::OrderNotCancellable,
        Self::RefundRejected,
        Self::DeadlineExceeded,
        Self::QueueFull,
        Self::Mismatch,
        Self::OutcomeUnknown,
        Self::LeaseLost,
        Self::CancelledByOperator,
    ];

    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::PaymentRejected => "payment_rejected",
            Self::PaymentSystemUnavailable => "payment_system_unavailable",
            Self::Expired => "expired",
            Self::OrderNotCancellable => "order_not_cancellable",
            Self::RefundRejected => "refund_rejected",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::QueueFull => "overloaded",
            Self::Mismatch => "mismatch",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::LeaseLost => "lease_lost",
            Self::CancelledByOperator => "cancelled_by_operator",
        }
    }

    #[must_use]
    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|error| error.code() == code)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    pub order_id: OrderId,
    pub kind: TaskKind,
    pub state: TaskState,
    pub reason: Option<Reason>,
    /// Not before this moment.
    pub run_at: Timestamp,
    /// The provider whose capacity it needs next; `None` when any will do.
    pub lane: Option<Provider>,
    pub attempts: u32,
    pub lost_leases: u32,
    /// When `TASK_MAX_AGE` ends it.
    pub deadline: Timestamp,
    pub lease: Option<Lease>,
    /// The registration that it made or, for a refund, is about, as (provider, sequence).
    pub result: Option<(Provider, u8)>,
    pub error: Option<TaskError>,
    /// Both sides of the contradiction that laid it before a person.
    pub dispute: Option<Dispute>,
    /// Who closed its review, and when.
    pub settled: Option<(String, Timestamp)>,
    /// `traceparent` of the request that asked for it.
    pub trace: Option<String>,
    /// The return URL that the client asked for, kept for a later attempt.
    pub return_url: Option<String>,
    /// The life that the client wished for its form.
    pub form_lifetime: Option<Duration>,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Task {
    /// When a task runs that waits for a person: the end of the year 9999.
    pub const NEVER: Timestamp = Timestamp::from_micros(253_402_300_799_000_000);

    /// A task that is due at once.
    #[must_use]
    pub fn queued(
        id: TaskId,
        order_id: OrderId,
        kind: TaskKind,
        now: Timestamp,
        deadline: Timestamp,
    ) -> Self {
        Self {
            id,
            order_id,
            kind,
            state: TaskState::Queued,
            reason: None,
            run_at: now,
            lane: None,
            attempts: 0,
            lost_leases: 0,
            deadline,
            lease: None,
            result: None,
            error: None,
            dispute: None,
            settled: None,
            trace: None,
            return_url: None,
            form_lifetime: None,
            version: 1,
            created_at: now,
            updated_at: now,
        }
    }

    /// A poll that nobody expects anything of: whatever somebody waits for is taken before it.
    #[must_use]
    pub fn is_routine(&self) -> bool {
        self.kind == TaskKind::SyncPayment && self.reason == Some(Reason::Retry)
    }

    /// Whether `token` gives the right to decide about it.
    #[must_use]
    pub fn held_by(&self, token: LeaseToken) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.token == token)
    }
}
