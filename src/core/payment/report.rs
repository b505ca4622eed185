//! What a provider says about a payment: a claim, to be compared with our own record.

use crate::core::domain::money::Money;
use crate::core::domain::provider::ProviderNumber;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::registration::{Decline, Ending};

/// A payment as the provider tells it. The core compares number and amount with its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentReport {
    pub number: ProviderNumber,
    pub external_id: Option<String>,
    /// `None` when the provider did not tell it, or told nonsense about a sum: a mismatch, never 0.
    pub amount: Option<Money>,
    /// What was held or taken in all, before anything went back, where the provider tells it beside the
    /// amount: a part is not the whole.
    pub taken: Option<Money>,
    pub status: ReportedStatus,
    /// All that was ever given back of this payment, by whomever. `None` when it was not told: its absence
    /// proves as little as a sum that has not grown yet, for a provider's reads may lag behind its writes.
    pub refunded: Option<Money>,
    /// Where the provider tells the form again.
    pub form_url: Option<String>,
    pub expires_at: Option<Timestamp>,
    /// Why the payer's bank said no, where that is told.
    pub decline: Option<Decline>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedStatus {
    /// Waits for the payer, or the payer is at it.
    Pending,
    /// The payer's money is on hold and not ours yet, which we never ask for: it may become a payment, or
    /// has to be released.
    Held,
    Paid,
    /// Over without money.
    Over(Ending),
    /// A word we do not know: kept as it is, with an alert.
    Strange,
}

impl ReportedStatus {
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
