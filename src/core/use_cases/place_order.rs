//! Place an order, once for each idempotency key: prices come from the catalog, never from the client,
//! and never from a cache that is too old for money.

use crate::core::domain::details::{OrderDetails, Vat};
use crate::core::domain::ids::{CustomerId, OrderId, ProductId};
use crate::core::domain::money::{Currency, Money};
use crate::core::domain::order::{Item, Order, OrderInvalid, OrderStatus};
use crate::core::domain::unavailable::Unknown;
use crate::core::ports::call::Call;
use crate::core::ports::catalog::{CatalogError, CatalogPort, CatalogUnavailableError, Offer};
use crate::core::ports::clock::{Clock, Entropy};
use crate::core::ports::events::{Event, Events};
use crate::core::ports::idempotency::{IdempotentRequest, KeptOutcome, Refusal};
use crate::core::ports::order_repository::{OrderRepository, Placed, Scope};
use crate::core::ports::storage_error::StorageError;
use crate::core::use_cases::idempotency::{Answer, Idempotency, IdempotencyError, KeyUse};
use futures_util::stream::{self, StreamExt};
use std::sync::Arc;
use std::time::Duration;

/// Products of one order that are asked for at the same time: enough to hide the catalog's latency,
/// too few for one order to take all its permits.
const LOOKUPS_AT_ONCE: usize = 10;

/// What the payment systems take.
const PAID_IN: Currency = Currency::RUB;

/// Places an order at the catalog's prices.
#[derive(Debug)]
pub struct PlaceOrder {
    /// Where names and prices come from.
    pub catalog: Arc<dyn CatalogPort>,
    /// Where it is stored.
    pub orders: Arc<dyn OrderRepository>,
    /// Tells a repeat from a new order.
    pub idempotency: Arc<Idempotency>,
    /// How old a price is.
    pub clock: Arc<dyn Clock>,
    /// Where its id comes from.
    pub entropy: Arc<dyn Entropy>,
    /// Who is told.
    pub events: Arc<dyn Events>,
    /// `CATALOG_MAX_PRICE_AGE`.
    pub max_price_age: Duration,
}

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

/// Why there is no order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceOrderError {
    /// Well-formed but senseless: final, and kept under the key.
    #[error(transparent)]
    Invalid(#[from] OrderInvalid),
    /// The catalog knows nothing of these.
    #[error("get product details: {} unknown", .0.len())]
    ProductsNotFound(Vec<ProductId>),
    /// No payment system of ours takes the currency of these.
    #[error("{} products are not sold in roubles", .0.len())]
    CurrencyNotSupported(Vec<ProductId>),
    /// A price is not to be had, or only one that is too old (`CATALOG_MAX_PRICE_AGE`).
    #[error("get product details of {product}: {error}")]
    CatalogUnavailable {
        /// The first one without a price.
        product: ProductId,
        /// Why.
        error: CatalogUnavailableError,
    },
    /// The customer was shown another sum.
    #[error("the total is not what was expected")]
    PriceChanged {
        /// What was shown.
        expected: Money,
        /// What it costs now.
        total: Money,
    },
    /// The shop has this order under the same number.
    #[error("the external id names order {0}")]
    ExternalIdTaken(OrderId),
    /// The key's first request was refused, and so is its repeat.
    #[error("refused before, under the same key")]
    Replayed(Refusal),
    /// The key forbids it.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyError),
    /// Whether it was placed is not known where a commit got no answer; a repeat with the key is
    /// safe.
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for PlaceOrderError {
    fn from(error: StorageError) -> Self {
        if let StorageError::ExternalIdTaken(order) = error {
            Self::ExternalIdTaken(order)
        } else {
            Self::Storage(error)
        }
    }
}

impl PlaceOrderError {
    /// The products for which it is refused.
    #[must_use]
    pub fn products(&self) -> &[ProductId] {
        match self {
            Self::ProductsNotFound(products)
            | Self::CurrencyNotSupported(products)
            | Self::Replayed(
                Refusal::ProductsNotFound(products) | Refusal::CurrencyNotSupported(products),
            ) => products,
            Self::CatalogUnavailable { product, .. } => std::slice::from_ref(product),
            Self::Invalid(_)
            | Self::PriceChanged { .. }
            | Self::ExternalIdTaken(_)
            | Self::Replayed(_)
            | Self::Idempotency(_)
            | Self::Storage(_) => &[],
        }
    }

    /// What is final of it: the same request will never be served.
    fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Invalid(invalid) => Some(Refusal::OrderInvalid(Some(*invalid))),
            Self::ProductsNotFound(products) => Some(Refusal::ProductsNotFound(products.clone())),
            Self::CurrencyNotSupported(products) => {
                Some(Refusal::CurrencyNotSupported(products.clone()))
            }
            Self::CatalogUnavailable { .. }
            // It may be what was expected again.
            | Self::PriceChanged { .. }
            // For as long as that order is there, which need not be for ever.
            | Self::ExternalIdTaken(_)
            | Self::Replayed(_)
            | Self::Idempotency(_)
            | Self::Storage(_) => None,
        }
    }
}

impl PlaceOrder {
    /// # Errors
    /// A senseless order, an unknown product, a catalog that cannot answer while no price is young
    /// enough, or a storage that cannot commit; then nothing was placed. A key that is in use.
    #[tracing::instrument(name = "PlaceOrder", skip_all, fields(order.id))]
    pub async fn run(&self, new: NewOrder) -> Result<Answer<Order>, PlaceOrderError> {
        let Some(request) = new.idempotency.clone() else {
            let order = self.orders.place(self.priced(new).await?).await?;
            self.tell(&order);
            return Ok(Answer::First(order));
        };
        let _in_flight = match self.idempotency.begin(&request).await? {
            KeyUse::First(in_flight) => in_flight,
            KeyUse::Repeat(outcome) => return self.replay(outcome).await,
        };
        match self.place_once(new, &request).await {
            Ok(Placed::New(order)) => {
                self.tell(&order);
                self.idempotency.served();
                Ok(Answer::First(order))
            }
            Ok(Placed::Known(record)) => {
                self.replay(self.idempotency.replay(&request, record)?).await
            }
            Err(error) => {
                let Some(refusal) = error.refusal() else { return Err(error) };
                match self.idempotency.refuse(&request, refusal).await? {
                    Some(outcome) => self.replay(outcome).await,
                    None => Err(error),
                }
            }
        }
    }

    async fn place_once(
        &self,
        new: NewOrder,
        request: &IdempotentRequest,
    ) -> Result<Placed, PlaceOrderError> {
        let order = self.priced(new).await?;
        Ok(self.orders.place_once(order, request.clone()).await?)
    }

    /// The first answer once more, made anew: an order as it was when it was placed.
    async fn replay(&self, outcome: KeptOutcome) -> Result<Answer<Order>, PlaceOrderError> {
        let id = match outcome {
            KeptOutcome::Placed(id) => id,
            KeptOutcome::Refused(refusal) => return Err(PlaceOrderError::Replayed(refusal)),
            KeptOutcome::Refunding(_) => {
                return Err(StorageError::Corrupt("a refund under the key of an order").into());
            }
        };
        let found = self.orders.aggregate(id, &Scope::Anyone).await?;
        let order = found.ok_or(StorageError::Corrupt("a key without its order"))?.order;
        let (status, updated_at) = (OrderStatus::New, order.created_at);
        Ok(Answer::Replayed(Order { status, updated_at, version: 1, ..order }))
    }

    async fn priced(&self, new: NewOrder) -> Result<Order, PlaceOrderError> {
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

    fn tell(&self, order: &Order) {
        tracing::Span::current().record("order.id", tracing::field::display(order.id));
        self.events.record(&Event::OrderPlaced { total: order.total });
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
