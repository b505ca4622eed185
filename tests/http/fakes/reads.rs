//! Time, chance, the catalog and the recommendations.

use order_service::core::domain::ids::{CustomerId, ProductId};
use order_service::core::domain::money::{Currency, Money};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::domain::unavailable::{Cause, NoAnswer};
use order_service::core::ports::call::Call;
use order_service::core::ports::catalog::{
    CatalogError, CatalogPort, CatalogUnavailableError, Offer, Product,
};
use order_service::core::ports::clock::{Clock, Entropy};
use order_service::core::ports::recommendations::{
    Recommendation, RecommendationsPort, RecommendationsUnavailableError,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// A clock that moves a microsecond at every look, so that no two orders are of the same moment.
#[derive(Debug)]
pub struct TickingClock(AtomicI64);

impl Default for TickingClock {
    fn default() -> Self {
        Self(AtomicI64::new(1_764_500_000_000_000))
    }
}

impl TickingClock {
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_micros()).unwrap(), Ordering::Relaxed);
    }
}

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

#[derive(Debug)]
pub struct CountingEntropy(AtomicU64);

impl Default for CountingEntropy {
    fn default() -> Self {
        Self(AtomicU64::new(1))
    }
}

impl Entropy for CountingEntropy {
    fn bits(&self) -> u128 {
        let n = u128::from(self.0.fetch_add(1, Ordering::Relaxed));
        (n << 96) | (n << 8) | n
    }
}

/// Sells what begins with `p`, for 100 roubles, until told otherwise.
#[derive(Debug, Default)]
pub struct Catalog {
    pub down: Mutex<Option<NoAnswer>>,
    /// Served from the cache, of this age.
    pub stale: Mutex<Option<Duration>>,
    pub free: AtomicBool,
    pub hangs: AtomicBool,
    pub panics: AtomicBool,
    pub calls: Mutex<Vec<Call>>,
}

#[async_trait::async_trait]
impl CatalogPort for Catalog {
    async fn get_product_details(
        &self,
        id: &ProductId,
        call: &Call,
    ) -> Result<Offer, CatalogError> {
        self.calls.lock().unwrap().push(call.clone());
        assert!(!self.panics.load(Ordering::Relaxed), "as the test wants it");
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if let Some(no_answer) = *self.down.lock().unwrap() {
            return Err(CatalogUnavailableError(no_answer).into());
        }
        if !id.as_str().starts_with('p') {
            return Err(CatalogError::NotFound);
        }
        let price = if self.free.load(Ordering::Relaxed) { 0 } else { 10_000 };
        let stale = *self.stale.lock().unwrap();
        let abroad = id.as_str() == "p-usd";
        let currency = if abroad { Currency::parse("USD").unwrap() } else { Currency::RUB };
        let price = Money::new(price, currency).unwrap();
        Ok(Offer {
            product: Product { id: id.clone(), name: format!("Product {id}"), price },
            as_of: Timestamp::from_micros(1_764_499_000_000_000),
            age: stale.unwrap_or_default(),
            stale: stale.is_some(),
        })
    }
}

#[derive(Debug, Default)]
pub struct Recommender {
    pub down: Mutex<Option<Cause>>,
}

#[async_trait::async_trait]
impl RecommendationsPort for Recommender {
    async fn get_recommendations(
        &self,
        _: &CustomerId,
        _: &Call,
    ) -> Result<Vec<Recommendation>, RecommendationsUnavailableError> {
        if let Some(cause) = *self.down.lock().unwrap() {
            return Err(RecommendationsUnavailableError(cause.into()));
        }
        let product_id = ProductId::parse("p-7").unwrap();
        Ok(vec![Recommendation { product_id, name: "Product p-7".to_owned() }])
    }
}
