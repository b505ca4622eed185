//! `GET /v1/customers/{id}/recommendations`: hints, or an honest nothing.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::core::domain::ids::CustomerId;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Recommendations)]
pub struct RecommendationsBody<'a> {
    items: Vec<RecommendationBody<'a>>,
    /// Nobody could tell: the list is empty for want of an answer.
    degraded: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Recommendation)]
pub struct RecommendationBody<'a> {
    #[schema(example = "p-2")]
    product_id: &'a str,
    #[schema(example = "Coffee")]
    name: &'a str,
}

/// Recommend products to a customer
#[utoipa::path(
    get,
    path = "/v1/customers/{id}/recommendations",
    tag = "reads",
    params(("id" = String, Path, description = "`[A-Za-z0-9_.-]{1,64}`")),
    responses((status = 200, description = "Hints; an empty list marked `degraded` when nobody \
        can tell", body = RecommendationsBody<'static>))
)]
pub async fn recommend(
    State(app): State<Arc<App>>,
    caller: Caller,
    context: RequestContext,
    Id(customer): Id<CustomerId>,
    _: NoQuery,
) -> Result<Response, Problem> {
    if !caller.scope.allows(Some(&customer)) {
        return Err(Problem::new(Code::Forbidden));
    }
    let recommended = app.use_cases.recommend.run(&customer, &context.call()).await?;
    let items = recommended
        .items
        .iter()
        .map(|item| RecommendationBody { product_id: item.product_id.as_str(), name: &item.name });
    let body = RecommendationsBody { items: items.collect(), degraded: recommended.degraded };
    Ok(json(StatusCode::OK, &body))
}
