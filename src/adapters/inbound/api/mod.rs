//! The public listener: the API of docs/api.md over HTTP. One file a resource; what every request meets
//! is in `http_kit`, and which error of the core becomes which problem in `resources`.

mod state;

mod housekeeping;
pub mod quota;
mod rate_limit_headers;

pub mod auth;
mod caller;
mod cors;
mod etag;
mod idempotency;
mod maintenance;
mod money;
mod return_url;

mod cancel;
mod confirm;
mod create_order;
mod events;
mod new_order;
mod order_body;
mod order_details;
mod orders;
mod products;
mod queued;
mod recommendations;
mod refund;
mod refunds;
mod tasks;
mod webhook_endpoints;
mod webhooks;

mod docs_page;
mod openapi;
mod problem_pages;

pub use events::event_json;
pub use housekeeping::ApiHousekeeping;
pub use openapi::{Documented, documented_routes, openapi_json};
pub use return_url::ReturnUrls;
pub use state::{App, Services, Settings, UseCases};

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::health::health_routes;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::request_layer::{
    self, Rank, RequestClass, RequestLayer, RequestLimits, RouteRules,
};
use crate::adapters::observe::traffic::Priority;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use std::sync::Arc;
use tower_http::compression::CompressionLayer;

/// Everything that the public listener serves.
pub fn router(app: &Arc<App>) -> Router {
    let (services, settings) = (&app.services, &app.settings);
    let request_layer = Arc::new(RequestLayer::new(
        Arc::clone(&services.traffic),
        Arc::clone(&services.entropy),
        Arc::clone(&services.readiness.lifecycle),
        RequestLimits {
            timeout: settings.request_timeout,
            max_in_flight: settings.max_inflight_requests,
            concurrency: settings.inflight_concurrency,
            body: settings.body,
            rules: RouteRules { class_of, rank_of, first_look: webhooks::first_look },
            origin: settings.origin,
        },
    ));
    let unless_read_only = from_fn_with_state(Arc::clone(app), maintenance::refuse);
    let place = post(create_order::create_order).route_layer(unless_read_only.clone());
    let money = Router::new()
        .route("/v1/orders/{id}/confirm", post(confirm::confirm_order))
        .route("/v1/orders/{id}/cancel", post(cancel::cancel_order))
        .route("/v1/orders/{id}/refund", post(refund::refund_order))
        .route_layer(unless_read_only);
    let resources = Router::new()
        .route("/v1/orders", place.get(orders::list_orders))
        .route("/v1/orders/{id}", get(orders::show_order))
        .merge(money)
        .route("/v1/orders/{id}/refunds", get(refunds::list_refunds))
        .route("/v1/orders/{id}/events", get(events::list_order_events))
        .route("/v1/events", get(events::list_events))
        .route(tasks::ROUTE, get(tasks::show_task))
        .route("/v1/products/{id}", get(products::show_product))
        .route("/v1/customers/{id}/recommendations", get(recommendations::recommend))
        .merge(webhook_endpoints::routes())
        .with_state(Arc::clone(app));
    let resources = match &services.quotas {
        Some(quotas) => rate_limit_headers::tell(resources, quotas.config),
        None => resources,
    };
    let router = resources
        .merge(webhooks::routes().with_state(Arc::clone(app)))
        .merge(documents())
        .merge(health_routes(Arc::clone(&services.readiness)))
        .fallback(async || Problem::new(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed))
        .layer(from_fn_with_state(request_layer, request_layer::apply));
    cors::allow(router, &settings.allowed_origins)
}

fn class_of(route: &str) -> RequestClass {
    if route == tasks::ROUTE {
        RequestClass::LongPoll
    } else if route.starts_with(webhooks::PREFIX) {
        RequestClass::Callback
    } else {
        RequestClass::Ordinary
    }
}

/// Money first, then one thing at a time, then lists, hints and documents. Reads of our own storage tell how
/// we are; what asks a partner tells how the partner is.
fn rank_of(method: &str, route: &str) -> Rank {
    match (method, route) {
        (
            "POST",
            "/v1/orders/{id}/confirm" | "/v1/orders/{id}/cancel" | "/v1/orders/{id}/refund",
        ) => Rank::of(Priority::Money),
        (_, route) if route.starts_with(webhooks::PREFIX) => Rank::of(Priority::Money),
        ("GET", "/v1/orders" | "/v1/orders/{id}/refunds") => Rank::of_own_work(Priority::Low),
        ("GET", "/v1/orders/{id}") => Rank::of_own_work(Priority::Normal),
        (_, "/v1/orders" | "/v1/products/{id}" | tasks::ROUTE) => Rank::of(Priority::Normal),
        (_, _) => Rank::of(Priority::Low),
    }
}

/// Large and always the same: the only replies that are worth compressing.
fn documents() -> Router {
    docs_page::routes()
        .merge(problem_pages::routes())
        .route("/openapi.json", get(openapi::openapi))
        .layer(CompressionLayer::new())
}
