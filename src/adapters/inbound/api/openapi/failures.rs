//! What can go wrong at which route, and who may ask.

use super::operations::operations;
use super::problem_responses;
use crate::adapters::inbound::api::webhooks;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::problem::Problem;
use http::StatusCode;
use utoipa::Modify;
use utoipa::openapi::SecurityRequirement;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

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

const ENDPOINT: &[Code] = &[Code::WebhookEndpointNotFound, Code::StorageUnavailable];

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
        "list_orders" | "list_events" => vec![&[Code::StorageUnavailable]],
        "show_order" | "list_refunds" | "list_order_events" => vec![ORDER],
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
        "create_webhook_endpoint" => {
            vec![BODY, &[Code::TooManyEndpoints, Code::StorageUnavailable]]
        }
        "list_webhook_endpoints" => vec![&[Code::StorageUnavailable]],
        "show_webhook_endpoint"
        | "delete_webhook_endpoint"
        | "test_webhook_endpoint"
        | "list_deliveries" => vec![ENDPOINT],
        "change_webhook_endpoint" | "rotate_webhook_secret" | "redeliver" => vec![BODY, ENDPOINT],
        "show_task" => vec![&[Code::TaskNotFound, Code::StorageUnavailable]],
        "show_product" => vec![&[Code::ProductNotFound, Code::CatalogUnavailable]],
        "recommend" => vec![&[Code::RecommendationsUnavailable]],
        id if id.starts_with("from_") => vec![webhooks::CODES],
        _ => return None,
    })
}

/// Adds them to every operation of the document.
pub struct Failures;

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
                    problem_responses::add(
                        operation,
                        path,
                        codes.map(|code| Problem::new(*code)).chain(missing),
                    );
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
