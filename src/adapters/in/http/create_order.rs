//! `POST /v1/orders`: place an order, once for each idempotency key.

use crate::adapters::r#in::http::auth::Caller;
use crate::adapters::r#in::http::body::{Json, encode, json_bytes};
use crate::adapters::r#in::http::code::Code;
use crate::adapters::r#in::http::faults::{At, BAD_ID, Faults};
use crate::adapters::r#in::http::idempotency::{Claim, IDEMPOTENCY_REPLAYED, Key, fingerprint};
use crate::adapters::r#in::http::lang::Text;
use crate::adapters::r#in::http::order_body::OrderBody;
use crate::adapters::r#in::http::params::NoQuery;
use crate::adapters::r#in::http::problem::Problem;
use crate::adapters::r#in::http::state::App;
use crate::adapters::r#in::http::visit::Visit;
use crate::core::domain::ids::{CustomerId, ProductId};
use crate::core::domain::order::{MAX_ITEMS, MAX_QUANTITY, Order};
use crate::core::ports::events::{Event, IdempotencyResult};
use crate::core::ports::orders::{IdempotencyKey, KeptReply, KeyedOrder, Placed};
use crate::core::use_cases::place_order::{NewOrder, PlaceOrderError};
use axum::extract::State;
use axum::response::Response;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, StatusCode};
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

const ROUTE: &str = "POST /v1/orders";

const BAD_COUNT: Text =
    Text::new("must hold 1 to 100 items", "должно содержать от 1 до 100 позиций");
const BAD_QUANTITY: Text =
    Text::new("must be a whole number, 1 to 10000", "должно быть целым числом от 1 до 10000");

// How it is read, with all faults at once: `Wanted`.
/// What a customer wants to buy.
#[expect(dead_code, reason = "only its schema is used: bodies are read by hand")]
#[derive(Debug, ToSchema)]
#[schema(as = NewOrder)]
pub struct NewOrderBody {
    #[schema(pattern = "^[A-Za-z0-9_.-]{1,64}$", example = "c-42")]
    customer_id: String,
    #[schema(min_items = 1, max_items = 100)]
    items: Vec<NewItemBody>,
}

#[expect(dead_code, reason = "only its schema is used: bodies are read by hand")]
#[derive(Debug, ToSchema)]
#[schema(as = NewOrderItem)]
pub struct NewItemBody {
    /// Once in an order.
    #[schema(pattern = "^[A-Za-z0-9_.-]{1,64}$", example = "p-1")]
    product_id: String,
    #[schema(minimum = 1, maximum = 10_000, example = 2)]
    quantity: u32,
}

#[derive(Debug)]
struct Wanted {
    customer_id: CustomerId,
    lines: Vec<(ProductId, u32)>,
}

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
    visit: Visit,
    _: NoQuery,
    Key(key): Key,
    Json(body): Json,
) -> Result<Response, Problem> {
    let wanted = Wanted::read(&body)?;
    caller.may_order_for(&wanted.customer_id)?;
    let Some(key) = key else {
        let work = place(Arc::clone(&app), wanted, None, visit);
        return match app.detached(work).await?? {
            Placed::New(order) => Ok(created(&order.id.to_string(), render(&order))),
            Placed::Known(_) => Err(Problem::internal("a reply was kept for no key")),
        };
    };
    let key = IdempotencyKey { owner: caller.owner, route: ROUTE, key };
    let claim = app.keys.claim(key, wanted.fingerprint(), &*app.services.events)?;
    app.detached(place_once(Arc::clone(&app), wanted, claim, visit)).await?
}

/// The claim is held until the reply is kept: a repeat finds one or the other.
async fn place_once(
    app: Arc<App>,
    wanted: Wanted,
    claim: Claim,
    visit: Visit,
) -> Result<Response, Problem> {
    let services = &app.services;
    if let Some(kept) = services.store.find_reply(&claim.key).await? {
        return Ok(replay(claim.same(kept, &*services.events)?));
    }
    let keyed = KeyedOrder {
        key: claim.key.clone(),
        fingerprint: claim.fingerprint,
        render: Box::new(|order| (StatusCode::CREATED.as_u16(), render(order))),
    };
    match place(Arc::clone(&app), wanted, Some(keyed), visit.clone()).await {
        Ok(Placed::New(order)) => {
            services.events.record(&Event::Idempotency(IdempotencyResult::New));
            Ok(created(&order.id.to_string(), render(&order)))
        }
        Ok(Placed::Known(kept)) => Ok(replay(claim.same(kept, &*services.events)?)),
        Err(problem) if problem.status.is_client_error() => {
            services.events.record(&Event::Idempotency(IdempotencyResult::New));
            let (status, body) = (problem.status.as_u16(), problem.body(visit.setting()));
            let reply = KeptReply { fingerprint: claim.fingerprint, status, body };
            // Nothing was placed: if this is not kept, a repeat is simply asked again.
            let _ = services.store.keep_reply(claim.key.clone(), reply).await;
            Err(problem)
        }
        Err(problem) => Err(problem),
    }
}

async fn place(
    app: Arc<App>,
    wanted: Wanted,
    key: Option<KeyedOrder>,
    visit: Visit,
) -> Result<Placed, Problem> {
    let Wanted { customer_id, lines } = wanted;
    let products: Vec<ProductId> = lines.iter().map(|(product, _)| product.clone()).collect();
    let order = NewOrder { customer_id, lines, key, call: visit.call() };
    app.can.place_order.run(order).await.map_err(|error| match error {
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
    let status = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::OK);
    let mut response = if status == StatusCode::CREATED {
        let order: Option<Value> = serde_json::from_slice(&kept.body).ok();
        let id = order.as_ref().and_then(|order| order["id"].as_str()).unwrap_or_default();
        created(id, kept.body)
    } else {
        json_bytes(status, kept.body)
    };
    let headers = response.headers_mut();
    if status.is_client_error() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    }
    headers.insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    response
}

impl Wanted {
    fn read(body: &Value) -> Result<Self, Problem> {
        let mut faults = Faults::default();
        let wanted = Self::from_object(body, &mut faults);
        faults.verdict(wanted)
    }

    fn from_object(body: &Value, faults: &mut Faults) -> Option<Self> {
        let root = At::Root;
        let members = faults.object(body, root, &["customer_id", "items"])?;
        let customer_id = faults.member(members, root, "customer_id").and_then(|value| {
            let at = At::Member(&root, "customer_id");
            let text = faults.string(value, at)?;
            faults.parsed(CustomerId::parse(text).ok(), at, BAD_ID)
        });
        let lines = faults.member(members, root, "items").and_then(|value| {
            let at = At::Member(&root, "items");
            let items = faults.array(value, at)?;
            if items.is_empty() || items.len() > MAX_ITEMS {
                faults.add(at, BAD_COUNT);
                return None;
            }
            let mut lines = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                lines.extend(line(item, At::Element(&at, index), faults));
            }
            Some(lines)
        });
        Some(Self { customer_id: customer_id?, lines: lines? })
    }

    /// What was read, not how it was written: spaces and the order of members mean nothing.
    fn fingerprint(&self) -> [u8; 32] {
        let quantities: Vec<String> = self.lines.iter().map(|(_, n)| n.to_string()).collect();
        let lines = self.lines.iter().zip(&quantities);
        let lines = lines.flat_map(|((product, _), quantity)| [product.as_str(), quantity]);
        fingerprint([ROUTE, self.customer_id.as_str()].into_iter().chain(lines))
    }
}

fn line(item: &Value, at: At<'_>, faults: &mut Faults) -> Option<(ProductId, u32)> {
    let members = faults.object(item, at, &["product_id", "quantity"])?;
    let product = faults.member(members, at, "product_id").and_then(|value| {
        let at = At::Member(&at, "product_id");
        let text = faults.string(value, at)?;
        faults.parsed(ProductId::parse(text).ok(), at, BAD_ID)
    });
    let quantity = faults.member(members, at, "quantity").and_then(|value| {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| (1..=MAX_QUANTITY).contains(number));
        faults.parsed(number, At::Member(&at, "quantity"), BAD_QUANTITY)
    });
    Some((product?, quantity?))
}

/// A product that the catalog does not know is shown where it stands.
impl Problem {
    fn at_line(self, line: Option<usize>) -> Self {
        let Some(index) = line else { return self };
        let items = At::Member(&At::Root, "items");
        let at = At::Element(&items, index);
        self.with_violation(At::Member(&at, "product_id"), Code::ProductNotFound.detail())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::r#in::http::lang::Lang;
    use crate::adapters::r#in::http::problem::Setting;
    use serde_json::json;

    fn pointers(body: &Value) -> Vec<String> {
        let problem = Wanted::read(body).unwrap_err();
        let setting = Setting { lang: Lang::En, instance: None, trace_id: None };
        let shown: Value = serde_json::from_slice(&problem.body(setting)).unwrap();
        let errors = shown["errors"].as_array().unwrap();
        errors.iter().map(|error| error["pointer"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let body = json!({
            "customer_id": 7,
            "items": [
                {"product_id": "p-1", "quantity": 0},
                {"product_id": "..", "quantity": 1, "price": 1},
                {"quantity": 1.5},
                "p-2",
            ],
            "total": 1,
        });
        assert_eq!(
            pointers(&body),
            [
                "/total",
                "/customer_id",
                "/items/0/quantity",
                "/items/1/price",
                "/items/1/product_id",
                "/items/2/product_id",
                "/items/2/quantity",
                "/items/3",
            ]
        );
    }

    #[test]
    fn nonsense_of_every_type_is_named() {
        for (body, pointer) in [
            (json!(null), ""),
            (json!([]), ""),
            (json!({"customer_id": "c", "items": []}), "/items"),
            (json!({"customer_id": "c", "items": {}}), "/items"),
            (json!({"customer_id": "c"}), "/items"),
            (json!({"items": [{"product_id": "p", "quantity": 1}]}), "/customer_id"),
            (
                json!({"customer_id": "c", "items": [{"product_id": "p", "quantity": 10_001}]}),
                "/items/0/quantity",
            ),
            (
                json!({"customer_id": "c", "items": [{"product_id": "p", "quantity": -1}]}),
                "/items/0/quantity",
            ),
            (
                json!({"customer_id": "c", "items": [{"product_id": "p", "quantity": "1"}]}),
                "/items/0/quantity",
            ),
            (
                json!({"customer_id": "c", "items": [{"product_id": null, "quantity": 1}]}),
                "/items/0/product_id",
            ),
        ] {
            assert_eq!(pointers(&body), [pointer], "{body}");
        }
        let item = json!({"product_id": "p", "quantity": 1});
        assert_eq!(pointers(&json!({"customer_id": "c", "items": vec![item; 101]})), ["/items"]);
    }

    #[test]
    fn the_fingerprint_is_of_what_was_asked() {
        let print =
            |text: &str| Wanted::read(&serde_json::from_str(text).unwrap()).unwrap().fingerprint();
        let one = print(r#"{"customer_id":"c","items":[{"product_id":"p","quantity":1}]}"#);
        let spaced = print(r#"{ "items":[{"quantity":1, "product_id":"p"}], "customer_id":"c" }"#);
        let two = print(r#"{"customer_id":"c","items":[{"product_id":"p","quantity":2}]}"#);
        assert_eq!(one, spaced);
        assert_ne!(one, two);
    }
}
