//! What is asked when an order is placed.

use crate::core::domain::details::{OrderDetails, Vat};
use crate::core::domain::ids::{CustomerId, ProductId};
use crate::core::domain::money::Money;
use crate::core::ports::call::Call;
use crate::core::ports::idempotency::IdempotentRequest;

/// A wish for so many of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLine {
    /// Which one.
    pub product_id: ProductId,
    /// Of pieces.
    pub quantity: u32,
    /// What the receipt says of its tax, if the shop tells.
    pub vat: Option<Vat>,
}

/// An order that a client wants; it names no price.
#[derive(Debug)]
pub struct NewOrder {
    /// `None` for a guest.
    pub customer_id: Option<CustomerId>,
    /// Each product once.
    pub lines: Vec<NewLine>,
    /// What the shop tells beside.
    pub details: OrderDetails,
    /// What the shop has shown to its customer.
    pub expected_total: Option<Money>,
    /// The client's key, if it sent one.
    pub idempotency: Option<IdempotentRequest>,
    /// How long the caller waits, and in which trace.
    pub call: Call,
}
