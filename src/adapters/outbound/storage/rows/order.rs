//! Rows of `orders`.

use super::{clean, known, money, word};
use crate::core::domain::ids::{CustomerId, OrderId, ProductId};
use crate::core::domain::order::{Item, Order, OrderStatus};
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::storage_error::StorageError;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Debug, Serialize, Deserialize)]
pub struct OrderRow {
    id: Uuid,
    customer_id: String,
    status: String,
    items: Vec<ItemRow>,
    total: i64,
    currency: String,
    #[serde(default)]
    cancel_requested_at: Option<i64>,
    created_at: i64,
    updated_at: i64,
    version: i64,
}

/// What of an order ever changes.
#[derive(Debug, Serialize)]
pub struct OrderChangeRow {
    id: Uuid,
    status: &'static str,
    cancel_requested_at: Option<i64>,
    updated_at: i64,
    version: i64,
}

impl From<&Order> for OrderChangeRow {
    fn from(order: &Order) -> Self {
        Self {
            id: order.id.uuid(),
            status: order.status.as_str(),
            cancel_requested_at: order.cancel_requested_at.map(Timestamp::micros),
            updated_at: order.updated_at.micros(),
            version: order.version,
        }
    }
}

/// The currency is the order's.
#[derive(Debug, Serialize, Deserialize)]
struct ItemRow {
    product_id: String,
    name: String,
    quantity: u32,
    unit_price: i64,
    price_stale: bool,
}

impl OrderRow {
    pub fn restore(self) -> Result<Order, StorageError> {
        let restored: Result<Vec<_>, _> =
            self.items.into_iter().map(|item| item.restore(&self.currency)).collect();
        Ok(Order {
            id: OrderId::from_uuid(self.id),
            customer_id: known(CustomerId::parse(&self.customer_id).ok())?,
            status: word(&self.status, OrderStatus::parse)?,
            items: restored?,
            total: money(self.total, &self.currency)?,
            cancel_requested_at: self.cancel_requested_at.map(Timestamp::from_micros),
            created_at: Timestamp::from_micros(self.created_at),
            updated_at: Timestamp::from_micros(self.updated_at),
            version: self.version,
        })
    }
}

impl From<&Order> for OrderRow {
    fn from(order: &Order) -> Self {
        Self {
            id: order.id.uuid(),
            customer_id: order.customer_id.as_str().to_owned(),
            status: order.status.as_str().to_owned(),
            items: order.items.iter().map(ItemRow::from).collect(),
            total: order.total.minor(),
            currency: order.total.currency().code().to_owned(),
            cancel_requested_at: order.cancel_requested_at.map(Timestamp::micros),
            created_at: order.created_at.micros(),
            updated_at: order.updated_at.micros(),
            version: order.version,
        }
    }
}

impl ItemRow {
    fn restore(self, currency: &str) -> Result<Item, StorageError> {
        Ok(Item {
            product_id: known(ProductId::parse(&self.product_id).ok())?,
            name: self.name,
            quantity: self.quantity,
            unit_price: money(self.unit_price, currency)?,
            price_stale: self.price_stale,
        })
    }
}

impl From<&Item> for ItemRow {
    fn from(item: &Item) -> Self {
        Self {
            product_id: item.product_id.as_str().to_owned(),
            name: clean(&item.name),
            quantity: item.quantity,
            unit_price: item.unit_price.minor(),
            price_stale: item.price_stale,
        }
    }
}
