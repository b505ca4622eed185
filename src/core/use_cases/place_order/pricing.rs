//! What an order costs: every price from the catalog, and young enough for money.

use super::{NewLine, NewOrder, PlaceOrder, PlaceOrderError};
use crate::core::domain::ids::OrderId;
use crate::core::domain::money::Currency;
use crate::core::domain::order::{Item, Order};
use crate::core::domain::unavailable::Unknown;
use crate::core::ports::call::Call;
use crate::core::ports::catalog::{CatalogError, CatalogUnavailableError, Offer};
use futures_util::stream::{self, StreamExt};

/// Products of one order that are asked for at the same time: enough to hide the catalog's latency,
/// too few for one order to take all its permits.
const LOOKUPS_AT_ONCE: usize = 10;

/// What the payment systems take.
const PAID_IN: Currency = Currency::RUB;

impl PlaceOrder {
    pub(super) async fn priced(&self, new: NewOrder) -> Result<Order, PlaceOrderError> {
        let lines: Vec<_> =
            new.lines.iter().map(|line| (line.product_id.clone(), line.quantity)).collect();
        Order::check_lines(&lines)?;
        let items = self.price_all(new.lines, &new.call).await?;
        let now = self.clock.now();
        let id = OrderId::new(now, self.entropy.bits());
        let order = Order::place(id, new.customer_id, items, now)?;
        let order = Order { details: new.details, ..order };
        let total = order.total;
        match new.expected_total {
            Some(expected) if expected != total => {
                Err(PlaceOrderError::PriceChanged { expected, total })
            }
            Some(_) | None => Ok(order),
        }
    }

    /// Every product that cannot be sold is named at once; a catalog that does not answer ends the looking.
    async fn price_all(
        &self,
        lines: Vec<NewLine>,
        call: &Call,
    ) -> Result<Vec<Item>, PlaceOrderError> {
        let (mut items, mut missing, mut foreign) = (Vec::new(), Vec::new(), Vec::new());
        let prices = stream::iter(lines)
            .map(|line| async move { (self.price(&line, call).await, line.product_id) });
        let mut prices = std::pin::pin!(prices.buffered(LOOKUPS_AT_ONCE));
        while let Some((priced, product)) = prices.next().await {
            match priced {
                Ok(item) if item.unit_price.currency() != PAID_IN => foreign.push(product),
                Ok(item) => items.push(item),
                Err(CatalogError::NotFound) => missing.push(product),
                Err(CatalogError::Unavailable(error)) => {
                    return Err(PlaceOrderError::CatalogUnavailable { product, error });
                }
            }
        }
        if !missing.is_empty() {
            return Err(PlaceOrderError::ProductsNotFound(missing));
        }
        if foreign.is_empty() {
            Ok(items)
        } else {
            Err(PlaceOrderError::CurrencyNotSupported(foreign))
        }
    }

    async fn price(&self, line: &NewLine, call: &Call) -> Result<Item, CatalogError> {
        let offer = self.catalog.get_product_details(&line.product_id, call).await?;
        self.young_enough(&offer)?;
        Ok(Item {
            product_id: offer.product.id,
            name: offer.product.name,
            quantity: line.quantity,
            unit_price: offer.product.price,
            price_stale: offer.stale,
            vat: line.vat,
        })
    }

    fn young_enough(&self, offer: &Offer) -> Result<(), CatalogUnavailableError> {
        if offer.stale && offer.age >= self.max_price_age {
            return Err(CatalogUnavailableError(Unknown::PartnerFailed.into()));
        }
        Ok(())
    }
}
