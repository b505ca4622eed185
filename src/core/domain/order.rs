//! The order: what was bought, for whom, for how much, and how far it has come.

use crate::core::domain::details::{OrderDetails, Vat};
use crate::core::domain::ids::{CustomerId, OrderId, ProductId};
use crate::core::domain::money::{Money, MoneyError};
use crate::core::domain::timestamp::Timestamp;
use std::collections::HashSet;

/// The largest total that every payment system takes, in minor units (Sber: twelve digits).
pub const MAX_TOTAL_MINOR: i64 = 999_999_999_999;
/// Lines of an order. What grows with an order (rows, bodies, receipts) is bounded by it.
pub const MAX_ITEMS: usize = 100;
/// Pieces of one product in an order.
pub const MAX_QUANTITY: u32 = 10_000;

/// Where an order stands, for its client. Derived from the order's registrations, never set by
/// whoever brings news (docs/payments.md, rule 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OrderStatus {
    /// Placed, and nothing was asked of a payment system; or what was asked for was certainly not
    /// done.
    New,
    /// A registration is being made or its outcome is being found out.
    Registering,
    /// A form waits for the payer.
    AwaitingPayment,
    /// The provider says so. Only a refund of all of it ends this state.
    Paid,
    /// Refused, declined or expired, without money. Another confirm makes another attempt.
    PaymentFailed,
    /// Taken back before anything was paid.
    Cancelled,
    /// All that was paid is back.
    Refunded,
}

impl OrderStatus {
    /// In the order of an order's life.
    pub const ALL: [Self; 7] = [
        Self::New,
        Self::Registering,
        Self::AwaitingPayment,
        Self::Paid,
        Self::PaymentFailed,
        Self::Cancelled,
        Self::Refunded,
    ];

    /// Its word in rows, in the API and in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Registering => "registering",
            Self::AwaitingPayment => "awaiting_payment",
            Self::Paid => "paid",
            Self::PaymentFailed => "payment_failed",
            Self::Cancelled => "cancelled",
            Self::Refunded => "refunded",
        }
    }

    /// By its word; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A line of the order, with the price as the catalog gave it when the order was placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What the catalog knows it by.
    pub product_id: ProductId,
    /// As the catalog had it; later changes there do not reach the order.
    pub name: String,
    /// In pieces, 1 to [`MAX_QUANTITY`].
    pub quantity: u32,
    /// Of one piece; 0 is a price.
    pub unit_price: Money,
    /// The price came from the cache while the catalog could not answer.
    pub price_stale: bool,
    /// What a receipt says, if the shop told.
    pub vat: Option<Vat>,
}

/// What a customer wants to have, and what it costs. Prices are the catalog's, never the client's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Made by us before it is stored, so that a repeat after a lost answer finds it again.
    pub id: OrderId,
    /// `None` for a guest, of whom the shop knows no more than this order.
    pub customer_id: Option<CustomerId>,
    /// Derived: see [`OrderStatus`].
    pub status: OrderStatus,
    /// One to [`MAX_ITEMS`] lines, each product once.
    pub items: Vec<Item>,
    /// Sum of all lines, 1 to [`MAX_TOTAL_MINOR`] minor units of one currency.
    pub total: Money,
    /// Given when it was placed; but for the buyer, who is erased in time, it never changes.
    pub details: OrderDetails,
    /// When the first cancel was accepted: from then on no form is handed out or shown.
    pub cancel_requested_at: Option<Timestamp>,
    /// By the database's clock.
    pub created_at: Timestamp,
    /// The last stored change of the aggregate, by the database's clock.
    pub updated_at: Timestamp,
    /// Grows by one with every stored change of the aggregate (optimistic concurrency).
    pub version: i64,
}

/// Well-formed but senseless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OrderInvalid {
    /// None at all, or more than [`MAX_ITEMS`].
    #[error("an order has 1 to {MAX_ITEMS} items")]
    ItemCount,
    /// Zero, or more than [`MAX_QUANTITY`].
    #[error("a quantity is 1 to {MAX_QUANTITY}")]
    Quantity,
    /// Two lines of one product: which quantity is meant, nobody knows.
    #[error("a product may stand in an order once")]
    ProductTwice,
    /// A sum of two currencies is none.
    #[error("all prices of an order are in one currency")]
    Currency,
    /// Nothing to pay, or more than every payment system takes.
    #[error("the total is 1 to {MAX_TOTAL_MINOR} minor units")]
    Total,
}

impl OrderInvalid {
    /// In the order in which they are looked for.
    pub const ALL: [Self; 5] =
        [Self::ItemCount, Self::Quantity, Self::ProductTwice, Self::Currency, Self::Total];

    /// Its word in rows: what an idempotency key keeps of a refusal.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ItemCount => "item_count",
            Self::Quantity => "quantity",
            Self::ProductTwice => "product_twice",
            Self::Currency => "currency",
            Self::Total => "total",
        }
    }

    /// By its word; `None` for one that this version does not know.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|invalid| invalid.as_str() == word)
    }
}

impl Order {
    /// What can be told of an order before any price is known, so that nonsense costs no call.
    ///
    /// # Errors
    /// No items or too many, a quantity out of range, or a product twice.
    pub fn check_lines(lines: &[(ProductId, u32)]) -> Result<(), OrderInvalid> {
        if lines.is_empty() || lines.len() > MAX_ITEMS {
            return Err(OrderInvalid::ItemCount);
        }
        if !lines.iter().all(|(_, quantity)| (1..=MAX_QUANTITY).contains(quantity)) {
            return Err(OrderInvalid::Quantity);
        }
        let mut seen = HashSet::with_capacity(lines.len());
        if lines.iter().all(|(product, _)| seen.insert(product)) {
            Ok(())
        } else {
            Err(OrderInvalid::ProductTwice)
        }
    }

    /// A new order; its total is computed here and nowhere else.
    ///
    /// # Errors
    /// No items or too many, a quantity out of range, a product twice, mixed currencies, or a total
    /// that is zero or too large to be paid.
    pub fn place(
        id: OrderId,
        customer_id: impl Into<Option<CustomerId>>,
        items: Vec<Item>,
        now: Timestamp,
    ) -> Result<Self, OrderInvalid> {
        let lines: Vec<_> = items.iter().map(|i| (i.product_id.clone(), i.quantity)).collect();
        Self::check_lines(&lines)?;
        let total = total_of(&items)?;
        let status = OrderStatus::New;
        Ok(Self {
            id,
            customer_id: customer_id.into(),
            status,
            items,
            total,
            details: OrderDetails::default(),
            cancel_requested_at: None,
            created_at: now,
            updated_at: now,
            version: 1,
        })
    }
}

fn total_of(items: &[Item]) -> Result<Money, OrderInvalid> {
    let first = items.first().ok_or(OrderInvalid::ItemCount)?;
    let mut total = Money::zero(first.unit_price.currency());
    for item in items {
        total = item.unit_price.times(item.quantity).and_then(|line| total.plus(line)).map_err(
            |fault| match fault {
                MoneyError::CurrencyMismatch => OrderInvalid::Currency,
                MoneyError::Overflow | MoneyError::Negative | MoneyError::BadCurrency => {
                    OrderInvalid::Total
                }
            },
        )?;
    }
    if (1..=MAX_TOTAL_MINOR).contains(&total.minor()) {
        Ok(total)
    } else {
        Err(OrderInvalid::Total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::domain::money::Currency;

    fn item(product: &str, quantity: u32, kopecks: i64) -> Item {
        Item {
            product_id: ProductId::parse(product).unwrap(),
            name: product.to_owned(),
            quantity,
            unit_price: Money::rub(kopecks).unwrap(),
            price_stale: false,
            vat: None,
        }
    }

    fn place(items: Vec<Item>) -> Result<Money, OrderInvalid> {
        let customer = CustomerId::parse("c-1").unwrap();
        let now = Timestamp::from_micros(1);
        Order::place(OrderId::new(now, 1), customer, items, now).map(|order| order.total)
    }

    #[test]
    fn the_total_is_the_sum_of_the_lines() {
        let total = place(vec![item("a", 2, 150), item("b", 1, 0), item("c", 3, 1)]).unwrap();
        assert_eq!(total, Money::rub(303).unwrap());
    }

    #[test]
    fn senseless_orders_are_refused_by_name() {
        assert_eq!(place(vec![]), Err(OrderInvalid::ItemCount));
        assert_eq!(place(vec![item("a", 0, 1)]), Err(OrderInvalid::Quantity));
        assert_eq!(place(vec![item("a", 10_001, 1)]), Err(OrderInvalid::Quantity));
        assert_eq!(place(vec![item("a", 1, 1), item("a", 1, 1)]), Err(OrderInvalid::ProductTwice));
        assert_eq!(place(vec![item("a", 1, 0)]), Err(OrderInvalid::Total));
        assert_eq!(place(vec![item("a", 10_000, i64::MAX)]), Err(OrderInvalid::Total));
        assert_eq!(place(vec![item("a", 1, MAX_TOTAL_MINOR + 1)]), Err(OrderInvalid::Total));
        assert_eq!(place(vec![item("a", 1, MAX_TOTAL_MINOR)]).unwrap().minor(), MAX_TOTAL_MINOR);
        let mut dollars = item("b", 1, 1);
        dollars.unit_price = Money::new(1, Currency::parse("USD").unwrap()).unwrap();
        assert_eq!(place(vec![item("a", 1, 1), dollars]), Err(OrderInvalid::Currency));
    }
}
