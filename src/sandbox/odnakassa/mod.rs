//! OdnaKassa, protocol version 1: JSON, bearer key, idempotency keys that are a promise, signed webhooks.

mod create;
mod keys;
mod object;
mod operations;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use self::create::is_name;
use self::object::Problem;
use self::operations::Change;
use super::bank::Bank;
use super::callbacks::{Form, Message};
use super::clock::rfc3339;
use super::door::Caller;
use super::fault::Then;
use super::order::{Event, Order, State as OrderState};
use super::reply::Reply;
use super::settings::OdnakassaCredentials;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[derive(Debug)]
pub struct Odnakassa {
    pub bank: Arc<Bank>,
    pub credentials: OdnakassaCredentials,
    /// Where the payment pages are.
    pub public_url: String,
}

pub fn router(kassa: Arc<Odnakassa>) -> Router {
    Router::new()
        .route("/v1/payments", post(create_payment).get(list_payments))
        .route("/v1/payments/{id}", get(get_payment))
        .route("/v1/payments/{id}/{change}", post(change_payment))
        .route("/health", get(health))
        .fallback(no_such_path)
        .with_state(kassa)
}

#[derive(Debug, Deserialize)]
struct ListQuery {
    order_id: Option<String>,
}

async fn create_payment(
    State(kassa): State<Arc<Odnakassa>>,
    headers: HeaderMap,
    caller: Caller,
    body: Bytes,
) -> Response {
    let request_id = request_id(&headers);
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let number = body.get("order_id").and_then(Value::as_str).map(str::to_owned);
    let arrived = kassa
        .authenticate(&headers)
        .and_then(|()| idempotency_key(&headers))
        .and_then(|key| create::arrive(&kassa, key, &body));
    let door = Arc::clone(&kassa.bank.door);
    door.pass(caller, "create", number.as_deref(), move |then| {
        let reply = match arrived {
            Ok((asked, reserved)) => create::decide(&kassa, asked, reserved, then, &request_id),
            Err(problem) => problem.reply(&request_id),
        };
        reply.with_header(REQUEST_ID, &request_id)
    })
    .await
}

async fn list_payments(
    State(kassa): State<Arc<Odnakassa>>,
    headers: HeaderMap,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Response {
    let number = query.order_id.clone();
    kassa
        .read(caller, &headers, "list", number, move |kassa, id| {
            kassa.list(query.order_id.as_deref(), id)
        })
        .await
}

async fn get_payment(
    State(kassa): State<Arc<Odnakassa>>,
    headers: HeaderMap,
    caller: Caller,
    Path(payment_id): Path<String>,
) -> Response {
    let number = kassa.number_of(&payment_id);
    kassa.read(caller, &headers, "get", number, move |kassa, id| kassa.get(&payment_id, id)).await
}

async fn change_payment(
    State(kassa): State<Arc<Odnakassa>>,
    headers: HeaderMap,
    caller: Caller,
    Path((payment_id, change)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    let door = Arc::clone(&kassa.bank.door);
    let operation = match change.as_str() {
        "capture" => "capture",
        "cancel" => "cancel",
        "refunds" => "refund",
        _ => return no_such_path(State(kassa), headers, caller).await,
    };
    let request_id = request_id(&headers);
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let arrived = kassa.authenticate(&headers).and_then(|()| {
        let key = idempotency_key(&headers)?;
        let change = Change::parse(operation, &body)?;
        let reserved = kassa.reserve(key, format!("{payment_id} {change:?}"))?;
        Ok((change, reserved))
    });
    let number = kassa.number_of(&payment_id);
    door.pass(caller, operation, number.as_deref(), move |_| {
        let reply = match arrived {
            Ok((change, reserved)) => kassa.change(&payment_id, &change, reserved, &request_id),
            Err(problem) => problem.reply(&request_id),
        };
        reply.with_header(REQUEST_ID, &request_id)
    })
    .await
}

async fn health(State(kassa): State<Arc<Odnakassa>>, caller: Caller) -> Response {
    let healthy = |_: &Then| Reply::json(StatusCode::OK, json!({"status": "ok"}), "ok");
    kassa.bank.door.pass(caller, "health", None, healthy).await
}

async fn no_such_path(
    State(kassa): State<Arc<Odnakassa>>,
    headers: HeaderMap,
    caller: Caller,
) -> Response {
    let request_id = request_id(&headers);
    let problem = Problem::new(StatusCode::NOT_FOUND, "not_found", "no such path");
    kassa.bank.door.pass(caller, "unknown", None, move |_| problem.reply(&request_id)).await
}

impl Odnakassa {
    async fn read(
        self: Arc<Self>,
        caller: Caller,
        headers: &HeaderMap,
        operation: &'static str,
        number: Option<String>,
        read: impl FnOnce(&Self, &str) -> Reply + Send + 'static,
    ) -> Response {
        let door = Arc::clone(&self.bank.door);
        let allowed = self.authenticate(headers);
        let request_id = request_id(headers);
        door.pass(caller, operation, number.as_deref(), move |_| {
            let reply = match allowed {
                Ok(()) => read(&self, &request_id),
                Err(problem) => problem.reply(&request_id),
            };
            reply.with_header(REQUEST_ID, &request_id)
        })
        .await
    }

    fn authenticate(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let sent = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        if sent == Some(self.credentials.api_key.as_str()) {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "the API key is missing or unknown",
        ))
    }

    fn number_of(&self, payment_id: &str) -> Option<String> {
        self.bank.view_by_id(payment_id, |order| order.asked.number.clone())
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<&str, Problem> {
    let key = headers.get("idempotency-key").and_then(|value| value.to_str().ok());
    key.filter(|key| is_name(key))
        .ok_or(Problem::invalid("Idempotency-Key must be 1 to 64 of [A-Za-z0-9_-]"))
}

fn request_id(headers: &HeaderMap) -> String {
    let sent = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    sent.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned)
}

/// What OdnaKassa sends webhooks about. The object in it is as it was at the event.
pub fn voice(order: &Order, event: Event, now_ms: i64) -> Option<Message> {
    let kind = match event {
        Event::Held => "payment.authorized",
        Event::Paid => "payment.succeeded",
        Event::AttemptFailed if order.state != OrderState::Declined => return None,
        Event::AttemptFailed | Event::Expired | Event::Cancelled | Event::Reversed => {
            "payment.canceled"
        }
        Event::Refunded => "refund.succeeded",
    };
    Some(message(order, kind, now_ms))
}

/// A webhook of any type about that payment. It never shows the payer's URL, as none is pending any more.
pub fn message(order: &Order, kind: &str, now_ms: i64) -> Message {
    let event = json!({
        "id": format!("evt_{}", Uuid::new_v4().simple()),
        "type": kind,
        "created_at": rfc3339(now_ms),
        "data": object::payment(order, ""),
    });
    Message {
        number: order.asked.number.clone(),
        kind: kind.to_owned(),
        form: Form::Webhook(event),
    }
}
