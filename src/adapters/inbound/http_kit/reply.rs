//! Bodies of replies: JSON.

use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde::Serialize;

/// The bytes of a reply's body.
pub fn encode(body: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512);
    serde_json::to_writer(&mut bytes, body).expect("strings and numbers under string keys");
    bytes
}

pub fn json(status: StatusCode, body: &impl Serialize) -> Response {
    json_bytes(status, encode(body))
}

pub fn json_bytes(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}
