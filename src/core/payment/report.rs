//! What a provider says about a payment: a claim, to be compared with our own record.

use crate::core::domain::money::Money;
use crate::core::domain::provider::ProviderNumber;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::registration::{Decline, Ending};

/// A payment as the provider tells it. The core compares number and amount with its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentReport {
    /// The number that the provider names: compared with the one that was asked for.
    pub number: ProviderNumber,
    /// The provider's own id, where it is told.
    pub external_id: Option<String>,
    /// `None` when the provider did not tell it, or told nonsense about a sum: a mismatch, never 0.
    pub amount: Option<Money>,
    /// What was held or taken in all, before anything went back, where the provider tells it beside the
    /// amount: a part is not the whole.
    pub taken: Option<Money>,
    /// In our words.
    pub status: ReportedStatus,
    /// All that was ever given back of this payment, by whomever. `None` when it was not told: its absence
    /// proves as little as a sum that has not grown yet, for a provider's reads may lag behind its writes.
    pub refunded: Option<Money>,
    /// Where the provider tells the form again.
    pub form_url: Option<String>,
    /// When the form ends, where that is told.
    pub expires_at: Option<Timestamp>,
    /// Why the payer's bank said no, where that is told.
    pub decline: Option<Decline>,
}

/// What a provider says of a payment, translated by its adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedStatus {
    /// Waits for the payer, or the payer is at it.
    Pending,
    /// The payer's money is on hold and not ours yet, which we never ask for: it may become a payment, or
    /// has to be released.
    Held,
    /// All of it was taken.
    Paid,
    /// Over without money.
    Over(Ending),
    /// A word we do not know: kept as it is, with an alert.
    Strange,
}

impl ReportedStatus {
    /// Its word in the log and for operators.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Held => "held",
            Self::Paid => "paid",
            Self::Over(ending) => ending.as_str(),
            Self::Strange => "strange",
        }
    }
}
