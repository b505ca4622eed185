//! Why an answer is missing: the one vocabulary in which adapters tell the core, the breaker, the
//! retry and the HTTP mapping what became of a call (the outcome matrix of docs/outcomes.md).

use crate::core::domain::provider::Provider;
use std::fmt;
use std::time::Duration;

/// The systems outside. The word is the breaker's name, the environment prefix, the metric label
/// `system` and the span attribute `external.system`, so it has one spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum System {
    /// One that is paid through.
    Payment(Provider),
    /// Where products and prices come from.
    Catalog,
    /// Where hints for customers come from.
    Recommendations,
    /// All destinations of webhooks: no partner of ours, so not in [`System::ALL`].
    Webhooks,
}

impl System {
    /// The payment systems in their order, then the others: each with an adapter, a prefix and series of its own.
    pub const ALL: [Self; Provider::ALL.len() + 2] = {
        let mut all = [Self::Catalog; Provider::ALL.len() + 2];
        let mut at = 0;
        while at < Provider::ALL.len() {
            all[at] = Self::Payment(Provider::ALL[at]);
            at += 1;
        }
        all[at + 1] = Self::Recommendations;
        all
    };

    /// The word: `sber`, `odnakassa`, `catalog`, `recommendations`, `webhooks`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Payment(provider) => provider.as_str(),
            Self::Catalog => "catalog",
            Self::Recommendations => "recommendations",
            Self::Webhooks => "webhooks",
        }
    }
}

impl From<Provider> for System {
    fn from(provider: Provider) -> Self {
        Self::Payment(provider)
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why there is no answer, by what the caller may do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Cause {
    /// Certainly without effect: going elsewhere or queueing is safe.
    #[error(transparent)]
    NotExecuted(#[from] NotExecuted),
    /// May have happened: resolve it, never repeat it elsewhere.
    #[error(transparent)]
    Unknown(#[from] Unknown),
}

/// Why a call certainly had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NotExecuted {
    /// A guard of ours refused it before anything was sent.
    #[error(transparent)]
    Shed(#[from] Shed),
    /// No connection came about: DNS, refused, TLS before the request was written.
    #[error("no connection")]
    Unreachable,
    /// 429.
    #[error("the partner asks to slow down")]
    Throttled,
    /// 404, 405 or a redirect of a payment call: a wrong address or a foreign proxy.
    #[error("the partner does not serve this address")]
    Misdirected,
}

/// Which guard refused a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Shed {
    /// The breaker is open.
    #[error("circuit breaker is open")]
    BreakerOpen,
    /// The breaker is half-open, and others are trying.
    #[error("circuit breaker is half-open and all its probes are taken")]
    ProbesTaken,
    /// A person holds the breaker open.
    #[error("circuit breaker is forced open")]
    ForcedOpen,
    /// `MAX_CONCURRENT` calls are in flight, and the queue is full.
    #[error("too many calls in flight")]
    BulkheadFull,
    /// A permit did not become free within `MAX_WAIT`.
    #[error("no permit became free within the wait")]
    BulkheadWait,
    /// The caller's deadline is too near.
    #[error("too little time left to start the call")]
    DeadlineTooShort,
    /// Time passed between the commit of a call and the call itself: its lease might end under way.
    #[error("too little of the lease left to start the call")]
    LeaseTooShort,
    /// Operators have said that no money moves for now.
    #[error("no money moves during maintenance")]
    Maintenance,
}

/// Why nobody knows whether a call had an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unknown {
    /// `READ_TIMEOUT` or `CALL_TIMEOUT` was over.
    #[error("no answer within the call's time limit")]
    TimedOut,
    /// The caller's own deadline cut the call short: not the partner's fault.
    #[error("the caller's deadline ended the call")]
    DeadlinePassed,
    /// Reset or closed after the request was begun.
    #[error("the connection broke during the call")]
    Broken,
    /// 5xx, 408, or a system error inside a 200 body.
    #[error("the partner failed")]
    PartnerFailed,
    /// 2xx with a body that is none of the partner's.
    #[error("the answer cannot be read")]
    Unreadable,
}

impl Cause {
    /// A stable word for metrics, logs and stored evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotExecuted(why) => why.as_str(),
            Self::Unknown(why) => why.as_str(),
        }
    }
}

impl NotExecuted {
    /// A stable word for metrics, logs and stored evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shed(by) => by.as_str(),
            Self::Unreachable => "unreachable",
            Self::Throttled => "throttled",
            Self::Misdirected => "misdirected",
        }
    }
}

impl Shed {
    /// A stable word for metrics, logs and stored evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BreakerOpen => "breaker_open",
            Self::ProbesTaken => "half_open_full",
            Self::ForcedOpen => "forced_open",
            Self::BulkheadFull => "bulkhead_full",
            Self::BulkheadWait => "bulkhead_wait",
            Self::DeadlineTooShort => "deadline_too_short",
            Self::LeaseTooShort => "lease_too_short",
            Self::Maintenance => "maintenance",
        }
    }

    /// Whether the partner is known or said to be down, rather than we being busy or late.
    #[must_use]
    pub const fn is_circuit_open(self) -> bool {
        match self {
            Self::BreakerOpen | Self::ProbesTaken | Self::ForcedOpen => true,
            Self::BulkheadFull
            | Self::BulkheadWait
            | Self::DeadlineTooShort
            | Self::LeaseTooShort
            | Self::Maintenance => false,
        }
    }
}

impl Unknown {
    /// A stable word for metrics, logs and stored evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TimedOut => "timeout",
            Self::DeadlinePassed => "deadline_passed",
            Self::Broken => "broken",
            Self::PartnerFailed => "partner_failed",
            Self::Unreadable => "unreadable",
        }
    }
}

impl From<Shed> for Cause {
    fn from(by: Shed) -> Self {
        Self::NotExecuted(by.into())
    }
}

/// A call without an answer, and when it makes sense to ask again, if anyone knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct NoAnswer {
    /// Why.
    pub cause: Cause,
    /// From the breaker's remaining open time or the partner's `Retry-After`.
    pub retry_after: Option<Duration>,
}

impl NoAnswer {
    /// Without a hint when to ask again.
    #[must_use]
    pub const fn new(cause: Cause) -> Self {
        Self { cause, retry_after: None }
    }
}

impl<C: Into<Cause>> From<C> for NoAnswer {
    fn from(cause: C) -> Self {
        Self::new(cause.into())
    }
}

/// A payment system that certainly did nothing: the one form in which the core hears of it, from the call
/// to the client's 503.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("payment system {system} unavailable: {cause}")]
pub struct PaymentSystemUnavailableError {
    /// Which.
    pub system: System,
    /// Why it certainly did nothing.
    pub cause: NotExecuted,
    /// When it makes sense to ask again, if anyone knows.
    pub retry_after: Option<Duration>,
}
