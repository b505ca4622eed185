//! `/v1/webhook-endpoints`: where a shop wants to be told, and what became of that.

mod body;
mod deliveries;
mod lookup;
mod new_endpoint;

pub use deliveries::{__path_list_deliveries, __path_redeliver, list_deliveries, redeliver};

use crate::adapters::inbound::api::caller::WebhookOwner;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::body::{Json, OptionalJson};
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::core::domain::ids::WebhookEndpointId;
use crate::core::ports::webhook_endpoints::WebhookEndpoint;
use crate::core::use_cases::manage_webhooks::{NewEndpoint, OVERLAP};
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use body::{AttemptResultBody, EndpointBody, EndpointWithSecretBody, EndpointsBody};
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use lookup::{found, own, webhooks};
use new_endpoint::{EndpointChangeBody, NewEndpointBody, RotationBody};
use std::sync::Arc;

/// One endpoint's path.
const ONE: &str = "/v1/webhook-endpoints/{id}";

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/webhook-endpoints", post(create_webhook_endpoint).get(list_webhook_endpoints))
        .route(
            ONE,
            get(show_webhook_endpoint)
                .patch(change_webhook_endpoint)
                .delete(delete_webhook_endpoint),
        )
        .route(&format!("{ONE}/rotate"), post(rotate_webhook_secret))
        .route(&format!("{ONE}/test"), post(test_webhook_endpoint))
        .route(&format!("{ONE}/deliveries"), get(list_deliveries))
        .route(&format!("{ONE}/redeliver"), post(redeliver))
}

fn shown(app: &App, status: StatusCode, endpoint: &WebhookEndpoint) -> Response {
    json(status, &EndpointBody::of(endpoint, webhooks(app).shown(endpoint).as_ref()))
}

fn shown_with_secret(app: &App, status: StatusCode, endpoint: &WebhookEndpoint) -> Response {
    json(status, &EndpointWithSecretBody::of(endpoint, webhooks(app).shown(endpoint)))
}

/// Register a webhook endpoint
///
/// It is told of what happens from now on. `secret` is shown here and after a rotation, and never again.
#[utoipa::path(
    post,
    path = "/v1/webhook-endpoints",
    tag = "webhook endpoints",
    request_body = NewEndpointBody,
    responses((status = 201, description = "Registered", body = EndpointWithSecretBody, headers(
        ("Location" = String, description = "Where the endpoint is"),
    )))
)]
pub async fn create_webhook_endpoint(
    State(app): State<Arc<App>>,
    owner: WebhookOwner,
    _: NoQuery,
    Json(body): Json,
) -> Result<Response, Problem> {
    let request = new_endpoint::read(&body, &|url| webhooks(&app).check(url))?;
    let WebhookOwner { owner, scope } = owner;
    let new = NewEndpoint {
        owner,
        scope,
        url: request.url,
        event_types: request.event_types,
        description: request.description,
    };
    let Some(endpoint) = webhooks(&app).register(new).await? else {
        return Err(Problem::new(Code::TooManyEndpoints));
    };
    let mut response = shown_with_secret(&app, StatusCode::CREATED, &endpoint);
    let location = HeaderValue::from_str(&format!("/v1/webhook-endpoints/{}", endpoint.id));
    response.headers_mut().insert(LOCATION, location.expect("a UUID in a path"));
    Ok(response)
}

/// List webhook endpoints
#[utoipa::path(
    get,
    path = "/v1/webhook-endpoints",
    tag = "webhook endpoints",
    responses((status = 200, description = "All of the caller's, the oldest first", body = EndpointsBody))
)]
pub async fn list_webhook_endpoints(
    State(app): State<Arc<App>>,
    owner: WebhookOwner,
    _: NoQuery,
) -> Result<Response, Problem> {
    let webhooks = webhooks(&app);
    let endpoints = webhooks.endpoints.endpoints(&owner.owner).await?;
    let items = endpoints.iter().map(|one| EndpointBody::of(one, webhooks.shown(one).as_ref()));
    Ok(json(StatusCode::OK, &EndpointsBody { items: items.collect() }))
}

/// Show a webhook endpoint
#[utoipa::path(
    get,
    path = "/v1/webhook-endpoints/{id}",
    tag = "webhook endpoints",
    params(("id" = uuid::Uuid, Path, description = "The endpoint")),
    responses((status = 200, description = "The endpoint", body = EndpointBody))
)]
pub async fn show_webhook_endpoint(
    State(app): State<Arc<App>>,
    owner: WebhookOwner,
    Id(id): Id<WebhookEndpointId>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let endpoint = own(&app, &owner, id).await?;
    Ok(shown(&app, StatusCode::OK, &endpoint))
}

/// Change a webhook endpoint
///
/// What is left out stays as it is. One that is enabled again goes on with what waited for it, and is told of what
/// happens from then on; what happened meanwhile can be asked for (`redeliver`).
#[utoipa::path(
    patch,
    path = "/v1/webhook-endpoints/{id}",
    tag = "webhook endpoints",
    params(("id" = uuid::Uuid, Path, description = "The endpoint")),
    request_body = EndpointChangeBody,
    responses((status = 200, description = "As it is now", body = EndpointBody))
)]
pub async fn change_webhook_endpoint(
    State(app): State<Arc<App>>,
    owner: WebhookOwner,
    Id(id): Id<WebhookEndpointId>,
    _: NoQuery,
    Json(body): Json,
) -> Result<Response, Problem> {
    let change = new_endpoint::read_change(&body, &|url| webhooks(&app).check(url))?;
    let changed = webhooks(&app).endpoints.change_endpoint(&owner.owner, id, &change).await?;
    Ok(shown(&app, StatusCode::OK, &found(changed)?))
}

/// Delete a webhook endpoint
///
/// With everything that waits for it.
#[utoipa::path(
    delete,
    path = "/v1/webhook-endpoints/{id}",
    tag = "webhook endpoints",
    params(("id" = uuid::Uuid, Path, description = "The endpoint")),
    responses((status = 204, description = "It is gone"))
)]
pub async fn delete_webhook_endpoint(
    State(app): State<Arc<App>>,
    owner: WebhookOwner,
    Id(id): Id<WebhookEndpointId>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let gone = webhooks(&app).endpoints.remove_endpoint(&owner.owner, id).await?;
    found(gone.then(|| StatusCode::NO_CONTENT.into_response()))
}

/// Replace a webhook endpoint's secret
///
/// For a while both secrets sign, so that a receiver with either takes what comes.
#[utoipa::path(
    post,
    path = "/v1/webhook-endpoints/{id}/rotate",
    tag = "webhook endpoints",
    params(("id" = uuid::Uuid, Path, description = "The endpoint")),
    request_body(content = RotationBody, description = "May be left out"),
    responses((status = 200, description = "With the new secret", body = EndpointWithSecretBody))
)]
pub async fn rotate_webhook_secret(
    State(app): State<Arc<App>>,
    owner: WebhookOwner,
    Id(id): Id<WebhookEndpointId>,
    _: NoQuery,
    OptionalJson(body): OptionalJson,
) -> Result<Response, Problem> {
    let overlap = body.map_or(Ok(OVERLAP), |body| new_endpoint::read_overlap(&body))?;
    let rotated = webhooks(&app).rotate(&owner.owner, id, overlap).await?;
    Ok(shown_with_secret(&app, StatusCode::OK, &found(rotated)?))
}

/// Try a webhook endpoint
///
/// One attempt with an event of type `webhook.test`, made before the answer. A disabled endpoint is tried, too.
#[utoipa::path(
    post,
    path = "/v1/webhook-endpoints/{id}/test",
    tag = "webhook endpoints",
    params(("id" = uuid::Uuid, Path, description = "The endpoint")),
    responses((status = 200, description = "What came of it", body = AttemptResultBody))
)]
pub async fn test_webhook_endpoint(
    State(app): State<Arc<App>>,
    owner: WebhookOwner,
    Id(id): Id<WebhookEndpointId>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let attempt = webhooks(&app).test(&owner.owner, id).await?;
    Ok(json(StatusCode::OK, &AttemptResultBody::of(found(attempt)?)))
}
