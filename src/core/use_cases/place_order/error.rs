//! Why an order is not placed, and which of the reasons are final.

use crate::core::domain::ids::{OrderId, ProductId};
use crate::core::domain::money::Money;
use crate::core::domain::order::OrderInvalid;
use crate::core::ports::catalog::CatalogUnavailableError;
use crate::core::ports::idempotency::Refusal;
use crate::core::ports::storage_error::StorageError;
use crate::core::use_cases::idempotency::IdempotencyError;

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
    pub(super) fn refusal(&self) -> Option<Refusal> {
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
