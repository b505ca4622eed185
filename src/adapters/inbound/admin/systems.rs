//! `/admin/systems`: how the guards before each system stand, and the switches of its breaker. Every
//! turn of a switch is an audit line.

use crate::adapters::inbound::admin::mode_change::{ModeChange, reason};
use crate::adapters::inbound::admin::state::AdminState;
use crate::adapters::inbound::admin::system_body::{SystemBody, milliseconds};
use crate::adapters::inbound::http_kit::body::{Json, OptionalJson};
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery, PathParam};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::observe::systems::SystemControl;
use crate::core::domain::unavailable::System;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use std::sync::Arc;

impl PathParam for System {
    fn from_segment(text: &str) -> Result<Self, Problem> {
        let known = Self::ALL.into_iter().find(|system| system.as_str() == text);
        known.ok_or(Problem::new(Code::NotFound))
    }
}

pub async fn list(State(state): State<Arc<AdminState>>, _: NoQuery) -> Response {
    let systems = state.systems.iter().map(|system| SystemBody::of(system.describe()));
    json(StatusCode::OK, &systems.collect::<Vec<_>>())
}

pub async fn set_mode(
    State(state): State<Arc<AdminState>>,
    Id(system): Id<System>,
    _: NoQuery,
    Json(body): Json,
) -> Result<Response, Problem> {
    let control = find(&state, system)?;
    let ModeChange { mode, ttl, reason } = ModeChange::read(&body)?;
    let ttl = ttl.or(mode.default_ttl());
    control.set_mode(mode, ttl);
    tracing::info!(
        target: "audit",
        action = "breaker_mode",
        system = system.as_str(),
        mode = mode.as_str(),
        ttl_ms = ttl.map(milliseconds),
        reason = reason.as_deref(),
        "an operator switched a breaker's mode"
    );
    Ok(json(StatusCode::OK, &SystemBody::of(control.describe())))
}

pub async fn reset(
    State(state): State<Arc<AdminState>>,
    Id(system): Id<System>,
    _: NoQuery,
    OptionalJson(body): OptionalJson,
) -> Result<Response, Problem> {
    let control = find(&state, system)?;
    let mut violations = Violations::default();
    let reason = body.as_ref().and_then(|body| {
        let members = violations.object(body, JsonPointer::Root, &["reason"])?;
        reason(members.get("reason"), &mut violations)
    });
    let reason = violations.into_result(Some(reason))?;
    control.reset();
    tracing::info!(
        target: "audit",
        action = "breaker_reset",
        system = system.as_str(),
        reason = reason.as_deref(),
        "an operator closed a breaker"
    );
    Ok(json(StatusCode::OK, &SystemBody::of(control.describe())))
}

fn find(state: &AdminState, system: System) -> Result<&dyn SystemControl, Problem> {
    let control = state.systems.iter().find(|control| control.system() == system);
    control.map(|control| &**control).ok_or(Problem::new(Code::NotFound))
}
