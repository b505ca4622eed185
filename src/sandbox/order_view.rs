//! An order as the ledger shows it to tests and people.

use serde::Serialize;

use super::clock::rfc3339;
use super::order::{Order, Protocol, Refund, State, StateChange};

#[derive(Debug, Clone, Serialize)]
pub struct OrderView {
    pub number: String,
    pub id: String,
    pub protocol: Protocol,
    pub amount: i64,
    pub currency: &'static str,
    pub state: State,
    pub live: bool,
    pub foreign: bool,
    pub deposited: i64,
    pub refunded: i64,
    pub refunds: Vec<Refund>,
    pub attempts_failed: u8,
    pub version: u32,
    pub created_at: String,
    pub expires_at: String,
    pub history: Vec<StateChange>,
}

impl Order {
    pub fn view(&self) -> OrderView {
        OrderView {
            number: self.asked.number.clone(),
            id: self.id.clone(),
            protocol: self.asked.protocol,
            amount: self.amount,
            currency: "RUB",
            state: self.state,
            live: self.is_live(),
            foreign: self.foreign,
            deposited: self.deposited,
            refunded: self.refunded,
            refunds: self.refunds.clone(),
            attempts_failed: self.attempts_failed,
            version: self.version,
            created_at: rfc3339(self.created_at_ms),
            expires_at: rfc3339(self.asked.expires_at_ms),
            history: self.history.clone(),
        }
    }
}
