//! Where the payment systems tell that something has happened. What they send goes on as it came:
//! only their adapters can read it, and only a query makes it true.

use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::body::RawBody;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::core::domain::provider::Provider;
use crate::core::ports::payment::RawCallback;
use axum::extract::State;
use http::{HeaderMap, Method, StatusCode, Uri};
use std::sync::Arc;

const SIGNATURE: &str = "OdnaKassa-Signature";

/// Sber tells that something has happened
#[utoipa::path(
    method(get, post),
    path = "/v1/webhooks/sber",
    tag = "webhooks",
    responses((status = 200, description = "Taken"))
)]
pub async fn from_sber(
    State(app): State<Arc<App>>,
    method: Method,
    uri: Uri,
    RawBody(body): RawBody,
) -> Result<StatusCode, Problem> {
    receive(app, Provider::Sber, method, uri, None, body).await
}

/// OdnaKassa tells that something has happened
#[utoipa::path(
    post,
    path = "/v1/webhooks/odnakassa",
    tag = "webhooks",
    params(("OdnaKassa-Signature" = String, Header, description = "Time and HMAC of the body")),
    request_body(content = serde_json::Value, description = "An event"),
    responses((status = 200, description = "Taken"))
)]
pub async fn from_odnakassa(
    State(app): State<Arc<App>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<StatusCode, Problem> {
    let signature = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
    receive(app, Provider::OdnaKassa, method, uri, signature.map(str::to_owned), body).await
}

async fn receive(
    app: Arc<App>,
    provider: Provider,
    method: Method,
    uri: Uri,
    signature: Option<String>,
    body: Vec<u8>,
) -> Result<StatusCode, Problem> {
    let work = Arc::clone(&app);
    let receiving = async move {
        let raw = RawCallback {
            post: method == Method::POST,
            query: uri.query().unwrap_or_default(),
            signature: signature.as_deref(),
            body: &body,
        };
        work.use_cases.receive_callback.run(provider, &raw).await
    };
    app.detached(receiving).await??;
    Ok(StatusCode::OK)
}
