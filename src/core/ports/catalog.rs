//! Where product data and prices come from.

use crate::core::domain::ids::ProductId;
use crate::core::domain::money::Money;
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::NoAnswer;
use crate::core::ports::call::Call;
use std::fmt;
use std::time::Duration;

/// The catalog. Its adapter answers from a cache within the TTL, and beyond it while the catalog is away.
#[async_trait::async_trait]
pub trait CatalogPort: Send + Sync + fmt::Debug {
    /// The product, fresh within the cache's TTL, or from the cache and marked stale when the
    /// catalog cannot answer.
    async fn get_product_details(&self, id: &ProductId, call: &Call)
    -> Result<Offer, CatalogError>;
}

/// What the catalog tells of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The name under which it was asked for.
    pub id: ProductId,
    /// As people read it.
    pub name: String,
    /// For one; never from a client.
    pub price: Money,
}

/// A product with how old the knowledge of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What was told.
    pub product: Product,
    /// When the catalog said so.
    pub as_of: Timestamp,
    /// How long ago that was.
    pub age: Duration,
    /// Served from the cache because the catalog could not answer.
    pub stale: bool,
}

/// Why there is no product.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The catalog's own word that it has none.
    #[error("no such product")]
    NotFound,
    /// Nobody could say.
    #[error(transparent)]
    Unavailable(#[from] CatalogUnavailableError),
}

/// The catalog cannot answer, and nothing that it said before serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("catalog unavailable: {0}")]
pub struct CatalogUnavailableError(pub NoAnswer);
