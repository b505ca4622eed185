//! The partners: who there is, and what the sandbox is told of each. A payment system registers here and
//! nowhere else: what it says and does is in its own folder.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use axum::Router;
use serde::{Deserialize, Serialize};

use super::bank::Bank;
use super::callbacks::Message;
use super::fault::Answer;
use super::ledger::Voice;
use super::modes::Mode;
use super::order::{Order, Protocol};
use super::{odnakassa, sber};

/// As URLs, variables and the ledger write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartnerName {
    Sber,
    OdnaKassa,
    Catalog,
    Recommendations,
}

impl PartnerName {
    pub const ALL: [Self; 4] = [Self::Sber, Self::OdnaKassa, Self::Catalog, Self::Recommendations];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sber => "sber",
            Self::OdnaKassa => "odnakassa",
            Self::Catalog => "catalog",
            Self::Recommendations => "recommendations",
        }
    }

    /// Where it listens if nobody wishes otherwise.
    pub const fn usual_port(self) -> u16 {
        match self {
            Self::Sber => 9101,
            Self::OdnaKassa => 9102,
            Self::Catalog => 9103,
            Self::Recommendations => 9104,
        }
    }

    /// How it is set up, if it is a payment system.
    pub(super) const fn payment(self) -> Option<&'static PaymentSystem> {
        match self {
            Self::Sber => Some(&sber::SYSTEM),
            Self::OdnaKassa => Some(&odnakassa::SYSTEM),
            Self::Catalog | Self::Recommendations => None,
        }
    }

    /// Those that have orders.
    pub fn payment_systems() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|partner| partner.payment().is_some())
    }

    /// How a payment system names the calls that each of them answers.
    pub fn operations(self) -> Option<&'static Operations> {
        self.payment().map(|system| &system.operations)
    }

    /// What it wants to hear from whoever calls it, and signs with.
    pub fn credentials(self) -> &'static [Credential] {
        self.payment().map_or(&[], |system| system.credentials)
    }
}

/// A name or a secret that both sides know.
#[derive(Debug)]
pub struct Credential {
    pub name: &'static str,
    /// Public knowledge: it opens nothing but a simulation.
    pub default: &'static str,
    /// The service's variable for it, if a service is to use it.
    pub variable: Option<&'static str>,
}

/// The credentials of one partner, by name.
#[derive(Debug, Clone, Default)]
pub struct Credentials(pub(super) BTreeMap<&'static str, String>);

impl Credentials {
    /// Empty where there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

/// How a payment system is set up.
#[derive(Debug)]
pub struct PaymentSystem {
    /// Below its host: where its protocol's paths begin.
    pub path: &'static str,
    /// What its own ids begin with; without one they are UUIDs.
    pub id_prefix: Option<&'static str>,
    pub credentials: &'static [Credential],
    /// The credential that signs its callbacks.
    pub signs_with: &'static str,
    pub operations: Operations,
    pub voice: Voice,
    pub refusal: Refusal,
    pub open: fn(Arc<Bank>, Credentials, String) -> Arc<dyn PaymentPartner>,
}

/// The names of calls, as faults and the ledger write them.
#[derive(Debug)]
pub struct Operations {
    pub register: &'static str,
    pub query: &'static str,
    pub cancel: &'static str,
    pub refund: &'static str,
}

/// How a partner words its no to what is new, in the mood `reject`.
pub type Refusal = fn(&Mode, &'static str) -> Option<Answer>;

/// A payment system: its protocol over a bank.
pub trait PaymentPartner: fmt::Debug + Send + Sync {
    fn bank(&self) -> &Arc<Bank>;

    fn router(self: Arc<Self>) -> Router;

    /// Above the payment page.
    fn title(&self) -> &'static str;

    /// The protocol of an order that another system registers under our login.
    fn protocol(&self) -> Protocol;

    /// A callback of any content about that order; `failed` where it can tell of a failure in the same words.
    fn message(&self, order: &Order, kind: &str, failed: bool, now_ms: i64) -> Message;

    /// Whether a payer may fail and try again.
    fn knows_attempts(&self) -> bool {
        false
    }

    /// Where the payer is sent in the end.
    fn way_back(&self, _order: &Order, url: &str) -> String {
        url.to_owned()
    }
}
