//! Place an order: prices come from the catalog, never from the client, and never from a cache that
//! is too old for money.

use crate::core::domain::ids::{CustomerId, OrderId, ProductId};
use crate::core::domain::order::{Item, Order, OrderInvalid};
use crate::core::domain::unavailable::Unknown;
use crate::core::ports::call::Call;
use crate::core::ports::catalog::{CatalogError, CatalogPort, CatalogUnavailableError, Offer};
use crate::core::ports::clock::{Clock, Entropy};
use crate::core::ports::events::{Event, Events};
use crate::core::ports::idempotency::{KeyedOrder, Placed};
use crate::core::ports::order_repository::OrderRepository;
use crate::core::ports::storage_error::StorageError;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use std::sync::Arc;
use std::time::Duration;

/// Products of one order that are asked for at the same time: enough to hide the catalog's latency,
/// too few for one order to take all its permits.
const LOOKUPS_AT_ONCE: usize = 10;

#[derive(Debug)]
pub struct PlaceOrder {
    pub catalog: Arc<dyn CatalogPort>,
    pub orders: Arc<dyn OrderRepository>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub events: Arc<dyn Events>,
    /// `CATALOG_MAX_PRICE_AGE`.
    pub max_price_age: Duration,
}

#[derive(Debug)]
pub struct NewOrder {
    pub customer_id: CustomerId,
    pub lines: Vec<(ProductId, u32)>,
    pub key: Option<KeyedOrder>,
    pub call: Call,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceOrderError {
    #[error(transparent)]
    Invalid(#[from] OrderInvalid),
    #[error("get product details: no product {0}")]
    ProductNotFound(ProductId),
    #[error("get product details: {0}")]
    CatalogUnavailable(#[from] CatalogUnavailableError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl PlaceOrder {
    /// # Errors
    /// A senseless order, an unknown product, a catalog that cannot answer while no price is young
    /// enough, or a storage that cannot commit; then nothing was placed.
    #[tracing::instrument(name = "PlaceOrder", skip_all, fields(order.id))]
    pub async fn run(&self, wanted: NewOrder) -> Result<Placed, PlaceOrderError> {
        Order::check_lines(&wanted.lines)?;
        let items: Vec<Item> = stream::iter(wanted.lines)
            .map(|(product, quantity)| self.price(product, quantity, &wanted.call))
            .buffered(LOOKUPS_AT_ONCE)
            .try_collect()
            .await?;
        let now = self.clock.now();
        let id = OrderId::new(now, self.entropy.bits());
        let order = Order::place(id, wanted.customer_id, items, now)?;
        let placed = self.orders.place(order, wanted.key).await?;
        if let Placed::New(order) = &placed {
            tracing::Span::current().record("order.id", tracing::field::display(order.id));
            self.events.record(&Event::OrderPlaced { total: order.total });
        }
        Ok(placed)
    }

    async fn price(
        &self,
        product: ProductId,
        quantity: u32,
        call: &Call,
    ) -> Result<Item, PlaceOrderError> {
        let offer = match self.catalog.get_product_details(&product, call).await {
            Ok(offer) => offer,
            Err(CatalogError::NotFound) => return Err(PlaceOrderError::ProductNotFound(product)),
            Err(CatalogError::Unavailable(error)) => return Err(error.into()),
        };
        self.young_enough(&offer)?;
        Ok(Item {
            product_id: offer.product.id,
            name: offer.product.name,
            quantity,
            unit_price: offer.product.price,
            price_stale: offer.stale,
        })
    }

    fn young_enough(&self, offer: &Offer) -> Result<(), CatalogUnavailableError> {
        if offer.stale && offer.age >= self.max_price_age {
            return Err(CatalogUnavailableError(Unknown::PartnerFailed.into()));
        }
        Ok(())
    }
}
