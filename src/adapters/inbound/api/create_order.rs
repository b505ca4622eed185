//! `POST /v1/orders`: place an order, once for each idempotency key.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::idempotency::{Key, mark_replayed};
use crate::adapters::inbound::api::new_order::{NewOrderBody, OrderRequest};
use crate::adapters::inbound::api::order_body::OrderBody;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::body::Json;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::params::NoQuery;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::core::domain::ids::ProductId;
use crate::core::domain::order::Order;
use crate::core::ports::idempotency::{IdempotencyKey, IdempotentRequest};
use crate::core::use_cases::idempotency::Answer;
use crate::core::use_cases::place_order::{NewOrder, PlaceOrderError};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
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
    let request = OrderRequest::read(&body, &caller.owner, caller.own_customer())?;
    caller.may_order_for(request.customer_id.as_ref())?;
    let idempotency = key.map(|key| IdempotentRequest {
        key: IdempotencyKey { owner: caller.owner, route: ROUTE, key },
        fingerprint: request.fingerprint(ROUTE),
    });
    let OrderRequest { customer_id, lines, details, expected_total } = request;
    let products: Vec<ProductId> = lines.iter().map(|line| line.product_id.clone()).collect();
    let new =
        NewOrder { customer_id, lines, details, expected_total, idempotency, call: context.call() };
    let work = Arc::clone(&app);
    match app.detached(async move { work.use_cases.place_order.run(new).await }).await? {
        Ok(Answer::First(order)) => Ok(created(&order)),
        Ok(Answer::Replayed(order)) => Ok(mark_replayed(created(&order))),
        Err(error @ PlaceOrderError::Replayed(_)) => {
            Ok(mark_replayed(problem(error, &products).into_response()))
        }
        Err(error) => Err(problem(error, &products)),
    }
}

fn created(order: &Order) -> Response {
    let mut response = json(StatusCode::CREATED, &OrderBody::placed(order));
    let location = HeaderValue::from_str(&format!("/v1/orders/{}", order.id));
    response.headers_mut().insert(LOCATION, location.expect("a UUID in a path"));
    response
}

/// Every product that cannot be sold is shown where it stands.
fn problem(error: PlaceOrderError, products: &[ProductId]) -> Problem {
    let refused = error.products().to_vec();
    let problem = Problem::from(error);
    if !problem.status.is_client_error() {
        return problem;
    }
    let detail = problem.code.detail();
    let items = JsonPointer::Root.member("items");
    let lines = products.iter().enumerate().filter(|(_, product)| refused.contains(product));
    lines.fold(problem, |problem, (index, _)| {
        problem.with_violation(items.element(index).member("product_id"), detail)
    })
}
