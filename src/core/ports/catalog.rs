//! Where product data and prices come from.

use crate::core::domain::ids::ProductId;
use crate::core::domain::money::Money;
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::NoAnswer;
use crate::core::ports::call::Call;
use std::fmt;
use std::time::Duration;

#[async_trait::async_trait]
pub trait CatalogPort: Send + Sync + fmt::Debug {
    /// The product, fresh within the cache's TTL, or from the cache and marked stale when the
    /// catalog cannot answer.
    async fn get_product_details(&self, id: &ProductId, call: &Call)
    -> Result<Offer, CatalogError>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    pub id: ProductId,
    pub name: String,
    pub price: Money,
}

/// A product with how old the knowledge of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub product: Product,
    /// When the catalog said so.
    pub as_of: Timestamp,
    pub age: Duration,
    /// Served from the cache because the catalog could not answer.
    pub stale: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    #[error("no such product")]
    NotFound,
    #[error(transparent)]
    Unavailable(#[from] CatalogUnavailableError),
}

/// The catalog cannot answer, and nothing that it said before serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("catalog unavailable: {0}")]
pub struct CatalogUnavailableError(pub NoAnswer);
