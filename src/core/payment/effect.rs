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
    /// What it is about.
    pub target: CallTarget,
    /// What is asked or told.
    pub kind: CallKind,
    /// When it was decided, by the database's clock. For a send it is the name of the send: news about an
    /// earlier one that comes late must not be taken for news about this one. What a question brings is
    /// no younger than this.
    pub decided_at: Timestamp,
}

/// The registration that a call is about, as the provider must see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallTarget {
    /// Who is called.
    pub provider: Provider,
    /// With the provider it names the registration's row.
    pub sequence: u8,
    /// Our number at the provider: the same in every repeat.
    pub number: ProviderNumber,
    /// What is to be paid; a report of another sum is a contradiction (docs/payments.md, rule 4).
    pub amount: Money,
    /// The provider's own id, when it was ever told.
    pub external_id: Option<String>,
}

/// What one call asks of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallKind {
    /// Makes the order payable.
    Register(Box<Checkout>),
    /// Asks what the provider knows under our number.
    Query(QueryBasis),
    /// Takes an unpaid registration back.
    Cancel {
        /// The same while nobody knows whether it was heard, another once it was answered: what a provider
        /// that keeps keys has said to one it says for ever, and does nothing.
        key: String,
    },
    /// Gives money back.
    Refund {
        /// The same in every repeat: a provider that keeps keys gives back once.
        key: RefundKey,
        /// A part of what was paid, or all of it.
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
    /// What the call was about.
    pub target: CallTarget,
    /// When it was decided, by the database's clock: see [`ProviderCall::decided_at`].
    pub decided_at: Timestamp,
    /// What became of it.
    pub result: CallResult,
}

/// What became of a call, by its kind, so that no register call can end as a question does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallResult {
    /// Of [`CallKind::Register`].
    Register(RegisterResult),
    /// Of [`CallKind::Query`].
    Query {
        /// What stood there when the question was decided on.
        basis: QueryBasis,
        /// The answer.
        result: QueryResult,
    },
    /// Of [`CallKind::Cancel`].
    Cancel(ChangeResult),
    /// Of [`CallKind::Refund`].
    Refund {
        /// Which refund it was about.
        key: RefundKey,
        /// What the provider made of it.
        result: ChangeResult,
    },
}

/// Of a registration. Only `Unknown` leaves it open whether the provider has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisterResult {
    /// The provider has it, and here is its form.
    Registered {
        /// The provider's own id.
        external_id: String,
        /// Where the payer pays.
        form_url: String,
        /// When the form ends, where the provider tells.
        expires_at: Option<Timestamp>,
    },
    /// The provider knows the number from before: ask for it.
    Duplicate,
    /// A business refusal, without effect.
    Refused {
        /// Whether it is about our account, not this order: then another provider may take it
        /// (`PAYMENT_FAILOVER_ON_REJECTED`).
        concerns_account: bool,
    },
    /// Certainly without effect.
    NotExecuted(PaymentSystemUnavailableError),
    /// May have happened.
    Unknown,
}

/// Of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryResult {
    /// What the provider's record says.
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
    /// A business refusal, without effect.
    Refused,
    /// Certainly without effect.
    NotExecuted(PaymentSystemUnavailableError),
    /// May have happened.
    Unknown,
}

impl CallTarget {
    /// The registration as its row names it.
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
    /// A call about this registration, decided now.
    #[must_use]
    pub fn new(registration: &Registration, kind: CallKind, now: Timestamp) -> Self {
        Self { target: CallTarget::of(registration), kind, decided_at: now }
    }

    /// A question that takes note of what stands there, so that its answer counts once.
    #[must_use]
    pub fn query(registration: &Registration, now: Timestamp) -> Self {
        let basis = QueryBasis {
            not_found: registration.not_found,
            sync_requested_at: registration.sync_requested_at,
            look: None,
        };
        Self::new(registration, CallKind::Query(basis), now)
    }

    /// A cancellation under the key that repeats of it share.
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

    /// Whether it can make something payable.
    #[must_use]
    pub const fn registers(&self) -> bool {
        matches!(self.kind, CallKind::Register(_))
    }

    /// Whether it only asks: a question does no harm, however late it comes.
    #[must_use]
    pub const fn only_asks(&self) -> bool {
        matches!(self.kind, CallKind::Query(_))
    }

    /// The call with what became of it.
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
