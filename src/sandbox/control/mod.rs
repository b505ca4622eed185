//! The control API: moods, faults, the clock, the partners' data, and the ledger that tests read.

mod orders;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, Path, Query, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use axum::{Json, Router};
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::fault::Fault;
use super::modes::Mode;
use super::partners::PartnerName;
use super::world::World;

type Shared = State<Arc<World>>;

pub fn router(world: Arc<World>) -> Router {
    Router::new()
        .route("/health", get(|| async { Json(json!({"status": "ok"})) }))
        .route("/control", get(overview))
        .route("/control/reset", post(reset_all))
        .route("/control/clock", get(show_clock).post(advance_clock))
        .route("/control/ledger", get(whole_ledger))
        .route("/control/callback-url", put(set_callback_url))
        .route("/control/catalog/products", get(list_products))
        .route("/control/catalog/products/{id}", put(put_product).delete(remove_product))
        .route("/control/recommendations/customers", get(list_customers))
        .route("/control/recommendations/customers/{id}", put(put_customer).delete(remove_customer))
        .route("/control/{partner}/ledger", get(ledger))
        .route("/control/{partner}/calls", get(calls))
        .route("/control/{partner}/reset", post(reset))
        .route("/control/{partner}/mode", get(show_mode).put(set_mode))
        .route("/control/{partner}/faults", get(list_faults).post(add_fault).delete(clear_faults))
        .route("/control/{partner}/faults/{id}", delete(remove_fault))
        .merge(orders::router())
        .with_state(world)
}

/// A JSON body, whatever the Content-Type says, so that a plain `curl -d` will do.
struct Body<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let bytes =
            Bytes::from_request(request, state).await.map_err(IntoResponse::into_response)?;
        let bytes = if bytes.is_empty() { Bytes::from_static(b"{}") } else { bytes };
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| problem(StatusCode::BAD_REQUEST, &error.to_string()).into_response())
    }
}

/// A refusal: its status, and why.
type Refused = (StatusCode, Json<Value>);

fn problem(status: StatusCode, error: &str) -> Refused {
    (status, Json(json!({"error": error})))
}

async fn overview(State(world): Shared) -> Json<Value> {
    let mut overview = json!({"clock": world.clock_view(), "partners": {}});
    for partner in PartnerName::ALL {
        let frontend = world.frontend(partner);
        overview["partners"][partner.as_str()] = json!({
            "address": frontend.control.address(),
            "mode": frontend.faults.mode(),
            "faults": frontend.faults.list().len(),
            "calls": frontend.calls.totals(),
        });
    }
    Json(overview)
}

async fn reset_all(State(world): Shared) -> StatusCode {
    world.reset_all().await;
    StatusCode::NO_CONTENT
}

async fn reset(State(world): Shared, Path(partner): Path<PartnerName>) -> StatusCode {
    world.reset(partner).await;
    StatusCode::NO_CONTENT
}

async fn show_clock(State(world): Shared) -> Json<Value> {
    Json(world.clock_view())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    /// `20m`, `1h 30s`.
    advance: String,
}

async fn advance_clock(State(world): Shared, Body(Advance { advance }): Body<Advance>) -> Response {
    let by_ms =
        humantime::parse_duration(&advance).ok().and_then(|by| i64::try_from(by.as_millis()).ok());
    match by_ms {
        Some(by_ms) => {
            world.advance_ms(by_ms);
            Json(world.clock_view()).into_response()
        }
        None => problem(StatusCode::BAD_REQUEST, "advance must be a duration such as 20m")
            .into_response(),
    }
}

async fn whole_ledger(State(world): Shared) -> Json<Value> {
    let mut ledger = json!({"clock": world.clock_view()});
    for partner in PartnerName::ALL {
        ledger[partner.as_str()] = world.ledger_of(partner);
    }
    Json(ledger)
}

async fn ledger(State(world): Shared, Path(partner): Path<PartnerName>) -> Json<Value> {
    Json(world.ledger_of(partner))
}

#[derive(Deserialize)]
struct CallsQuery {
    operation: Option<String>,
    number: Option<String>,
    limit: Option<usize>,
}

async fn calls(
    State(world): Shared,
    Path(partner): Path<PartnerName>,
    Query(query): Query<CallsQuery>,
) -> Response {
    let calls = world.frontend(partner).calls.recent(query.limit.unwrap_or(1000), |call| {
        query.operation.as_deref().is_none_or(|operation| operation == call.operation)
            && query.number.as_deref().is_none_or(|number| call.number.as_deref() == Some(number))
    });
    Json(json!({"items": calls})).into_response()
}

async fn show_mode(State(world): Shared, Path(partner): Path<PartnerName>) -> Json<Mode> {
    Json(world.frontend(partner).faults.mode())
}

async fn set_mode(
    State(world): Shared,
    Path(partner): Path<PartnerName>,
    Body(mode): Body<Mode>,
) -> Json<Mode> {
    let frontend = world.frontend(partner);
    frontend.set_mode(mode).await;
    Json(frontend.faults.mode())
}

async fn list_faults(State(world): Shared, Path(partner): Path<PartnerName>) -> Json<Value> {
    Json(json!({"items": world.frontend(partner).faults.list()}))
}

async fn add_fault(
    State(world): Shared,
    Path(partner): Path<PartnerName>,
    Body(fault): Body<Fault>,
) -> Response {
    let id = world.frontend(partner).faults.add(fault);
    (StatusCode::CREATED, Json(json!({"id": id}))).into_response()
}

async fn clear_faults(State(world): Shared, Path(partner): Path<PartnerName>) -> StatusCode {
    world.frontend(partner).faults.clear();
    StatusCode::NO_CONTENT
}

async fn remove_fault(
    State(world): Shared,
    Path((partner, id)): Path<(PartnerName, u64)>,
) -> Response {
    match world.frontend(partner).faults.remove(id) {
        true => StatusCode::NO_CONTENT.into_response(),
        false => problem(StatusCode::NOT_FOUND, "no such fault").into_response(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallbackUrl {
    url: Option<String>,
}

async fn set_callback_url(
    State(world): Shared,
    Body(CallbackUrl { url }): Body<CallbackUrl>,
) -> StatusCode {
    for bank in world.banks() {
        bank.callbacks.set_target(url.clone());
    }
    StatusCode::NO_CONTENT
}

async fn list_products(State(world): Shared) -> Json<Value> {
    Json(json!({"items": world.catalog.list()}))
}

async fn put_product(
    State(world): Shared,
    Path(id): Path<String>,
    Body(product): Body<Value>,
) -> StatusCode {
    world.catalog.put(&id, product);
    StatusCode::NO_CONTENT
}

async fn remove_product(State(world): Shared, Path(id): Path<String>) -> Response {
    match world.catalog.remove(&id) {
        true => StatusCode::NO_CONTENT.into_response(),
        false => problem(StatusCode::NOT_FOUND, "no such product").into_response(),
    }
}

async fn list_customers(State(world): Shared) -> Json<Value> {
    Json(json!(world.recommendations.list()))
}

async fn put_customer(
    State(world): Shared,
    Path(id): Path<String>,
    Body(reply): Body<Value>,
) -> StatusCode {
    world.recommendations.put(&id, reply);
    StatusCode::NO_CONTENT
}

async fn remove_customer(State(world): Shared, Path(id): Path<String>) -> Response {
    match world.recommendations.remove(&id) {
        true => StatusCode::NO_CONTENT.into_response(),
        false => problem(StatusCode::NOT_FOUND, "no such customer").into_response(),
    }
}
