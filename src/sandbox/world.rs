//! The partners together, and the clock they share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::bank::Bank;
use super::catalog::Catalog;
use super::clock::{SandboxClock, rfc3339};
use super::frontend::Frontend;
use super::locked;
use super::partners::{Credentials, PartnerName, PaymentPartner};
use super::recommendations::Recommendations;

#[derive(Debug)]
pub struct World {
    pub clock: SandboxClock,
    pub frontends: BTreeMap<PartnerName, Arc<Frontend>>,
    /// Only these have orders.
    pub payments: BTreeMap<PartnerName, Arc<dyn PaymentPartner>>,
    pub credentials: BTreeMap<PartnerName, Credentials>,
    pub catalog: Arc<Catalog>,
    pub recommendations: Arc<Recommendations>,
    pub after_reset: AfterReset,
}

/// What the service beside us forgets along with a reset of everything.
#[derive(Default)]
pub struct AfterReset(Mutex<Option<Arc<dyn Fn() + Send + Sync>>>);

impl AfterReset {
    pub fn set(&self, forget: Arc<dyn Fn() + Send + Sync>) {
        *locked(&self.0) = Some(forget);
    }

    fn run(&self) {
        let forget = locked(&self.0).clone();
        forget.into_iter().for_each(|forget| forget());
    }
}

impl fmt::Debug for AfterReset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AfterReset(..)")
    }
}

impl World {
    pub fn frontend(&self, partner: PartnerName) -> &Arc<Frontend> {
        &self.frontends[&partner]
    }

    pub fn bank(&self, partner: PartnerName) -> Option<&Arc<Bank>> {
        self.payments.get(&partner).map(|payment| payment.bank())
    }

    pub fn banks(&self) -> impl Iterator<Item = &Arc<Bank>> {
        self.payments.values().map(|payment| payment.bank())
    }

    pub async fn reset(&self, partner: PartnerName) {
        self.frontend(partner).reset().await;
        if let Some(bank) = self.bank(partner) {
            bank.reset();
        } else if partner == PartnerName::Catalog {
            self.catalog.reset();
        } else {
            self.recommendations.reset();
        }
    }

    pub async fn reset_all(&self) {
        for partner in PartnerName::ALL {
            self.reset(partner).await;
        }
        self.clock.reset();
        self.after_reset.run();
    }

    /// Orders whose time has come expire at once, not at the next tick.
    pub fn advance_ms(&self, by_ms: i64) {
        self.clock.advance_ms(by_ms);
        self.banks().for_each(|bank| bank.work_off());
    }

    /// Everything that one partner knows.
    pub fn ledger_of(&self, partner: PartnerName) -> Value {
        let frontend = self.frontend(partner);
        let mut ledger = json!({
            "mode": frontend.faults.mode(),
            "faults": frontend.faults.list(),
            "calls": frontend.calls.totals(),
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
