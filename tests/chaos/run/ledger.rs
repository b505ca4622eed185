//! What both payment partners have, by order.

use super::harness::Harness;
use order_service::core::domain::ids::OrderId;
use order_service::sandbox::{OrderView, PartnerName, State};
use std::collections::HashMap;

#[derive(Debug)]
pub struct Ledger(HashMap<String, Vec<(PartnerName, OrderView)>>);

impl Ledger {
    pub fn read(harness: &Harness) -> Self {
        let mut all: HashMap<_, Vec<_>> = HashMap::new();
        for partner in PartnerName::payment_systems() {
            for entry in harness.partners.orders(partner) {
                let (order, _sequence) = entry.order.number.rsplit_once('-').unwrap();
                all.entry(order.to_owned()).or_default().push((partner, entry.order));
            }
        }
        Self(all)
    }

    /// The registrations of this order.
    pub fn of(&self, order: &str) -> &[(PartnerName, OrderView)] {
        let number = OrderId::parse(order).map(OrderId::to_base32).unwrap_or_default();
        self.0.get(&number).map_or(&[], Vec::as_slice)
    }

    pub fn orders(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    pub fn payments(&self) -> usize {
        self.0.values().flatten().filter(|(_, order)| is_paid(order)).count()
    }
}

pub fn is_paid(order: &OrderView) -> bool {
    order.state == State::Paid
}

/// When it could be paid: until when, in the partners' milliseconds.
pub fn life(order: &OrderView) -> (i64, i64) {
    let over = |state| !matches!(state, State::Created | State::Held | State::Paid);
    let born = order.history.first().map_or(0, |change| change.at_ms);
    let died = order.history.iter().find(|change| over(change.state));
    (born, died.map_or(i64::MAX, |change| change.at_ms))
}
