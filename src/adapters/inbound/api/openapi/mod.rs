//! The OpenAPI document. What a route answers when all goes well stands beside its handler; what can
//! go wrong is added here from the table of codes, with examples made by the very code that makes
//! the real bodies, so that the document cannot tell another story.

mod failures;
mod operations;
mod problem_responses;

use crate::adapters::inbound::api::webhooks::Webhooks;
use crate::adapters::inbound::api::{
    cancel, confirm, create_order, events, orders, products, recommendations, refund, refunds,
    tasks, webhook_endpoints,
};
use crate::adapters::inbound::http_kit::health;
use crate::adapters::inbound::http_kit::problem_body::{ProblemBody, ViolationBody};
use axum::response::{IntoResponse, Response};
use failures::Failures;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use operations::operations;
use std::sync::LazyLock;
use utoipa::OpenApi;
use utoipa::openapi::path::Operation;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "OrderService",
        description = "From a cart to a paid order, also while payment partners fail.\n\n\
            Every response carries `X-Request-Id` (the client's own, if it sent a valid one); \
            `traceparent` is honoured. `Request-Timeout: <milliseconds>` is the request's \
            deadline. Failures are `application/problem+json` (RFC 9457): `code` is for programs, \
            `detail` for people, in Russian when `Accept-Language` prefers it. Members and \
            parameters that are not known are refused."
    ),
    tags(
        (name = "orders", description = "Place, confirm, cancel, refund"),
        (name = "tasks", description = "What goes on without the client"),
        (name = "events", description = "What became of orders, one after the other"),
        (name = "webhook endpoints", description = "Where a shop wants to be told"),
        (name = "reads", description = "Products and recommendations"),
        (name = "webhooks", description = "For the payment systems"),
        (name = "health", description = "For load balancers"),
    ),
    paths(
        create_order::create_order,
        orders::list_orders,
        orders::show_order,
        confirm::confirm_order,
        cancel::cancel_order,
        refund::refund_order,
        refunds::list_refunds,
        events::list_order_events,
        events::list_events,
        webhook_endpoints::create_webhook_endpoint,
        webhook_endpoints::list_webhook_endpoints,
        webhook_endpoints::show_webhook_endpoint,
        webhook_endpoints::change_webhook_endpoint,
        webhook_endpoints::delete_webhook_endpoint,
        webhook_endpoints::rotate_webhook_secret,
        webhook_endpoints::test_webhook_endpoint,
        webhook_endpoints::list_deliveries,
        webhook_endpoints::redeliver,
        tasks::show_task,
        products::show_product,
        recommendations::recommend,
        health::live,
        health::ready,
    ),
    components(schemas(ProblemBody<'static>, ViolationBody<'static>)),
    modifiers(&Webhooks, &Failures)
)]
struct Document;

/// As it goes over the wire.
static COMPACT: LazyLock<String> = LazyLock::new(|| told(Document::openapi().to_json()));

/// The document as JSON, for people's eyes.
pub fn openapi_json() -> String {
    told(Document::openapi().to_pretty_json())
}

/// What shops are sent, which the library has no place for.
const WEBHOOKS: &str = include_str!("webhooks.json");

/// The document, with that as its last member.
fn told(document: serde_json::Result<String>) -> String {
    let document = document.expect("strings and numbers under string keys");
    let open = document.trim_end().strip_suffix('}').expect("a document is an object").trim_end();
    format!("{open},\n  \"webhooks\": {}\n}}\n", WEBHOOKS.trim_end())
}

pub async fn openapi() -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, COMPACT.as_str()).into_response()
}

/// A documented operation, with the statuses of its success.
#[derive(Debug)]
pub struct Documented {
    pub method: &'static str,
    pub route: String,
    pub successes: Vec<u16>,
}

pub fn documented_routes() -> Vec<Documented> {
    let mut paths = Document::openapi().paths.paths;
    let routes = paths.iter_mut().flat_map(|(path, item)| {
        let documented = |(method, operation): (&'static str, &mut Operation)| Documented {
            method,
            route: path.clone(),
            successes: successes(operation),
        };
        operations(item).map(documented).collect::<Vec<_>>()
    });
    routes.collect()
}

fn successes(operation: &Operation) -> Vec<u16> {
    let statuses = operation.responses.responses.keys().filter_map(|status| status.parse().ok());
    statuses.filter(|status| (200..300).contains(status)).collect()
}
