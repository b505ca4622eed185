//! The OpenAPI document. What a route answers when all goes well stands beside its handler; what can
//! go wrong is added here from the table of codes, with examples made by the very code that makes
//! the real bodies, so that the document cannot tell another story.

use crate::adapters::inbound::api::webhooks::Webhooks;
use crate::adapters::inbound::api::{
    cancel, confirm, create_order, orders, products, recommendations, refund, refunds, tasks,
    webhooks,
};
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::health;
use crate::adapters::inbound::http_kit::lang::Lang;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::problem_body::{
    ProblemBody, ProblemContext, ViolationBody,
};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::schema::Type;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    ContentBuilder, ObjectBuilder, Ref, RefOr, ResponseBuilder, SecurityRequirement,
};
use utoipa::{Modify, OpenApi};

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
static COMPACT: LazyLock<String> =
    LazyLock::new(|| Document::openapi().to_json().expect("strings and numbers under string keys"));

/// The document as JSON, for people's eyes.
pub fn openapi_json() -> String {
    Document::openapi().to_pretty_json().expect("strings and numbers under string keys")
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
            method: if method == "get" { "GET" } else { "POST" },
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

pub async fn openapi() -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, COMPACT.as_str()).into_response()
}

/// What can go wrong at every route of the API.
const GENERAL: &[Code] =
    &[Code::InvalidRequest, Code::Internal, Code::Overloaded, Code::DeadlineExceeded];

/// What can go wrong where somebody must say who asks: everywhere but at the webhooks, which are
/// signed.
const ASKED: &[Code] = &[Code::Unauthenticated, Code::Forbidden, Code::RateLimited];

/// What can go wrong where a body is read.
const BODY: &[Code] = &[Code::RequestTimeout, Code::PayloadTooLarge, Code::UnsupportedMediaType];

const ORDER: &[Code] = &[Code::OrderNotFound, Code::StorageUnavailable];

/// What can go wrong where something is placed or money moves.
const MONEY: &[Code] = &[Code::Maintenance];

const KEY: &[Code] = &[Code::IdempotencyInProgress, Code::IdempotencyKeyReused];

/// By operation, beside the general ones.
fn special(operation: &str) -> Option<Vec<&'static [Code]>> {
    Some(match operation {
        "create_order" => vec![
            BODY,
            KEY,
            MONEY,
            &[
                Code::PriceChanged,
                Code::OrderInvalid,
                Code::CurrencyNotSupported,
                Code::CatalogUnavailable,
                Code::StorageUnavailable,
            ],
        ],
        "list_orders" => vec![&[Code::StorageUnavailable]],
        "show_order" | "list_refunds" => vec![ORDER],
        "confirm_order" => vec![
            BODY,
            ORDER,
            MONEY,
            &[
                Code::OrderNotConfirmable,
                Code::CancelInProgress,
                Code::PaymentRejected,
                Code::PaymentSystemUnavailable,
            ],
        ],
        "cancel_order" => vec![BODY, ORDER, MONEY, &[Code::OrderNotCancellable]],
        "refund_order" => vec![
            BODY,
            KEY,
            ORDER,
            MONEY,
            &[
                Code::IdempotencyKeyRequired,
                Code::OrderNotRefundable,
                Code::RefundInProgress,
                Code::CurrencyNotSupported,
                Code::RefundExceedsPayment,
                Code::RefundRejected,
            ],
        ],
        "show_task" => vec![&[Code::TaskNotFound, Code::StorageUnavailable]],
        "show_product" => vec![&[Code::ProductNotFound, Code::CatalogUnavailable]],
        "recommend" => vec![&[Code::RecommendationsUnavailable]],
        id if id.starts_with("from_") => vec![webhooks::CODES],
        _ => return None,
    })
}

struct Failures;

impl Modify for Failures {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        for (path, item) in &mut document.paths.paths {
            for (_, operation) in operations(item) {
                let Some(id) = operation.operation_id.clone() else { continue };
                if let Some(special) = special(&id) {
                    let asked = !path.starts_with(webhooks::PREFIX);
                    operation.security = asked.then(security);
                    let asked = if asked { ASKED } else { &[] };
                    let codes = GENERAL.iter().chain(asked).chain(special.into_iter().flatten());
                    let missing = (id == "create_order").then(unknown_product);
                    add(operation, path, codes.map(|code| Problem::new(*code)).chain(missing));
                }
            }
        }
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(
                "Asked for with `AUTH_MODE=jwt`. The claim `scope` lists `orders` (own orders: \
                the customer is `sub`) or `orders:any`; refunds need `orders:refund` beside `orders`, \
                or `orders:any`. `exp` is required.",
            ))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
}

/// No token with `AUTH_MODE=none`, else one of these scopes.
fn security() -> Vec<SecurityRequirement> {
    let scoped = |scope| SecurityRequirement::new("bearer", [scope]);
    vec![SecurityRequirement::default(), scoped("orders"), scoped("orders:any")]
}

/// An order that names a product which the catalog does not know.
fn unknown_product() -> Problem {
    Problem::new(Code::ProductNotFound)
        .with_status(StatusCode::UNPROCESSABLE_ENTITY)
        .with_member("product_id", "p-404")
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    [("get", &mut item.get), ("post", &mut item.post)]
        .into_iter()
        .filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// One response per status, with one example per code.
fn add(operation: &mut Operation, path: &str, problems: impl Iterator<Item = Problem>) {
    let mut by_status: BTreeMap<u16, Vec<Problem>> = BTreeMap::new();
    for problem in problems {
        by_status.entry(problem.status.as_u16()).or_default().push(problem);
    }
    for (status, problems) in by_status {
        let codes: Vec<String> =
            problems.iter().map(|problem| format!("`{}`", problem.code.as_str())).collect();
        let examples = problems.iter().map(|problem| example(problem, path));
        let content = ContentBuilder::new()
            .schema(Some(RefOr::Ref(Ref::from_schema_name("Problem"))))
            .examples_from_iter(examples)
            .build();
        let mut response = ResponseBuilder::new()
            .description(codes.join(", "))
            .content("application/problem+json", content);
        if problems.iter().any(|problem| problem.retry_after_secs().is_some()) {
            let seconds = ObjectBuilder::new().schema_type(Type::Integer);
            let header = HeaderBuilder::new().schema(Some(seconds)).description(Some("Seconds"));
            response = response.header("Retry-After", header.build());
        }
        if problems.iter().any(|problem| problem.challenge().is_some()) {
            let text = ObjectBuilder::new().schema_type(Type::String);
            let what = "`Bearer`, with `error=\"invalid_token\"` where a token was sent";
            let header = HeaderBuilder::new().schema(Some(text)).description(Some(what));
            response = response.header("WWW-Authenticate", header.build());
        }
        operation.responses.responses.insert(status.to_string(), RefOr::T(response.build()));
    }
}

fn example(problem: &Problem, path: &str) -> (String, RefOr<utoipa::openapi::example::Example>) {
    let trace_id = Some("4bf92f3577b34da6a3ce929d0e0e4736");
    let context = ProblemContext { lang: Lang::En, instance: Some(path), trace_id };
    let body: serde_json::Value =
        serde_json::from_slice(&problem.body(context)).unwrap_or_default();
    let example = ExampleBuilder::new().summary(problem.code.title()).value(Some(body)).build();
    (problem.code.as_str().to_owned(), RefOr::T(example))
}
