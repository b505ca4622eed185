//! `GET /v1/products/{id}`: a product with its price, honestly old when the catalog cannot answer.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::adapters::inbound::resources::wire::{MoneyBody, TimestampBody};
use crate::core::domain::ids::ProductId;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use http::header::AGE;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Product)]
pub struct ProductBody<'a> {
    #[schema(example = "p-1")]
    id: &'a str,
    #[schema(example = "Tea")]
    name: &'a str,
    price: MoneyBody,
    /// From the cache because the catalog cannot answer; `Age` tells how old.
    stale: bool,
    /// When the catalog said so.
    as_of: TimestampBody,
}

/// Show a product with its price
#[utoipa::path(
    get,
    path = "/v1/products/{id}",
    tag = "reads",
    params(("id" = String, Path, description = "`[A-Za-z0-9_.-]{1,64}`")),
    responses((status = 200, description = "The product", body = ProductBody<'static>,
        headers(("Age" = u64, description = "Seconds; only when stale"))))
)]
pub async fn show_product(
    State(app): State<Arc<App>>,
    _: Caller,
    context: RequestContext,
    Id(id): Id<ProductId>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let offer = app.use_cases.show_product.run(&id, &context.call()).await?;
    let body = ProductBody {
        id: offer.product.id.as_str(),
        name: &offer.product.name,
        price: MoneyBody(offer.product.price),
        stale: offer.stale,
        as_of: TimestampBody(offer.as_of),
    };
    let mut response = json(StatusCode::OK, &body);
    if offer.stale {
        response.headers_mut().insert(AGE, offer.age.as_secs().into());
    }
    Ok(response)
}
