//! The four partners together, and the clock they share.

use std::sync::Arc;

use serde_json::{Value, json};

use super::bank::Bank;
use super::catalog::Catalog;
use super::clock::{Clock, rfc3339};
use super::door::{Door, PartnerName};
use super::odnakassa::Odnakassa;
use super::recommendations::Recommendations;
use super::sber::Sber;

#[derive(Debug)]
pub struct World {
    pub clock: Clock,
    pub sber: Arc<Sber>,
    pub odnakassa: Arc<Odnakassa>,
    pub catalog: Arc<Catalog>,
    pub recommendations: Arc<Recommendations>,
}

pub const PARTNERS: [PartnerName; 4] =
    [PartnerName::Sber, PartnerName::Odnakassa, PartnerName::Catalog, PartnerName::Recommendations];

impl World {
    pub fn door(&self, partner: PartnerName) -> &Arc<Door> {
        match partner {
            PartnerName::Sber => &self.sber.bank.door,
            PartnerName::Odnakassa => &self.odnakassa.bank.door,
            PartnerName::Catalog => &self.catalog.door,
            PartnerName::Recommendations => &self.recommendations.door,
        }
    }

    /// Only the payment partners have orders.
    pub fn bank(&self, partner: PartnerName) -> Option<&Arc<Bank>> {
        match partner {
            PartnerName::Sber => Some(&self.sber.bank),
            PartnerName::Odnakassa => Some(&self.odnakassa.bank),
            PartnerName::Catalog | PartnerName::Recommendations => None,
        }
    }

    pub fn banks(&self) -> [&Arc<Bank>; 2] {
        [&self.sber.bank, &self.odnakassa.bank]
    }

    pub async fn reset(&self, partner: PartnerName) {
        match partner {
            PartnerName::Sber => self.sber.bank.reset().await,
            PartnerName::Odnakassa => self.odnakassa.bank.reset().await,
            PartnerName::Catalog => self.catalog.reset().await,
            PartnerName::Recommendations => self.recommendations.reset().await,
        }
    }

    pub async fn reset_all(&self) {
        for partner in PARTNERS {
            self.reset(partner).await;
        }
        self.clock.reset();
    }

    /// Orders whose time has come expire at once, not at the next tick.
    pub fn advance_ms(&self, by_ms: i64) {
        self.clock.advance_ms(by_ms);
        self.banks().into_iter().for_each(|bank| bank.work_off());
    }

    /// Everything that one partner knows.
    pub fn ledger_of(&self, partner: PartnerName) -> Value {
        let door = self.door(partner);
        let mut ledger = json!({
            "mode": door.faults.mode(),
            "faults": door.faults.list(),
            "calls": door.calls.totals(),
        });
        if let Some(bank) = self.bank(partner) {
            ledger["orders"] = json!(bank.entries());
        }
        ledger
    }

    pub fn clock_view(&self) -> Value {
        json!({"now": rfc3339(self.clock.now_ms()), "ahead_ms": self.clock.ahead_ms()})
    }
}
