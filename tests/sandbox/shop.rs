//! The other side of the wire: a client of the partners, and a shop that collects callbacks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::any;
use http::{HeaderMap, Method, StatusCode, Uri};
use order_service::sandbox::{Fault, PartnerName, Sandbox, SandboxConfig};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;

pub async fn sandbox() -> Sandbox {
    let config = SandboxConfig { time_scale: 0.0001, seed: Some(1), ..SandboxConfig::default() };
    Sandbox::start(config).await.expect("free ports")
}

pub fn client() -> Client {
    Client::builder()
        .tls_certs_only([])
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(10))
        .build()
        .expect("client")
}

pub fn script(sandbox: &Sandbox, partner: PartnerName, fault: Value) {
    let fault: Fault = serde_json::from_value(fault).expect("a fault");
    sandbox.add_fault(partner, fault);
}

/// Calls Sber in the classic generation.
pub async fn classic(
    sandbox: &Sandbox,
    method: &str,
    parameters: &[(&str, &str)],
) -> reqwest::Result<Response> {
    let login = [("userName", "sandbox-api"), ("password", "sandbox")];
    let query: Vec<_> =
        login.iter().chain(parameters).map(|(name, value)| format!("{name}={value}")).collect();
    client()
        .post(format!("{}{method}", sandbox.base_url(PartnerName::Sber)))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(query.join("&"))
        .send()
        .await
}

pub async fn classic_json(sandbox: &Sandbox, method: &str, parameters: &[(&str, &str)]) -> Value {
    json_of(classic(sandbox, method, parameters).await.expect("a reply")).await
}

pub async fn register(sandbox: &Sandbox, number: &str) -> Value {
    classic_json(sandbox, "register.do", &registration(number)).await
}

pub fn registration(number: &str) -> [(&str, &str); 3] {
    [("orderNumber", number), ("amount", "19900"), ("returnUrl", "https://shop.example/return")]
}

pub async fn order_status(sandbox: &Sandbox, number: &str) -> Value {
    classic_json(sandbox, "getOrderStatusExtended.do", &[("orderNumber", number)]).await
}

/// Calls Sber in the JSON generation.
pub async fn json_generation(sandbox: &Sandbox, method: &str, mut body: Value) -> Value {
    body["userName"] = "sandbox-api".into();
    body["password"] = "sandbox".into();
    let url = format!("{}{method}", sandbox.sber_json_base_url());
    let request =
        client().post(url).header("content-type", "application/json").body(body.to_string());
    json_of(request.send().await.expect("a reply")).await
}

pub fn code(reply: &Value) -> &str {
    reply["errorCode"].as_str().unwrap_or("absent")
}

pub fn json_registration(number: &str) -> Value {
    json!({"orderNumber": number, "amount": 19900, "currency": "643", "returnUrl": "https://shop.example/return"})
}

pub fn payment(order_id: &str) -> Value {
    json!({
        "order_id": order_id,
        "amount": {"value": "199.00", "currency": "RUB"},
        "return_url": "https://shop.example/return",
    })
}

/// Posts to OdnaKassa under an idempotency key.
pub async fn kassa(
    sandbox: &Sandbox,
    path: &str,
    key: &str,
    body: &Value,
) -> reqwest::Result<Response> {
    client()
        .post(format!("{}/v1/payments{path}", sandbox.base_url(PartnerName::OdnaKassa)))
        .bearer_auth("sandbox-key")
        .header("idempotency-key", key)
        .header("content-type", "application/json")
        .body(body.to_string())
        .send()
        .await
}

pub async fn kassa_get(sandbox: &Sandbox, path: &str) -> Response {
    let url = format!("{}/v1/payments{path}", sandbox.base_url(PartnerName::OdnaKassa));
    client().get(url).bearer_auth("sandbox-key").send().await.expect("a reply")
}

pub async fn json_of(response: Response) -> Value {
    serde_json::from_slice(&response.bytes().await.expect("a body")).expect("JSON")
}

/// A callback as it arrived.
#[derive(Debug, Clone)]
pub struct Arrived {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Arrived {
    pub fn parameters(&self) -> Vec<(String, String)> {
        let query = self.uri.query().unwrap_or_default();
        let pair = |pair: &str| {
            pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        query.split('&').filter_map(pair).collect()
    }

    pub fn parameter(&self, name: &str) -> Option<String> {
        self.parameters().into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// A shop that takes callbacks and answers them with the statuses it was told, then with 200.
pub struct Shop {
    arrived: mpsc::UnboundedReceiver<Arrived>,
}

type Counter = (mpsc::UnboundedSender<Arrived>, Arc<Mutex<Vec<u16>>>);

impl Shop {
    pub async fn open(sandbox: &Sandbox, answers: &[u16]) -> Self {
        let (sender, arrived) = mpsc::unbounded_channel();
        let answers: Vec<u16> = answers.iter().rev().copied().collect();
        let state: Counter = (sender, Arc::new(Mutex::new(answers)));
        let router = Router::new().fallback(any(take)).with_state(state);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        sandbox
            .set_callback_url(Some(&format!("http://{}", listener.local_addr().expect("bound"))));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { arrived }
    }

    pub async fn next(&mut self) -> Arrived {
        let arrival = tokio::time::timeout(Duration::from_secs(10), self.arrived.recv());
        arrival.await.expect("a callback in time").expect("the shop is open")
    }

    pub fn has_none(&mut self) -> bool {
        self.arrived.try_recv().is_err()
    }
}

async fn take(
    State((sender, answers)): State<Counter>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let answer = answers.lock().expect("not poisoned").pop().unwrap_or(200);
    sender.send(Arrived { method, uri, headers, body }).expect("the test listens");
    StatusCode::from_u16(answer).expect("a status")
}
