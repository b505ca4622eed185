//! What a payment system can do for an order, and the ways in which it can fail to.

use crate::core::domain::money::Money;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::{
    Cause, NoAnswer, PaymentSystemUnavailableError, System, Unknown,
};
pub use crate::core::payment::report::{PaymentReport, ReportedStatus};
use crate::core::ports::call::Call;
use std::fmt;
use std::time::Duration;

/// A payment system. Every method is one bounded call through the adapter's own guards; none
/// repeats a write by itself.
#[async_trait::async_trait]
pub trait PaymentPort: Send + Sync + fmt::Debug {
    fn provider(&self) -> Provider;

    /// No call lasts longer than this.
    fn call_limit(&self) -> Duration;

    /// How many calls would be let through now; changes nothing.
    fn capacity(&self) -> Capacity;

    /// Whether repeating `register` with the same number and amount is answered with the first
    /// outcome (a key that the provider keeps), so that a repeat serves as a query.
    fn repeats_safely(&self) -> bool;

    /// Whether a refund that is repeated with the same id is executed once.
    fn deduplicates_refunds(&self) -> bool;

    /// Makes the order payable.
    async fn register(
        &self,
        order: &RegisterOrder,
        call: &Call,
    ) -> Result<Registered, PaymentError>;

    /// What the provider knows under our number.
    ///
    /// # Errors
    /// A query that failed proves nothing.
    async fn payment_status(
        &self,
        payment: &PaymentRef,
        call: &Call,
    ) -> Result<Finding, PaymentError>;

    /// Takes an unpaid registration back. `Ok` means the provider took the word; only
    /// `payment_status` is evidence.
    async fn cancel(&self, payment: &PaymentRef, call: &Call) -> Result<(), PaymentError>;

    /// Gives money back. `Ok` means the provider took the word; only `payment_status` is evidence.
    async fn refund(&self, refund: &RefundOrder, call: &Call) -> Result<(), PaymentError>;

    /// Verifies and reads what the provider sent to our webhook.
    ///
    /// # Errors
    /// A bad signature, or nonsense.
    fn read_callback(
        &self,
        raw: &RawCallback<'_>,
        now: Timestamp,
    ) -> Result<Callback, CallbackError>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Calls that would be let through now.
    pub free: usize,
    /// When it makes sense to ask again, if `free` is 0.
    pub retry_after: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterOrder {
    pub number: ProviderNumber,
    pub amount: Money,
    pub return_url: String,
}

/// A registration as both sides name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentRef {
    pub number: ProviderNumber,
    /// The provider's own id, when it was ever told.
    pub external_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundOrder {
    pub payment: PaymentRef,
    pub amount: Money,
    /// 1 to 36 of `[A-Za-z0-9_-]`, the same for every repeat of the same refund.
    pub refund_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    pub external_id: String,
    pub form_url: String,
    pub expires_at: Option<Timestamp>,
}

/// The answer to a status query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    Found(PaymentReport),
    /// The provider's business answer "no such order" (never a 404 of some proxy).
    NotFound,
}

/// Why a payment call gave nothing, by what the caller may do next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PaymentError {
    /// Certainly without effect: go elsewhere, or queue.
    #[error(transparent)]
    NotExecuted(#[from] PaymentSystemUnavailableError),
    /// May have happened: resolve it, never repeat it elsewhere.
    #[error("outcome unknown: {0}")]
    Unknown(Unknown),
    /// The provider already has an order under this number: ask for it.
    #[error("the number is known to the provider")]
    Duplicate,
    /// A business refusal: certainly without effect, and a repeat would be refused too.
    #[error("rejected: {0}")]
    Rejected(Rejection),
}

impl PaymentError {
    /// What a call without an answer means: only the cause tells whether it may have happened.
    #[must_use]
    pub const fn without_answer(system: System, silence: NoAnswer) -> Self {
        let NoAnswer { cause, retry_after } = silence;
        match cause {
            Cause::NotExecuted(cause) => {
                Self::NotExecuted(PaymentSystemUnavailableError { system, cause, retry_after })
            }
            Cause::Unknown(why) => Self::Unknown(why),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Our own class of the provider's code, safe to log.
    pub code: String,
    pub concerns: Concern,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code)
    }
}

/// Whom a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concern {
    Order,
    /// Our credentials or rights: an alarm for the operator.
    Account,
}

/// A request to our webhook, as it came.
#[derive(Debug, Clone, Copy)]
pub struct RawCallback<'a> {
    /// Sent by POST (otherwise by GET).
    pub post: bool,
    /// The raw query string, without `?`.
    pub query: &'a str,
    /// The provider's signature header, if it sent one.
    pub signature: Option<&'a str>,
    pub body: &'a [u8],
}

/// A hint that a payment has news; only a query makes it a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    pub number: ProviderNumber,
    /// Where the provider numbers its events.
    pub event_id: Option<String>,
    /// The provider's word for what happened, for the inbox.
    pub kind: String,
    /// Whether a signature proved the sender.
    pub signed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    #[error("the signature does not match")]
    SignatureInvalid,
    #[error("not a callback: {0}")]
    Malformed(&'static str),
}
