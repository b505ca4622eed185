//! What a payment system is told of an order beside its number and its sum.

use crate::core::domain::details::Buyer;
use crate::core::domain::order::{Item, Order};
use crate::core::domain::timestamp::Timestamp;
use std::time::Duration;

/// How the payer comes and goes, and what the payer reads. The same in every repeat of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// Where the form sends the payer back to.
    pub return_url: String,
    /// How long the form is to live; as the payment system likes, if not said.
    pub lifetime: Option<Duration>,
    /// The end of that life, counted from the first send of the number.
    pub expires_at: Option<Timestamp>,
    /// What the form says that is paid for.
    pub description: Option<Box<str>>,
    /// For the receipt, where the shop has told something for it.
    pub receipt: Option<Receipt>,
}

/// What a receipt is made from: lines whose sum is the order's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Where it is sent; without one the payment system asks the payer.
    pub buyer: Option<Buyer>,
    /// Its lines; their sum is the registration's amount.
    pub items: Vec<Item>,
}

impl Receipt {
    /// `None` where the shop leaves receipts to somebody else.
    #[must_use]
    pub fn of(order: &Order) -> Option<Self> {
        let buyer = order.details.buyer.clone();
        let told = buyer.is_some() || order.items.iter().any(|item| item.vat.is_some());
        told.then(|| Self { buyer, items: order.items.clone() })
    }
}
