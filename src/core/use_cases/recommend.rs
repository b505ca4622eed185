//! Recommend: an empty list, marked as degraded, when nobody can tell. It was agreed beforehand that
//! a shop without recommendations is better than a shop that waits for them.

use crate::core::domain::ids::CustomerId;
use crate::core::domain::unavailable::{Cause, NotExecuted, System};
use crate::core::engine::narrate;
use crate::core::ports::call::Call;
use crate::core::ports::events::{Event, Events, FallbackKind};
use crate::core::ports::recommendations::{
    Recommendation, RecommendationsPort, RecommendationsUnavailableError,
};
use std::sync::Arc;

/// What a customer may like. An empty list rather than an error: nobody is kept from buying.
#[derive(Debug)]
pub struct Recommend {
    /// Who knows.
    pub recommendations: Arc<dyn RecommendationsPort>,
    /// Who is told of an answer that was not to be had.
    pub events: Arc<dyn Events>,
    /// `RECOMMENDATIONS_EMPTY_ON=not_executed`: only what never left this process is covered up.
    pub only_not_executed: bool,
}

/// The list, or the lack of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recommended {
    /// As the system ranks them.
    pub items: Vec<Recommendation>,
    /// Whether the list is empty only because nobody answered.
    pub degraded: bool,
}

impl Recommend {
    /// # Errors
    /// The system refused our request; with `only_not_executed` also: it was reached and failed.
    #[tracing::instrument(name = "Recommend", skip_all, fields(fallback.kind))]
    pub async fn run(
        &self,
        customer: &CustomerId,
        call: &Call,
    ) -> Result<Recommended, RecommendationsUnavailableError> {
        let unavailable = match self.recommendations.get_recommendations(customer, call).await {
            Ok(items) => return Ok(Recommended { items, degraded: false }),
            Err(unavailable) => unavailable,
        };
        let cause = unavailable.0.cause;
        // A refusal of our own request passes with no time: an empty list would hide it.
        let ours = cause == NotExecuted::Misdirected.into();
        if ours || (self.only_not_executed && matches!(cause, Cause::Unknown(_))) {
            return Err(unavailable);
        }
        let (system, kind) = (System::Recommendations, FallbackKind::Default);
        self.events.record(&Event::Fallback { system, kind, cause });
        narrate::fallback("default", system, cause);
        Ok(Recommended { items: Vec::new(), degraded: true })
    }
}
