//! `GET /info`: what runs here.

use crate::adapters::inbound::admin::state::AdminState;
use crate::adapters::inbound::http_kit::params::NoQuery;
use crate::adapters::inbound::http_kit::reply::json;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use std::sync::Arc;

#[derive(Debug, Serialize)]
struct InfoBody<'a> {
    version: &'a str,
    commit: &'a str,
    built_at: &'a str,
    rustc: &'a str,
    instance: &'a str,
}

pub async fn show(State(state): State<Arc<AdminState>>, _: NoQuery) -> Response {
    let build = state.build;
    let body = InfoBody {
        version: build.version,
        commit: build.commit,
        built_at: build.built_at,
        rustc: build.rustc,
        instance: &state.instance,
    };
    json(StatusCode::OK, &body)
}
