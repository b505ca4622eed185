//! Show a product, honestly old when the catalog cannot answer.

use crate::core::domain::ids::ProductId;
use crate::core::ports::call::Call;
use crate::core::ports::catalog::{CatalogError, CatalogPort, Offer};
use crate::core::ports::events::{Event, Events};
use std::sync::Arc;

/// Shows a product, from the cache where the catalog does not answer.
#[derive(Debug)]
pub struct ShowProduct {
    /// Who knows.
    pub catalog: Arc<dyn CatalogPort>,
    /// Who is told that something old was shown.
    pub events: Arc<dyn Events>,
}

impl ShowProduct {
    /// # Errors
    /// An unknown product, or a catalog that cannot answer while the cache holds nothing usable.
    pub async fn run(&self, id: &ProductId, call: &Call) -> Result<Offer, CatalogError> {
        let offer = self.catalog.get_product_details(id, call).await?;
        if offer.stale {
            self.events.record(&Event::StaleServed { age: offer.age });
        }
        Ok(offer)
    }
}
