//! The closed sets of label values. What is counted under a word that stands here has its series
//! from the start, at zero; docs/metrics.md lists the same words and a test holds the two together.

use crate::adapters::observe::traffic::{RefusedConnection, ShedReason, TimedOutConnection};
use crate::core::domain::unavailable::{Cause, NotExecuted, Shed, System, Unknown};
use crate::core::payment::task::TaskState;
use crate::core::ports::events::{
    CallbackOutcome, FallbackKind, IdempotencyResult, ReconcileFinding, RegistrationResult,
    StepOutcome,
};

/// A label whose values are known beforehand.
pub trait Label: Copy + 'static {
    const ALL: &'static [Self];

    fn word(self) -> &'static str;
}

/// Writes a closed set down once: its variants and their words.
macro_rules! closed_set {
    ($type:ty { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl Label for $type {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }
    };
}

/// Where a request's own deadline ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadlineStage {
    Admission,
    BeforeCall,
    InCall,
}

/// What kind of error reached the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorType {
    /// The order's own state forbids it.
    Domain,
    /// The request is malformed or not allowed.
    Validation,
    /// A partner.
    Integration,
    /// Ours: storage, overload, time.
    Technical,
    /// A mistake in this code.
    Unexpected,
}

closed_set!(ShedReason {
    Limit => "limit",
    Deadline => "deadline",
    Draining => "draining",
    RateLimit => "rate_limit",
});
closed_set!(RefusedConnection {
    Limit => "limit", Address => "address", Descriptors => "descriptors",
});
closed_set!(TimedOutConnection { Idle => "idle", Write => "write" });
closed_set!(DeadlineStage {
    Admission => "admission", BeforeCall => "before_call", InCall => "in_call",
});
closed_set!(ErrorType {
    Domain => "domain",
    Validation => "validation",
    Integration => "integration",
    Technical => "technical",
    Unexpected => "unexpected",
});
closed_set!(FallbackKind {
    Default => "default", Queued => "queued", Failover => "failover",
});
closed_set!(RegistrationResult {
    Registered => "registered", Queued => "queued", Declined => "declined", Failed => "failed",
});
closed_set!(ReconcileFinding {
    Executed => "executed", NotExecuted => "not_executed", Mismatch => "mismatch",
    RefundElsewhere => "refund_elsewhere",
});
closed_set!(CallbackOutcome {
    Followed => "followed",
    Adopted => "adopted",
    UnknownNumber => "unknown_number",
    NotOurs => "not_ours",
    Dropped => "dropped",
    Skewed => "skewed",
    Refused => "refused",
});
closed_set!(StepOutcome {
    Completed => "completed",
    Retry => "retry",
    Postponed => "postponed",
    Failed => "failed",
    LeaseLost => "lease_lost",
});
closed_set!(IdempotencyResult {
    New => "new", Replayed => "replayed", InFlight => "in_flight", Mismatch => "mismatch",
});

/// Of the vocabulary in which missing answers are told: the label `reason` of a fallback.
pub const CAUSES: [Cause; 16] = [
    Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen)),
    Cause::NotExecuted(NotExecuted::Shed(Shed::ProbesTaken)),
    Cause::NotExecuted(NotExecuted::Shed(Shed::ForcedOpen)),
    Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull)),
    Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadWait)),
    Cause::NotExecuted(NotExecuted::Shed(Shed::DeadlineTooShort)),
    Cause::NotExecuted(NotExecuted::Shed(Shed::LeaseTooShort)),
    Cause::NotExecuted(NotExecuted::Shed(Shed::Maintenance)),
    Cause::NotExecuted(NotExecuted::Unreachable),
    Cause::NotExecuted(NotExecuted::Throttled),
    Cause::NotExecuted(NotExecuted::Misdirected),
    Cause::Unknown(Unknown::TimedOut),
    Cause::Unknown(Unknown::DeadlinePassed),
    Cause::Unknown(Unknown::Broken),
    Cause::Unknown(Unknown::PartnerFailed),
    Cause::Unknown(Unknown::Unreadable),
];

/// What is asked of a partner: the methods of its port.
#[must_use]
pub const fn operations(system: System) -> &'static [&'static str] {
    match system {
        System::Payment(_) => &["register", "payment_status", "cancel", "refund"],
        System::Catalog => &["get_product_details"],
        System::Recommendations => &["get_recommendations"],
        System::Webhooks => &["send"],
    }
}

/// The fallback that is an adapter's own: what the partner said last.
pub const CACHED: &str = "cached";

/// What is done instead when a partner does not answer.
#[must_use]
pub fn fallbacks(system: System) -> Vec<&'static str> {
    match system {
        System::Payment(_) => vec![FallbackKind::Queued.word(), FallbackKind::Failover.word()],
        System::Catalog => vec![CACHED],
        System::Recommendations => vec![FallbackKind::Default.word()],
        System::Webhooks => vec![],
    }
}

/// Methods of HTTP that are told apart; every other is `_OTHER`, so that nobody invents series.
pub const HTTP_METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "_OTHER"];

#[must_use]
pub fn http_method(method: &str) -> &'static str {
    HTTP_METHODS.into_iter().find(|known| *known == method).unwrap_or("_OTHER")
}

/// The one scope in which this service limits itself as a whole.
pub const INBOUND: &str = "inbound";

/// The route of a request that matched none.
pub const UNMATCHED: &str = "unmatched";

pub const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

#[must_use]
pub const fn status_class(status: u16) -> &'static str {
    match status {
        0..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        500.. => "5xx",
    }
}

/// The final states of a task.
pub fn task_endings() -> impl Iterator<Item = &'static str> {
    TaskState::ALL.into_iter().filter(|state| state.is_final()).map(TaskState::as_str)
}

/// Problems that the edge answers or logs, with whose fault each is. The words are those of the
/// problem's `code`, so that a line in a log, an answer and a series are found by one word.
pub const APP_ERRORS: [(ErrorType, &str); 45] = [
    (ErrorType::Validation, "invalid_request"),
    (ErrorType::Validation, "unauthenticated"),
    (ErrorType::Validation, "forbidden"),
    (ErrorType::Validation, "not_found"),
    (ErrorType::Validation, "method_not_allowed"),
    (ErrorType::Validation, "payload_too_large"),
    (ErrorType::Validation, "request_timeout"),
    (ErrorType::Validation, "unsupported_media_type"),
    (ErrorType::Validation, "idempotency_in_progress"),
    (ErrorType::Validation, "idempotency_key_reused"),
    (ErrorType::Validation, "idempotency_key_required"),
    (ErrorType::Validation, "rate_limited"),
    (ErrorType::Validation, "signature_invalid"),
    (ErrorType::Validation, "order_not_found"),
    (ErrorType::Validation, "task_not_found"),
    (ErrorType::Validation, "webhook_endpoint_not_found"),
    (ErrorType::Domain, "order_invalid"),
    (ErrorType::Domain, "product_not_found"),
    (ErrorType::Domain, "price_changed"),
    (ErrorType::Domain, "external_id_taken"),
    (ErrorType::Domain, "too_many_endpoints"),
    (ErrorType::Domain, "currency_not_supported"),
    (ErrorType::Domain, "order_not_confirmable"),
    (ErrorType::Domain, "cancel_in_progress"),
    (ErrorType::Domain, "order_not_cancellable"),
    (ErrorType::Domain, "order_not_refundable"),
    (ErrorType::Domain, "refund_exceeds_payment"),
    (ErrorType::Domain, "refund_in_progress"),
    (ErrorType::Domain, "payment_rejected"),
    (ErrorType::Domain, "refund_rejected"),
    (ErrorType::Domain, "operation_refused"),
    (ErrorType::Domain, "task_review"),
    (ErrorType::Domain, "late_payment"),
    (ErrorType::Integration, "catalog_unavailable"),
    (ErrorType::Integration, "recommendations_unavailable"),
    (ErrorType::Integration, "payment_system_unavailable"),
    (ErrorType::Integration, "provider_misconfigured"),
    (ErrorType::Technical, "overloaded"),
    (ErrorType::Technical, "maintenance"),
    (ErrorType::Technical, "storage_unavailable"),
    (ErrorType::Technical, "deadline_exceeded"),
    (ErrorType::Technical, "task_stats_failed"),
    (ErrorType::Technical, "row_unreadable"),
    (ErrorType::Technical, "keys_unusable"),
    (ErrorType::Unexpected, "internal"),
];
