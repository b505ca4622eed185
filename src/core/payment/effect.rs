//! A call to a provider as a value, and what became of it. The results are kept apart by the kind of
//! call, so that an answer which a call cannot have cannot be written.

use crate::core::domain::money::Money;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::PaymentSystemUnavailableError;
use crate::core::payment::checkout::Checkout;
use crate::core::payment::refund::RefundKey;
use crate::core::payment::registration::Registration;
use crate::core::payment::report::PaymentReport;

/// One call, committed as an intent before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderCall {
    pub target: CallTarget,
    pub kind: CallKind,
    /// When it was decided, by the database's clock. For a send it is the name of the send: news about an
    /// earlier one that comes late must not be taken for news about this one. What a question brings is
    /// no younger than this.
    pub decided_at: Timestamp,
}

/// The registration that a call is about, as the provider must see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallTarget {
    pub provider: Provider,
    pub sequence: u8,
    pub number: ProviderNumber,
    pub amount: Money,
    pub external_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallKind {
    /// Makes the order payable.
    Register(Box<Checkout>),
    /// Asks what the provider knows under our number.
    Query(QueryBasis),
    /// Takes an unpaid registration back.
    Cancel {
        /// The same in every repeat, another once the provider has refused: what a provider that keeps
        /// keys said no to once it must not say no to for ever.
        key: String,
    },
    Refund {
        key: RefundKey,
        amount: Money,
    },
}

/// What stood there when a question was decided on: its answer counts for that, once, however often it is
/// taken in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueryBasis {
    /// How often the provider knew nothing since the last send.
    pub not_found: u32,
    /// The request for news that the question answers.
    pub sync_requested_at: Option<Timestamp>,
    /// Which of the looks at something settled it is, if it is one.
    pub look: Option<u32>,
}

/// A call that is over, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedCall {
    pub target: CallTarget,
    pub decided_at: Timestamp,
    pub result: CallResult,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallResult {
    Register(RegisterResult),
    Query { basis: QueryBasis, result: QueryResult },
    Cancel(ChangeResult),
    Refund { key: RefundKey, result: ChangeResult },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisterResult {
    Registered {
        external_id: String,
        form_url: String,
        expires_at: Option<Timestamp>,
    },
    /// The provider knows the number from before: ask for it.
    Duplicate,
    /// A business refusal, without effect.
    Refused {
        concerns_account: bool,
    },
    /// Certainly without effect.
    NotExecuted(PaymentSystemUnavailableError),
    /// May have happened.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryResult {
    Found(PaymentReport),
    /// The provider's business answer "no such order".
    NotFound,
    /// The question was not asked.
    NotExecuted(PaymentSystemUnavailableError),
    /// A question that failed proves nothing.
    Unanswered,
}

/// Of a cancellation or a refund. Only a later report is evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeResult {
    /// The provider took our word.
    Acknowledged,
    Refused,
    NotExecuted(PaymentSystemUnavailableError),
    Unknown,
}

impl CallTarget {
    #[must_use]
    pub fn of(registration: &Registration) -> Self {
        Self {
            provider: registration.provider,
            sequence: registration.sequence,
            number: registration.number.clone(),
            amount: registration.amount,
            external_id: registration.external_id.clone(),
        }
    }
}

impl ProviderCall {
    #[must_use]
    pub fn new(registration: &Registration, kind: CallKind, now: Timestamp) -> Self {
        Self { target: CallTarget::of(registration), kind, decided_at: now }
    }

    #[must_use]
    pub fn query(registration: &Registration, now: Timestamp) -> Self {
        let basis = QueryBasis {
            not_found: registration.not_found,
            sync_requested_at: registration.sync_requested_at,
            look: None,
        };
        Self::new(registration, CallKind::Query(basis), now)
    }

    #[must_use]
    pub fn cancel(registration: &Registration, now: Timestamp) -> Self {
        let wanted = registration.given_up_at.unwrap_or(now).micros();
        let key = format!("cancel-{}-{wanted}", registration.number);
        Self::new(registration, CallKind::Cancel { key }, now)
    }

    /// A look at something that is settled.
    #[must_use]
    pub fn look(registration: &Registration, now: Timestamp) -> Self {
        let basis = QueryBasis {
            not_found: registration.not_found,
            sync_requested_at: registration.sync_requested_at,
            look: Some(registration.looks),
        };
        Self::new(registration, CallKind::Query(basis), now)
    }

    #[must_use]
    pub const fn registers(&self) -> bool {
        matches!(self.kind, CallKind::Register(_))
    }

    /// Whether it only asks: a question does no harm, however late it comes.
    #[must_use]
    pub const fn only_asks(&self) -> bool {
        matches!(self.kind, CallKind::Query(_))
    }

    #[must_use]
    pub fn completed(self, result: CallResult) -> CompletedCall {
        CompletedCall { target: self.target, decided_at: self.decided_at, result }
    }

    /// It was not made, for this reason.
    #[must_use]
    pub fn not_executed(self, error: PaymentSystemUnavailableError) -> CompletedCall {
        let result = match &self.kind {
            CallKind::Register(_) => CallResult::Register(RegisterResult::NotExecuted(error)),
            CallKind::Query(basis) => {
                CallResult::Query { basis: *basis, result: QueryResult::NotExecuted(error) }
            }
            CallKind::Cancel { .. } => CallResult::Cancel(ChangeResult::NotExecuted(error)),
            CallKind::Refund { key, .. } => {
                CallResult::Refund { key: key.clone(), result: ChangeResult::NotExecuted(error) }
            }
        };
        self.completed(result)
    }
}

impl CompletedCall {
    /// The same call, as if nothing had been heard of it.
    #[must_use]
    pub fn doubted(self) -> Self {
        let result = match self.result {
            CallResult::Register(_) => CallResult::Register(RegisterResult::Unknown),
            CallResult::Query { basis, .. } => {
                CallResult::Query { basis, result: QueryResult::Unanswered }
            }
            CallResult::Cancel(_) => CallResult::Cancel(ChangeResult::Unknown),
            CallResult::Refund { key, .. } => {
                CallResult::Refund { key, result: ChangeResult::Unknown }
            }
        };
        Self { result, ..self }
    }

    /// Why nothing was executed, if that is certain.
    #[must_use]
    pub const fn unavailable(&self) -> Option<&PaymentSystemUnavailableError> {
        match &self.result {
            CallResult::Register(RegisterResult::NotExecuted(error))
            | CallResult::Query { result: QueryResult::NotExecuted(error), .. }
            | CallResult::Cancel(ChangeResult::NotExecuted(error))
            | CallResult::Refund { result: ChangeResult::NotExecuted(error), .. } => Some(error),
            CallResult::Register(_)
            | CallResult::Query { .. }
            | CallResult::Cancel(_)
            | CallResult::Refund { .. } => None,
        }
    }

    /// What a question found.
    #[must_use]
    pub const fn report(&self) -> Option<&PaymentReport> {
        match &self.result {
            CallResult::Query { result: QueryResult::Found(report), .. } => Some(report),
            CallResult::Register(_)
            | CallResult::Query { .. }
            | CallResult::Cancel(_)
            | CallResult::Refund { .. } => None,
        }
    }
}
