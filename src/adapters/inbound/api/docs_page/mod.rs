//! `GET /docs`: a page to read the OpenAPI document and to try it. It is ours, three small files
//! without a build step, because the ready-made ones are a hundred times larger or fetch their
//! script from strangers; the policy below lets nothing run but what comes from this address.

mod postman;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

pub fn routes() -> Router {
    Router::new()
        .route("/docs", get(async || file("text/html; charset=utf-8", include_str!("page.html"))))
        .route("/docs/page.js", get(async || file("text/javascript", include_str!("page.js"))))
        .route("/docs/postman.json", get(async || file("application/json", postman::collection())))
        .route("/docs/page.css", get(async || file("text/css", include_str!("page.css"))))
}

/// A file of ours, which runs nothing of strangers.
pub(super) fn file(content_type: &'static str, text: impl IntoResponse) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    let mut response = text.into_response();
    response.headers_mut().extend(headers.map(|(name, value)| (Some(name), value)));
    response
}
