//! OdnaKassa, protocol version 1: JSON, bearer key, idempotency keys that are a promise, signed webhooks.

mod create;
mod keys;
mod object;
mod operations;
mod webhook;

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
use self::operations::PaymentChange;
use super::bank::Bank;
use super::callbacks::Message;
use super::fault::{Answer, Then};
use super::frontend::Caller;
use super::modes::Mode;
use super::order::{Order, Protocol};
use super::partners::{Credential, Operations, PaymentPartner, PaymentSystem};
use super::reply::SimulatedReply;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub const SYSTEM: PaymentSystem = PaymentSystem {
    path: "",
    id_prefix: Some("pay_"),
    credentials: &[
        Credential { name: API_KEY, default: "sandbox-key", variable: Some("ODNAKASSA_API_KEY") },
        Credential {
            name: WEBHOOK_SECRET,
            default: "sandbox-webhook-secret",
            variable: Some("ODNAKASSA_WEBHOOK_SECRET"),
        },
    ],
    signs_with: WEBHOOK_SECRET,
    operations: Operations {
        register: "create",
        query: "list",
        cancel: "cancel",
        refund: "refund",
    },
    voice: webhook::voice,
    refusal,
    open: |bank, credentials, public_url| {
        let api_key = credentials.get(API_KEY).to_owned();
        Arc::new(OdnaKassa { bank, api_key, public_url })
    },
};

const API_KEY: &str = "api-key";
const WEBHOOK_SECRET: &str = "webhook-secret";

#[derive(Debug)]
struct OdnaKassa {
    bank: Arc<Bank>,
    api_key: String,
    /// Where the payment pages are.
    public_url: String,
}

impl PaymentPartner for OdnaKassa {
    fn bank(&self) -> &Arc<Bank> {
        &self.bank
    }

    fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route("/v1/payments", post(create_payment).get(list_payments))
            .route("/v1/payments/{id}", get(get_payment))
            .route("/v1/payments/{id}/{change}", post(change_payment))
            .route("/health", get(health))
            .fallback(no_such_path)
            .with_state(self)
    }

    fn title(&self) -> &'static str {
        "OdnaKassa"
    }

    fn protocol(&self) -> Protocol {
        create::PROTOCOL
    }

    fn message(&self, order: &Order, kind: &str, _failed: bool, now_ms: i64) -> Message {
        webhook::message(order, kind, now_ms)
    }
}

fn refusal(_: &Mode, operation: &'static str) -> Option<Answer> {
    (operation == "create").then(|| Answer::Json {
        status: 400,
        body: json!({"error": {
            "code": "invalid_request", "message": "refused by the sandbox", "request_id": "-",
        }}),
    })
}

#[derive(Debug, Deserialize)]
struct ListQuery {
    order_id: Option<String>,
}

async fn create_payment(
    State(kassa): State<Arc<OdnaKassa>>,
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
    let frontend = Arc::clone(&kassa.bank.frontend);
    frontend
        .pass(caller, "create", number.as_deref(), move |then| {
            let reply = match arrived {
                Ok((asked, reserved)) => create::decide(&kassa, asked, reserved, then, &request_id),
                Err(problem) => problem.reply(&request_id),
            };
            reply.with_header(REQUEST_ID, &request_id)
        })
        .await
}

async fn list_payments(
    State(kassa): State<Arc<OdnaKassa>>,
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
    State(kassa): State<Arc<OdnaKassa>>,
    headers: HeaderMap,
    caller: Caller,
    Path(payment_id): Path<String>,
) -> Response {
    let number = kassa.number_of(&payment_id);
    kassa.read(caller, &headers, "get", number, move |kassa, id| kassa.get(&payment_id, id)).await
}

async fn change_payment(
    State(kassa): State<Arc<OdnaKassa>>,
    headers: HeaderMap,
    caller: Caller,
    Path((payment_id, change)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    let frontend = Arc::clone(&kassa.bank.frontend);
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
        let change = PaymentChange::parse(operation, &body)?;
        let reserved = kassa.reserve(key, format!("{payment_id} {change:?}"))?;
        Ok((change, reserved))
    });
    let number = kassa.number_of(&payment_id);
    frontend
        .pass(caller, operation, number.as_deref(), move |_| {
            let reply = match arrived {
                Ok((change, reserved)) => kassa.change(&payment_id, &change, reserved, &request_id),
                Err(problem) => problem.reply(&request_id),
            };
            reply.with_header(REQUEST_ID, &request_id)
        })
        .await
}

async fn health(State(kassa): State<Arc<OdnaKassa>>, caller: Caller) -> Response {
    let healthy = |_: &Then| SimulatedReply::json(StatusCode::OK, json!({"status": "ok"}), "ok");
    kassa.bank.frontend.pass(caller, "health", None, healthy).await
}

async fn no_such_path(
    State(kassa): State<Arc<OdnaKassa>>,
    headers: HeaderMap,
    caller: Caller,
) -> Response {
    let request_id = request_id(&headers);
    let problem = Problem::new(StatusCode::NOT_FOUND, "not_found", "no such path");
    kassa.bank.frontend.pass(caller, "unknown", None, move |_| problem.reply(&request_id)).await
}

impl OdnaKassa {
    async fn read(
        self: Arc<Self>,
        caller: Caller,
        headers: &HeaderMap,
        operation: &'static str,
        number: Option<String>,
        read: impl FnOnce(&Self, &str) -> SimulatedReply + Send + 'static,
    ) -> Response {
        let frontend = Arc::clone(&self.bank.frontend);
        let allowed = self.authenticate(headers);
        let request_id = request_id(headers);
        frontend
            .pass(caller, operation, number.as_deref(), move |_| {
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
        if sent == Some(self.api_key.as_str()) {
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
