//! `/metrics`: the page of a scrape.

use crate::adapters::inbound::admin::exposition::Exposition;
use crate::adapters::inbound::admin::state::AdminState;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue};
use std::sync::Arc;

pub async fn scrape(State(state): State<Arc<AdminState>>, headers: HeaderMap) -> Response {
    let (content_type, text) = (state.metrics)(Exposition::negotiate(&headers)).await;
    let content_type = HeaderValue::from_static(content_type);
    ([(CONTENT_TYPE, content_type), (VARY, HeaderValue::from_static("accept"))], text)
        .into_response()
}
