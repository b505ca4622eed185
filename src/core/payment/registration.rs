//! A registration: one call that could have made an order payable at a provider, as a row that is
//! committed before a byte leaves the process.

use crate::core::domain::money::Money;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::policy::PaymentPolicy;
use std::time::Duration;

/// How much is known. Facts only climb: intent < unknown < live < {paid, dead, absent}.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RegistrationState {
    /// About to be sent.
    Intent,
    /// May exist at the provider: to be found out, never repeated elsewhere.
    Unknown,
    /// Waits for the payer.
    Live,
    /// The provider says so. Never undone by news (docs/payments.md, rule 5).
    Paid,
    /// Refused, declined, expired or cancelled at the provider.
    Dead,
    /// Certainly never reached the provider.
    Absent,
    /// Paid although another registration of the order is alive or paid: to be given back.
    Surplus,
}

impl RegistrationState {
    /// In the order of a registration's life.
    pub const ALL: [Self; 7] = [
        Self::Intent,
        Self::Unknown,
        Self::Live,
        Self::Paid,
        Self::Dead,
        Self::Absent,
        Self::Surplus,
    ];

    /// Its word in rows.
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

    /// By its word; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether it may be alive: of these an order has one at most, by a unique index.
    #[must_use]
    pub const fn maybe_alive(self) -> bool {
        matches!(self, Self::Intent | Self::Unknown | Self::Live | Self::Paid)
    }

    /// Whether the provider said how it ended: what comes after that is late.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Paid | Self::Surplus | Self::Dead)
    }
}

/// Why a registration is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The provider refused to register it.
    Refused,
    /// The payer's bank said no.
    Declined,
    /// Nobody paid in time.
    Expired,
    /// Taken back by us.
    Cancelled,
}

impl Ending {
    /// In the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Refused, Self::Declined, Self::Expired, Self::Cancelled];

    /// Its word in rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Declined => "declined",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    /// By its word; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.as_str() == word)
    }
}

/// Why a payer's bank said no: one table of stable words for all payment systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decline {
    /// Not enough money on the card.
    InsufficientFunds,
    /// The payer was not who 3-D Secure expected, or did not go through with it.
    AuthenticationFailed,
    /// A limit of the card, of the bank or of the shop.
    LimitExceeded,
    /// The bank, or the payment system, did not trust the payment.
    FraudSuspected,
    /// Anything else, and what the payment system did not explain.
    Other,
}

impl Decline {
    /// From the most to the least explained.
    pub const ALL: [Self; 5] = [
        Self::InsufficientFunds,
        Self::AuthenticationFailed,
        Self::LimitExceeded,
        Self::FraudSuspected,
        Self::Other,
    ];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InsufficientFunds => "insufficient_funds",
            Self::AuthenticationFailed => "authentication_failed",
            Self::LimitExceeded => "limit_exceeded",
            Self::FraudSuspected => "fraud_suspected",
            Self::Other => "other",
        }
    }

    /// By its word; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decline| decline.as_str() == word)
    }
}

/// After it was told to be over, a registration is asked about twice more.
const LOOKS_AFTER_DEATH: [Duration; 2] = [Duration::from_secs(300), Duration::from_secs(3_600)];

/// The two digits of a provider number allow no more.
pub const LAST_SEQUENCE: u8 = 99;

/// One call that could have made the order payable, as a row that was committed before the call.
/// Its number never changes and is never used for anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// 1 to 99; grows only after a dead registration. With the provider it names the row.
    pub sequence: u8,
    /// Where it was made.
    pub provider: Provider,
    /// Our number there.
    pub number: ProviderNumber,
    /// What is to be paid: the order's total when it was made.
    pub amount: Money,
    /// How much of it is certain.
    pub state: RegistrationState,
    /// How it ended without money, if it did.
    pub ending: Option<Ending>,
    /// Why the payer's bank said no, where the provider told.
    pub decline: Option<Decline>,
    /// The provider's own id.
    pub external_id: Option<String>,
    /// Where the payer pays. Handed out only while the registration is live (docs/payments.md,
    /// rule 10).
    pub form_url: Option<String>,
    /// Where that sends the payer back to, as the provider was told last.
    pub return_url: Option<String>,
    /// The last time that a register call was let go.
    pub sent_at: Option<Timestamp>,
    /// "No such order" answers since the last send.
    pub not_found: u32,
    /// We asked the provider to take it back; the evidence is awaited.
    pub cancel_sent_at: Option<Timestamp>,
    /// We decided to take it back, and no answer to that was heard since: from then on its form is not
    /// handed out, and it is wound down to its end whatever comes late.
    pub given_up_at: Option<Timestamp>,
    /// When somebody last told of news that no answer has settled yet.
    pub sync_requested_at: Option<Timestamp>,
    /// When the provider first said that it has it.
    pub registered_at: Option<Timestamp>,
    /// When we first heard that it is paid.
    pub paid_at: Option<Timestamp>,
    /// It was paid although it had been given up.
    pub paid_late: bool,
    /// When the provider told that it is over.
    pub ended_at: Option<Timestamp>,
    /// How often it was looked at since it was paid or over, in case its news was lost.
    pub looks: u32,
    /// Since when the provider tells a status that we do not know, or a hold.
    pub strange_since: Option<Timestamp>,
    /// When the form ends, where the provider tells.
    pub expires_at: Option<Timestamp>,
    /// The largest sum that the provider ever told was given back: it only grows.
    pub refunded: Money,
    /// The word of the last fact: where the present state comes from.
    pub evidence: String,
    /// What the provider told when it last contradicted our record: number, amount, status.
    pub contradiction: Option<String>,
    /// By the database's clock.
    pub created_at: Timestamp,
    /// By the database's clock.
    pub updated_at: Timestamp,
}

/// The evidence of a registration whose repeat was refused.
pub const REFUSED_AGAIN: &str = "refused_again";

/// The evidence of a registration that the database had forgotten and a provider told of.
pub const ADOPTED: &str = "adopted";

/// The evidence of a registration that is not final, about which the provider tells something else than
/// our record.
pub const CONTRADICTED: &str = "contradicted";

/// The evidence of a registration that was given up and waits for a payer at the provider all the same.
pub const STILL_PENDING: &str = "still_pending";

/// The evidence of a registration whose strange status a person was told of.
pub const STRANGE_TOLD: &str = "strange_told";

/// That of [`CONTRADICTED`], once a person was told by a task in review.
pub const CONTRADICTED_TOLD: &str = "contradicted_told";

impl Registration {
    /// Whether it was given up and waits for a payer all the same, as far as is known: it is declined
    /// until the provider says that it is over, also after a person was told.
    #[must_use]
    pub fn pends_given_up(&self) -> bool {
        let over = matches!(self.state, RegistrationState::Dead | RegistrationState::Absent);
        over && [STILL_PENDING, STRANGE_TOLD].contains(&self.evidence.as_str())
    }

    /// Whether news was told of that no answer has settled yet.
    #[must_use]
    pub const fn sync_requested(&self) -> bool {
        self.sync_requested_at.is_some()
    }

    /// Asks for a question about it. Two requests never bear the same time, so that an answer tells which
    /// of them its question had seen.
    pub fn request_sync(&mut self, now: Timestamp) {
        let after = |last: Timestamp| now.max(last + Duration::from_micros(1));
        self.sync_requested_at = Some(self.sync_requested_at.map_or(now, after));
    }

    /// Takes the request back that a question had seen; what was told of since then stays.
    pub(super) fn synced(&mut self, seen: Option<Timestamp>) {
        if self.sync_requested_at == seen {
            self.sync_requested_at = None;
        }
    }

    /// When it is looked at next although it is settled: the news of a late payment, or of money that was
    /// given back elsewhere, may have been lost.
    #[must_use]
    pub fn next_look(&self, policy: &PaymentPolicy) -> Option<Timestamp> {
        let place = usize::try_from(self.looks).ok()?;
        let (since, looks) = match (self.state, self.ending) {
            (RegistrationState::Paid | RegistrationState::Surplus, _) => {
                let left = self.refunded.minor() < self.amount.minor();
                (self.paid_at.filter(|_| left)?, policy.looks_after_payment.as_slice())
            }
            // What was refused at once never began.
            (RegistrationState::Dead, Some(Ending::Refused)) => return None,
            (RegistrationState::Dead, _) => (self.ended_at?, &LOOKS_AFTER_DEATH[..]),
            (
                RegistrationState::Intent
                | RegistrationState::Unknown
                | RegistrationState::Live
                | RegistrationState::Absent,
                _,
            ) => return None,
        };
        looks.get(place).map(|pause| since + *pause)
    }

    /// What is left to give back of money that was never wanted: paid late, or twice.
    #[must_use]
    pub fn unwanted(&self) -> Option<Money> {
        let held = match self.state {
            RegistrationState::Surplus => true,
            RegistrationState::Paid => self.paid_late,
            RegistrationState::Intent
            | RegistrationState::Unknown
            | RegistrationState::Live
            | RegistrationState::Dead
            | RegistrationState::Absent => false,
        };
        let left = self.amount.minus(self.refunded).ok()?;
        (held && !left.is_zero()).then_some(left)
    }

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
            decline: None,
            external_id: None,
            form_url: None,
            return_url: None,
            sent_at: Some(now),
            not_found: 0,
            cancel_sent_at: None,
            given_up_at: None,
            sync_requested_at: None,
            registered_at: None,
            paid_at: None,
            paid_late: false,
            ended_at: None,
            looks: 0,
            strange_since: None,
            expires_at: None,
            refunded: Money::zero(amount.currency()),
            evidence: "armed".to_owned(),
            contradiction: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Why it was not paid: a stable word, where there is a reason to give.
    #[must_use]
    pub fn decline_code(&self) -> Option<&'static str> {
        match self.ending? {
            Ending::Expired => Some("expired"),
            Ending::Declined => Some(self.decline.unwrap_or(Decline::Other).as_str()),
            Ending::Refused | Ending::Cancelled => None,
        }
    }

    /// The form may be shown only while the one registration waits for the payer, and for the sum that
    /// we asked for.
    #[must_use]
    pub fn open_form(&self) -> Option<&str> {
        let doubtful = [CONTRADICTED, CONTRADICTED_TOLD].contains(&self.evidence.as_str());
        let open = self.state == RegistrationState::Live && !doubtful && self.given_up_at.is_none();
        if open { self.form_url.as_deref() } else { None }
    }
}

/// A form that waits for its payer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenForm {
    /// Whose form it is.
    pub provider: Provider,
    /// Where the payer pays.
    pub form_url: String,
    /// Where it sends the payer back to; not known of forms that an earlier version registered.
    pub return_url: Option<String>,
}

impl OpenForm {
    /// `None` where it must not be shown.
    #[must_use]
    pub fn of(registration: &Registration) -> Option<Self> {
        Some(Self {
            provider: registration.provider,
            form_url: registration.open_form()?.to_owned(),
            return_url: registration.return_url.clone(),
        })
    }
}
