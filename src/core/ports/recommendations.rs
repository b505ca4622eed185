//! Where hints for a customer come from. Nobody's order waits for them.

use crate::core::domain::ids::{CustomerId, ProductId};
use crate::core::domain::unavailable::NoAnswer;
use crate::core::ports::call::Call;
use std::fmt;

/// The recommender. Without it the shop shows nothing, and says so.
#[async_trait::async_trait]
pub trait RecommendationsPort: Send + Sync + fmt::Debug {
    /// An empty list is an answer: a customer without any.
    async fn get_recommendations(
        &self,
        customer: &CustomerId,
        call: &Call,
    ) -> Result<Vec<Recommendation>, RecommendationsUnavailableError>;
}

/// One hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recommendation {
    /// What might please.
    pub product_id: ProductId,
    /// As people read it.
    pub name: String,
}

/// The recommender cannot answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("recommendations unavailable: {0}")]
pub struct RecommendationsUnavailableError(pub NoAnswer);
