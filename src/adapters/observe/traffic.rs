//! Requests to be counted: the HTTP adapter tells, the metrics adapter listens.

use std::fmt;
use std::time::Duration;

pub trait Traffic: Send + Sync + fmt::Debug {
    /// A request came in. Exactly one `ended` follows, also when the client hung up or the
    /// handler panicked.
    fn began(&self, method: &'static str);

    fn ended(&self, request: &ServedRequest<'_>);

    /// A request was refused unserved; `ended` follows all the same.
    fn shed(&self, priority: Priority, reason: ShedReason);

    /// How many requests at a time the service seems to bear, obeyed or not.
    fn inbound_limit(&self, limit: usize);

    /// What a readiness check just found.
    fn checked(&self, check: &'static str, ready: bool);

    fn connection(&self, event: ConnectionEvent);
}

/// What became of a client's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEvent {
    Opened,
    /// Follows each `Opened`.
    Closed,
    Refused(RefusedConnection),
    TimedOut(TimedOutConnection),
}

/// Why somebody was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusedConnection {
    /// `MAX_CONNECTIONS` are open.
    Limit,
    /// `MAX_CONNECTIONS_PER_ADDRESS` of its address are.
    Address,
    /// The system gives no more descriptors.
    Descriptors,
}

/// What a client was waited for in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimedOutConnection {
    /// A request, for `IDLE_TIMEOUT`.
    Idle,
    /// That it reads its reply, for `WRITE_TIMEOUT`.
    Write,
}

impl RefusedConnection {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Address => "address",
            Self::Descriptors => "descriptors",
        }
    }
}

/// A request and how it was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedRequest<'a> {
    /// A known method, else `_OTHER`.
    pub method: &'static str,
    /// The route's template; `None` when no route matched.
    pub route: Option<&'a str>,
    /// 499 when the client hung up before the answer.
    pub status: u16,
    pub took: Duration,
    pub trace_id: &'a str,
    /// The stable code of the problem that was answered.
    pub code: Option<&'static str>,
}

/// Who goes first when not all can be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Priority {
    /// What moves money, and what payment systems tell of it.
    Money,
    /// One thing, read or made.
    Normal,
    /// Lists, hints and documents.
    Low,
}

impl Priority {
    pub const ALL: [Self; 3] = [Self::Money, Self::Normal, Self::Low];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Money => "money",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShedReason {
    /// As many as may be are being served.
    Limit,
    /// The request's deadline passed before an answer was there.
    Deadline,
    /// The service is stopping.
    Draining,
    /// The client has asked too often.
    RateLimit,
}

impl ShedReason {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Deadline => "deadline",
            Self::Draining => "draining",
            Self::RateLimit => "rate_limit",
        }
    }
}

/// Nobody counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uncounted;

impl Traffic for Uncounted {
    fn began(&self, _: &'static str) {}
    fn ended(&self, _: &ServedRequest<'_>) {}
    fn shed(&self, _: Priority, _: ShedReason) {}
    fn inbound_limit(&self, _: usize) {}
    fn checked(&self, _: &'static str, _: bool) {}
    fn connection(&self, _: ConnectionEvent) {}
}
