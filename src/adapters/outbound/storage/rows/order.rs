//! Rows of `orders`.

use super::cells::{clean, known, money, word, word_if};
use crate::core::domain::details::{Buyer, ExternalId, OrderDetails, ShopReference, Vat};
use crate::core::domain::ids::{CustomerId, OrderId, ProductId};
use crate::core::domain::order::{Item, Order, OrderStatus};
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::storage_error::StorageError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use uuid::Uuid;

#[derive(Debug, Serialize, Deserialize)]
pub struct OrderRow {
    id: Uuid,
    customer_id: String,
    status: String,
    items: Vec<ItemRow>,
    total: i64,
    currency: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<DetailsRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    buyer: Option<BuyerRow>,
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

/// What nobody looks for.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct DetailsRow {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct BuyerRow {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    email: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phone: Option<Box<str>>,
}

impl fmt::Debug for BuyerRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BuyerRow(..)")
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vat: Option<String>,
}

impl OrderRow {
    pub fn restore(self) -> Result<Order, StorageError> {
        let restored: Result<Vec<_>, _> =
            self.items.into_iter().map(|item| item.restore(&self.currency)).collect();
        let id = OrderId::from_uuid(self.id);
        let external_id = self.external_id.as_deref().map(ExternalId::parse).map(known);
        let reference = self.owner.zip(external_id.transpose()?);
        let DetailsRow { description, metadata } = self.details.unwrap_or_default();
        Ok(Order {
            id,
            customer_id: customer(&self.customer_id, id)?,
            status: word(&self.status, OrderStatus::parse)?,
            items: restored?,
            total: money(self.total, &self.currency)?,
            details: OrderDetails {
                reference: reference
                    .map(|(owner, external_id)| ShopReference { owner: owner.into(), external_id }),
                description,
                metadata,
                buyer: self.buyer.map(|BuyerRow { email, phone }| Buyer { email, phone }),
            },
            cancel_requested_at: self.cancel_requested_at.map(Timestamp::from_micros),
            created_at: Timestamp::from_micros(self.created_at),
            updated_at: Timestamp::from_micros(self.updated_at),
            version: self.version,
        })
    }
}

/// The column must not be empty: for a guest it holds the order's own id, which no customer bears.
fn customer(column: &str, order: OrderId) -> Result<Option<CustomerId>, StorageError> {
    let guest = column == order.to_string();
    (!guest).then(|| known(CustomerId::parse(column).ok())).transpose()
}

impl From<&Order> for OrderRow {
    fn from(order: &Order) -> Self {
        let OrderDetails { reference, description, metadata, buyer } = order.details.clone();
        let details = DetailsRow { description, metadata };
        let customer = order.customer_id.as_ref().map(|customer| customer.as_str().to_owned());
        Self {
            id: order.id.uuid(),
            customer_id: customer.unwrap_or_else(|| order.id.to_string()),
            status: order.status.as_str().to_owned(),
            items: order.items.iter().map(ItemRow::from).collect(),
            total: order.total.minor(),
            currency: order.total.currency().code().to_owned(),
            owner: reference.as_ref().map(|reference| clean(&reference.owner)),
            external_id: reference.map(|reference| reference.external_id.as_str().to_owned()),
            details: Some(details).filter(|details| *details != DetailsRow::default()),
            buyer: buyer.map(|Buyer { email, phone }| BuyerRow { email, phone }),
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
            vat: word_if(self.vat.as_deref(), Vat::parse)?,
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
            vat: item.vat.map(|vat| vat.as_str().to_owned()),
        }
    }
}
