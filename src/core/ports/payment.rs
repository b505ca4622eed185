//! What a payment system can do for an order, and the ways in which it can fail to.

use crate::core::domain::money::Money;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::{
    Cause, NoAnswer, PaymentSystemUnavailableError, System, Unknown,
};
pub use crate::core::payment::checkout::{Checkout, Receipt};
pub use crate::core::payment::report::{PaymentReport, ReportedStatus};
use crate::core::ports::call::Call;
use std::fmt;
use std::time::Duration;

/// A payment system. Every method is one bounded call through the adapter's own guards; none
/// repeats a write by itself.
///
/// The core's decisions about money rest on what follows, so an adapter that cannot promise it is none
/// (`tests/payment_port_contract` holds every adapter to it):
///
/// * **One number, one order.** However often a number is sent, at once or a day later, the provider has
///   one order under it at most. Where the provider does not see to that by itself, the adapter must.
/// * **Nothing is taken for a no.** `NotExecuted` and `Rejected` are said only of a call that certainly
///   had no effect and never will have. Whatever else keeps an answer away is `Unknown`.
/// * **What the provider says is told as it is.** A part of the money, or a hold, is never `Paid`; a refusal
///   that names an order refuses nothing; a number or a sum that is not ours is told, and the core compares.
/// * **Only the status is evidence.** `Ok` of a cancellation or a refund is a word that was taken, no more.
/// * **A callback is a hint.** Whoever sent it, it only makes the core ask.
#[async_trait::async_trait]
pub trait PaymentPort: Send + Sync + fmt::Debug {
    /// Who it speaks to: the word of its rows, labels and routes.
    fn provider(&self) -> Provider;

    /// No call lasts longer than this.
    fn call_limit(&self) -> Duration;

    /// How many calls would be let through now; changes nothing.
    fn capacity(&self) -> Capacity;

    /// Whether a guard would refuse a call at this moment: found out without one, and counted as a refusal.
    /// Takes nothing and changes nothing.
    ///
    /// # Errors
    /// What the call would have answered; always `NotExecuted`.
    fn admits(&self) -> Result<(), PaymentError>;

    /// Whether repeating `register` with the same number, amount and checkout is answered as the first
    /// time, form and all (by a key that the provider keeps): a repeat then serves as a query, and a form
    /// whose answer was lost is told again. Otherwise a repeat is `Duplicate`.
    fn repeats_safely(&self) -> bool;

    /// Whether a refund that is sent again under its key is executed once, for as long as the order can be
    /// refunded. Where it is not, one of unknown outcome must never be sent again by itself.
    fn deduplicates_refunds(&self) -> bool;

    /// Makes the order payable.
    async fn register(
        &self,
        order: &RegisterOrder,
        call: &Call,
    ) -> Result<Registered, PaymentError>;

    /// What the provider knows under our number. `NotFound` is its own word that it has no such order, at
    /// this moment: a registration that is still on its way may yet arrive.
    ///
    /// # Errors
    /// A query that failed proves nothing.
    async fn payment_status(
        &self,
        payment: &PaymentRef,
        call: &Call,
    ) -> Result<Finding, PaymentError>;

    /// Takes an unpaid registration back, and releases the payer's money if it is on hold. `Ok` means the
    /// provider took the word; only `payment_status` is evidence.
    async fn cancel(&self, order: &CancelOrder, call: &Call) -> Result<(), PaymentError>;

    /// Gives money back, once for each key where keys are kept. `Ok` means the provider took the word;
    /// only `payment_status` is evidence.
    async fn refund(&self, refund: &RefundOrder, call: &Call) -> Result<(), PaymentError>;

    /// Verifies and reads what the provider sent to our webhook. Whether a signed time is near enough is
    /// the core's to say, by the database's clock.
    ///
    /// # Errors
    /// A bad signature, nonsense, or nothing that concerns us.
    fn read_callback(&self, raw: &RawCallback<'_>) -> Result<Callback, CallbackError>;
}

/// How much a payment system can be given at this moment, so that nobody claims work which the
/// guards would refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Calls that would be let through now.
    pub free: usize,
    /// Calls that may be under way at a time, as the limit is at this moment.
    pub limit: usize,
    /// When it makes sense to ask again, if `free` is 0.
    pub retry_after: Duration,
}

/// What a payment system must know to make an order payable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterOrder {
    /// Ours, never used for another order or another sum.
    pub number: ProviderNumber,
    /// What the payer is to pay, all at once.
    pub amount: Money,
    /// How the payer comes and goes; the same in every repeat of the number.
    pub checkout: Checkout,
}

/// A registration as both sides name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentRef {
    /// Ours.
    pub number: ProviderNumber,
    /// The provider's own id, when it was ever told.
    pub external_id: Option<String>,
}

/// Takes an unpaid registration back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelOrder {
    /// Which one.
    pub payment: PaymentRef,
    /// The cancellation's key: 1 to 64 of `[A-Za-z0-9_-]`, the same for every repeat whose outcome is in
    /// doubt, another once it was refused.
    pub cancel_id: String,
}

/// Gives back a part of what was paid, or all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundOrder {
    /// Of which payment.
    pub payment: PaymentRef,
    /// In the payment's currency.
    pub amount: Money,
    /// The refund's key: 1 to 36 of `[A-Za-z0-9_-]`, the same for every repeat of the same refund, another
    /// for every other refund of the payment.
    pub refund_id: String,
}

/// A registration that waits for its payer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// The provider's own id.
    pub external_id: String,
    /// Where the payer pays: an address that the adapter has checked.
    pub form_url: String,
    /// When the form ends, where the provider tells.
    pub expires_at: Option<Timestamp>,
}

/// The answer to a status query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The provider's record of the number.
    Found(PaymentReport),
    /// The provider's business answer "no such order" (never the 404 of a proxy or of a wrong path).
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

/// A business refusal: the provider has understood the call and did nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Our own class of the provider's code, safe to log.
    pub code: String,
    /// Whom it is about: it decides whether another provider may be asked.
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
    /// This order: another provider would refuse it as well.
    Order,
    /// Our credentials or rights: an alarm for the operator.
    Account,
}

/// A request to our webhook, as it came.
#[derive(Debug, Clone, Copy)]
pub struct RawCallback<'a> {
    /// Sent by POST (otherwise by GET or HEAD).
    pub post: bool,
    /// The body is declared to be `application/x-www-form-urlencoded`.
    pub form: bool,
    /// The raw query string, without `?`.
    pub query: &'a str,
    /// The value of the header that the provider's row names, if it came.
    pub signature: Option<&'a str>,
    /// Byte by byte as it came, for the signature.
    pub body: &'a [u8],
}

/// A hint that a payment has news; only a query makes it a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    /// Ours: only orders of ours are asked about.
    pub number: ProviderNumber,
    /// Where the provider numbers its events.
    pub event_id: Option<String>,
    /// The provider's word for what happened, for the inbox.
    pub kind: String,
    /// Whether a signature proved the sender.
    pub signed: bool,
    /// When it was sent, where the signature covers a time.
    pub signed_at: Option<Timestamp>,
}

/// Why a callback is not taken as a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    /// Missing, or of another secret.
    #[error("the signature does not match")]
    SignatureInvalid,
    /// It cannot be read; says what is missing, without its text.
    #[error("not a callback: {0}")]
    Malformed(&'static str),
    /// The provider did sign it, and it names no order of ours. It is taken all the same: a partner
    /// switches off an endpoint that refuses.
    #[error("signed, and about nothing of ours: {0}")]
    NotOurs(&'static str),
}
