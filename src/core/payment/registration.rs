//! A registration: one call that could have made an order payable at a provider, as a row that is
//! committed before a byte leaves the process.

use crate::core::domain::money::Money;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;

/// How much is known. Facts only climb: intent < unknown < live < {paid, dead, absent}.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RegistrationState {
    /// About to be sent.
    Intent,
    /// May exist at the provider: to be found out, never repeated elsewhere.
    Unknown,
    /// Waits for the payer.
    Live,
    Paid,
    /// Refused, declined, expired or cancelled at the provider.
    Dead,
    /// Certainly never reached the provider.
    Absent,
    /// Paid although another registration of the order is alive or paid: to be given back.
    Surplus,
}

impl RegistrationState {
    pub const ALL: [Self; 7] = [
        Self::Intent,
        Self::Unknown,
        Self::Live,
        Self::Paid,
        Self::Dead,
        Self::Absent,
        Self::Surplus,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Unknown => "unknown",
            Self::Live => "live",
            Self::Paid => "paid",
            Self::Dead => "dead",
            Self::Absent => "absent",
            Self::Surplus => "surplus",
        }
    }

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether it may be alive: of these an order has one at most, by a unique index.
    #[must_use]
    pub const fn maybe_alive(self) -> bool {
        matches!(self, Self::Intent | Self::Unknown | Self::Live | Self::Paid)
    }
}

/// Why a registration is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The provider refused to register it.
    Refused,
    /// The payer's bank said no.
    Declined,
    Expired,
    /// Taken back by us.
    Cancelled,
}

impl Ending {
    pub const ALL: [Self; 4] = [Self::Refused, Self::Declined, Self::Expired, Self::Cancelled];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Declined => "declined",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.as_str() == word)
    }
}

/// The two digits of a provider number allow no more.
pub const LAST_SEQUENCE: u8 = 99;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// 1 to 99; grows only after a dead registration. With the provider it names the row.
    pub sequence: u8,
    pub provider: Provider,
    pub number: ProviderNumber,
    pub amount: Money,
    pub state: RegistrationState,
    pub ending: Option<Ending>,
    /// The provider's own id.
    pub external_id: Option<String>,
    pub form_url: Option<String>,
    /// The last time that a register call was let go.
    pub sent_at: Option<Timestamp>,
    /// "No such order" answers since the last send.
    pub not_found: u32,
    /// We asked the provider to take it back; the evidence is awaited.
    pub cancel_sent_at: Option<Timestamp>,
    /// Somebody sync_requested at news: ask the provider.
    pub sync_requested: bool,
    pub registered_at: Option<Timestamp>,
    pub paid_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    pub refunded: Money,
    /// The word of the last fact: where the present state comes from.
    pub evidence: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The evidence of a registration whose repeat was refused.
pub const REFUSED_AGAIN: &str = "refused_again";

/// The evidence of a registration that is not final, about which the provider tells something else than
/// our record.
pub const CONTRADICTED: &str = "contradicted";

/// The same, once a person was told by a task in review.
pub const CONTRADICTED_TOLD: &str = "contradicted_told";

impl Registration {
    /// An intent to register, to be committed before the call.
    #[must_use]
    pub fn intent(
        provider: Provider,
        sequence: u8,
        number: ProviderNumber,
        amount: Money,
        now: Timestamp,
    ) -> Self {
        Self {
            sequence,
            provider,
            number,
            amount,
            state: RegistrationState::Intent,
            ending: None,
            external_id: None,
            form_url: None,
            sent_at: Some(now),
            not_found: 0,
            cancel_sent_at: None,
            sync_requested: false,
            registered_at: None,
            paid_at: None,
            expires_at: None,
            refunded: Money::zero(amount.currency()),
            evidence: "armed".to_owned(),
            created_at: now,
            updated_at: now,
        }
    }

    /// The form may be shown only while the one registration waits for the payer, and for the sum that
    /// we asked for.
    #[must_use]
    pub fn open_form(&self) -> Option<&str> {
        let doubtful = [CONTRADICTED, CONTRADICTED_TOLD].contains(&self.evidence.as_str());
        let open = self.state == RegistrationState::Live && !doubtful;
        if open { self.form_url.as_deref() } else { None }
    }
}
