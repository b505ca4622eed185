//! A task: work on an order that outlives the request that asked for it. Whoever holds its lease
//! token decides; everyone else may only contribute facts.

use crate::core::domain::ids::{InstanceId, LeaseToken, OrderId, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::{NotExecuted, Shed};
use crate::core::payment::dispute::Dispute;
use std::time::Duration;

/// What a task is for. One unfinished of a kind per order, refunds apart (a unique index).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskKind {
    /// Makes the order payable, and finds out what became of it.
    RegisterPayment,
    /// Takes the order back once it is known what is alive.
    CancelPayment,
    /// Gives money back.
    RefundPayment,
    /// Asks about registrations until each is final (docs/payments.md, rule 7).
    SyncPayment,
}

impl TaskKind {
    /// In the order of their declaration.
    pub const ALL: [Self; 4] =
        [Self::RegisterPayment, Self::CancelPayment, Self::RefundPayment, Self::SyncPayment];

    /// Its word in rows, in the API and in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RegisterPayment => "register_payment",
            Self::CancelPayment => "cancel_payment",
            Self::RefundPayment => "refund_payment",
            Self::SyncPayment => "sync_payment",
        }
    }

    /// By its word; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Where a task stands. A final state never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Nobody holds it; it is due at `run_at`.
    Queued,
    /// Somebody holds the lease.
    Running,
    /// What it was for has happened.
    Succeeded,
    /// It has certainly not happened, and will not.
    Failed,
    /// Nobody wants it any more, and nothing of it is open.
    Cancelled,
    /// A person must look; the outcome is not claimed.
    Review,
}

impl TaskState {
    /// The final ones last.
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Succeeded, Self::Failed, Self::Cancelled, Self::Review];

    /// Its word in rows, in the API and in the log.
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

    /// By its word; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether its answer stands for ever. `Review` is final for its client: what a person finds
    /// out shows in the order.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// Why a task waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A breaker of ours let nothing through: certainly nothing was sent.
    BreakerOpen,
    /// All permits were taken: certainly nothing was sent.
    BulkheadFull,
    /// Something was sent, and what became of it is being found out.
    OutcomeUnknown,
    /// Every other cause of "not executed".
    Retry,
    /// The client asked not to be kept waiting.
    RespondAsync,
    /// Waits for a person to release it.
    Operator,
}

impl Reason {
    /// In the order of their declaration.
    pub const ALL: [Self; 6] = [
        Self::BreakerOpen,
        Self::BulkheadFull,
        Self::OutcomeUnknown,
        Self::Retry,
        Self::RespondAsync,
        Self::Operator,
    ];

    /// Its word in rows and in the API.
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

    /// By its word; `None` for one that this version does not know.
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
    /// Which instance holds it, for people.
    pub owner: InstanceId,
    /// The proof of the right: another for each claim.
    pub token: LeaseToken,
    /// When it ends by the database's clock, unless it was given back before.
    pub until: Timestamp,
}

/// How a task ended badly: a stable word for programs. People's words are made at the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskError {
    /// The provider refused the order, without effect.
    PaymentRejected,
    /// Nobody executed anything, and nothing was to be queued.
    PaymentSystemUnavailable,
    /// `TASK_MAX_AGE` passed.
    Expired,
    /// It turned out paid before the cancel took effect.
    OrderNotCancellable,
    /// The provider refused the refund, without effect.
    RefundRejected,
    /// The client's time was over before anything was sent.
    DeadlineExceeded,
    /// Nothing was executed, and `TASK_QUEUE_MAX` others wait already.
    QueueFull,
    /// The provider's record contradicts ours.
    Mismatch,
    /// Unknown for too long.
    OutcomeUnknown,
    /// Its holder died again and again.
    LeaseLost,
    /// A person took it out of the queue.
    CancelledByOperator,
}

impl TaskError {
    /// In the order of their declaration.
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

    /// Its word in rows, in the API and in the log.
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

    /// By its word; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|error| error.code() == code)
    }
}

/// Work that outlives the request that asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Grows with each task; given by the database.
    pub id: TaskId,
    /// All tasks are about one order.
    pub order_id: OrderId,
    /// What it is for.
    pub kind: TaskKind,
    /// Where it stands.
    pub state: TaskState,
    /// Why it waits, while it does.
    pub reason: Option<Reason>,
    /// Not before this moment.
    pub run_at: Timestamp,
    /// The provider whose capacity it needs next; `None` when any will do.
    pub lane: Option<Provider>,
    /// How often somebody began to work on it.
    pub attempts: u32,
    /// How often a holder let its lease run out: dead, or cut off. Too often is a case for a
    /// person.
    pub lost_leases: u32,
    /// When `TASK_MAX_AGE` ends it.
    pub deadline: Timestamp,
    /// Who decides about it now, if somebody does.
    pub lease: Option<Lease>,
    /// The registration that it made or, for a refund, is about, as (provider, sequence).
    pub result: Option<(Provider, u8)>,
    /// How it ended badly, if it did.
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
    /// Grows by one with every stored change: its `ETag`.
    pub version: i64,
    /// By the database's clock.
    pub created_at: Timestamp,
    /// By the database's clock.
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
