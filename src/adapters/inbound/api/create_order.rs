//! `POST /v1/orders`: place an order, once for each idempotency key.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::idempotency::{Claim, Key, mark_replayed, replayed};
use crate::adapters::inbound::api::new_order::{NewOrderBody, OrderRequest};
use crate::adapters::inbound::api::order_body::OrderBody;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::body::Json;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::params::NoQuery;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::{encode, json_bytes};
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::adapters::observe::adapter_events::{AdapterEvent, IdempotencyResult};
use crate::core::domain::ids::ProductId;
use crate::core::domain::order::Order;
use crate::core::ports::idempotency::{IdempotencyKey, KeptReply, KeyedOrder, Placed};
use crate::core::use_cases::place_order::{NewOrder, PlaceOrderError};
use axum::extract::State;
use axum::response::Response;
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use serde_json::Value;
use std::sync::Arc;

const ROUTE: &str = "POST /v1/orders";

/// Place an order
///
/// Prices come from the catalog. A cached one serves only while it is young enough; the item then
/// says `price_stale`.
#[utoipa::path(
    post,
    path = "/v1/orders",
    tag = "orders",
    params(("Idempotency-Key" = Option<String>, Header,
        description = "1 to 255 visible ASCII characters: repeats with it have one effect")),
    request_body = NewOrderBody,
    responses((status = 201, description = "Placed", body = OrderBody<'static>, headers(
        ("Location" = String, description = "Where the order is"),
        ("Idempotency-Replayed" = String, description = "`true`: the first reply, once more"),
    )))
)]
pub async fn create_order(
    State(app): State<Arc<App>>,
    caller: Caller,
    context: RequestContext,
    _: NoQuery,
    Key(key): Key,
    Json(body): Json,
) -> Result<Response, Problem> {
    let request = OrderRequest::read(&body)?;
    caller.may_order_for(&request.customer_id)?;
    let Some(key) = key else {
        let work = place(Arc::clone(&app), request, None, context);
        return match app.detached(work).await?? {
            Placed::New(order) => Ok(created(&order.id.to_string(), render(&order))),
            Placed::Known(_) => Err(Problem::internal("a reply was kept for no key")),
        };
    };
    let key = IdempotencyKey { owner: caller.owner, route: ROUTE, key };
    let claim = app.keys.claim(key, request.fingerprint(ROUTE), &*app.services.events)?;
    app.detached(place_once(Arc::clone(&app), request, claim, context)).await?
}

/// The claim is held until the reply is kept: a repeat finds one or the other.
async fn place_once(
    app: Arc<App>,
    request: OrderRequest,
    claim: Claim,
    context: RequestContext,
) -> Result<Response, Problem> {
    let services = &app.services;
    if let Some(kept) = services.idempotency.find(&claim.key).await? {
        return Ok(replay(claim.same(kept, &*services.events)?));
    }
    let keyed = KeyedOrder {
        key: claim.key.clone(),
        fingerprint: claim.fingerprint,
        render: Box::new(|order| (StatusCode::CREATED.as_u16(), render(order))),
    };
    match place(Arc::clone(&app), request, Some(keyed), context.clone()).await {
        Ok(Placed::New(order)) => {
            services.events.tell(&AdapterEvent::Idempotency(IdempotencyResult::New));
            Ok(created(&order.id.to_string(), render(&order)))
        }
        Ok(Placed::Known(kept)) => Ok(replay(claim.same(kept, &*services.events)?)),
        Err(problem) if problem.status.is_client_error() => {
            services.events.tell(&AdapterEvent::Idempotency(IdempotencyResult::New));
            let (status, body) = (problem.status.as_u16(), problem.body(context.problem_context()));
            let reply = KeptReply { fingerprint: claim.fingerprint, status, body };
            if services.idempotency.keep(claim.key.clone(), reply).await? {
                return Err(problem);
            }
            // Another instance was quicker with the same key.
            let kept = services.idempotency.find(&claim.key).await?;
            let kept = kept.map(|kept| claim.same(kept, &*services.events)).transpose()?;
            kept.map(replay).ok_or(problem)
        }
        Err(problem) => Err(problem),
    }
}

async fn place(
    app: Arc<App>,
    request: OrderRequest,
    key: Option<KeyedOrder>,
    context: RequestContext,
) -> Result<Placed, Problem> {
    let OrderRequest { customer_id, lines } = request;
    let products: Vec<ProductId> = lines.iter().map(|(product, _)| product.clone()).collect();
    let order = NewOrder { customer_id, lines, key, call: context.call() };
    app.use_cases.place_order.run(order).await.map_err(|error| match error {
        PlaceOrderError::ProductNotFound(ref missing) => {
            let line = products.iter().position(|product| product == missing);
            Problem::from(error).at_line(line)
        }
        PlaceOrderError::Invalid(_)
        | PlaceOrderError::CatalogUnavailable(_)
        | PlaceOrderError::Storage(_) => error.into(),
    })
}

fn render(order: &Order) -> Vec<u8> {
    encode(&OrderBody::placed(order))
}

fn created(id: &str, body: Vec<u8>) -> Response {
    let mut response = json_bytes(StatusCode::CREATED, body);
    let location = HeaderValue::from_str(&format!("/v1/orders/{id}"));
    response.headers_mut().insert(LOCATION, location.expect("a UUID in a path"));
    response
}

/// The reply that was given first, byte for byte.
fn replay(kept: KeptReply) -> Response {
    if kept.status != StatusCode::CREATED.as_u16() {
        return replayed(kept);
    }
    let order: Option<Value> = serde_json::from_slice(&kept.body).ok();
    let id = order.as_ref().and_then(|order| order["id"].as_str()).unwrap_or_default();
    mark_replayed(created(id, kept.body))
}

/// A product that the catalog does not know is shown where it stands.
impl Problem {
    fn at_line(self, line: Option<usize>) -> Self {
        let Some(index) = line else { return self };
        let items = JsonPointer::Root.member("items");
        let at = items.element(index);
        self.with_violation(at.member("product_id"), Code::ProductNotFound.detail())
    }
}
