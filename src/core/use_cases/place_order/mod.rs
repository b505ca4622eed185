//! Place an order, once for each idempotency key: prices come from the catalog, never from the client,
//! and never from a cache that is too old for money.

mod error;
mod pricing;
mod request;

pub use error::PlaceOrderError;
pub use request::{NewLine, NewOrder};

use crate::core::domain::order::{Order, OrderStatus};
use crate::core::ports::catalog::CatalogPort;
use crate::core::ports::clock::{Clock, Entropy};
use crate::core::ports::events::{Event, Events};
use crate::core::ports::idempotency::{IdempotentRequest, KeptOutcome};
use crate::core::ports::order_repository::{OrderRepository, Placed, Scope};
use crate::core::ports::storage_error::StorageError;
use crate::core::use_cases::idempotency::{Answer, Idempotency, KeyUse};
use std::sync::Arc;
use std::time::Duration;

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

    fn tell(&self, order: &Order) {
        tracing::Span::current().record("order.id", tracing::field::display(order.id));
        self.events.record(&Event::OrderPlaced { total: order.total });
    }
}
