//! What a provider says about a payment: a claim, to be compared with our own record.

use crate::core::domain::money::Money;
use crate::core::domain::provider::ProviderNumber;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::registration::Ending;

/// A payment as the provider tells it. The core compares number and amount with its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentReport {
    pub number: ProviderNumber,
    pub external_id: Option<String>,
    /// `None` when the provider did not tell it or told nonsense: a mismatch, never 0.
    pub amount: Option<Money>,
    pub status: ReportedStatus,
    /// What was given back so far.
    pub refunded: Option<Money>,
    pub form_url: Option<String>,
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedStatus {
    /// Waits for the payer, or the payer is at it.
    Pending,
    Paid,
    /// Over without money.
    Over(Ending),
    /// A word we do not know: kept as it is, with an alert.
    Strange,
}
