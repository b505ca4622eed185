//! `/admin/systems`: how the guards before each system stand, and the switches of its breaker. Every
//! turn of a switch is an audit line.

use crate::adapters::inbound::admin::state::AdminState;
use crate::adapters::inbound::http_kit::body::{Json, OptionalJson};
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery, PathParam};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::observe::systems::{SystemControl, SystemView};
use crate::adapters::resilience::breaker::{BreakerMode, BreakerSnapshot};
use crate::adapters::resilience::semaphore::BulkheadSnapshot;
use crate::core::domain::unavailable::System;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const LONGEST_TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const LONGEST_REASON: usize = 500;

const BAD_MODE: Text = Text::new(
    "must be off, dry_run, enforce, forced_open or forced_closed",
    "должно быть off, dry_run, enforce, forced_open или forced_closed",
);
const BAD_TTL: Text = Text::new(
    "must be a duration like 15m, at most 30d",
    "должно быть длительностью вида 15m, не больше 30d",
);
const BAD_REASON: Text =
    Text::new("must be at most 500 characters", "должно быть не длиннее 500 символов");

#[derive(Debug, Serialize)]
struct SystemBody {
    system: &'static str,
    breaker: BreakerBody,
    bulkhead: BulkheadBody,
    config: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
struct BreakerBody {
    state: &'static str,
    mode: &'static str,
    /// When the configured mode returns by itself; null when it is in force, or nothing will end this.
    mode_ends_in_ms: Option<u64>,
    window: WindowBody,
    retry_after_ms: u64,
}

#[derive(Debug, Serialize)]
struct WindowBody {
    calls: u64,
    failures: u64,
    slow: u64,
    failure_rate: f64,
    slow_rate: f64,
}

#[derive(Debug, Serialize)]
struct BulkheadBody {
    max_concurrent: usize,
    in_flight: usize,
    waiting: usize,
    rejected_total: u64,
}

impl SystemBody {
    fn of(view: SystemView) -> Self {
        let SystemView { system, breaker, bulkhead, config } = view;
        Self {
            system: system.as_str(),
            breaker: BreakerBody::of(&breaker),
            bulkhead: BulkheadBody::of(&bulkhead),
            config: config.into_iter().collect(),
        }
    }
}

impl BreakerBody {
    fn of(breaker: &BreakerSnapshot) -> Self {
        let window = breaker.window;
        Self {
            state: breaker.state.label(),
            mode: breaker.mode.as_str(),
            mode_ends_in_ms: breaker.mode_left.map(milliseconds),
            window: WindowBody {
                calls: window.calls,
                failures: window.failures,
                slow: window.slow,
                failure_rate: window.failure_rate(),
                slow_rate: window.slow_rate(),
            },
            retry_after_ms: milliseconds(breaker.retry_after.unwrap_or_default()),
        }
    }
}

impl BulkheadBody {
    fn of(bulkhead: &BulkheadSnapshot) -> Self {
        Self {
            max_concurrent: bulkhead.limit,
            in_flight: bulkhead.in_flight,
            waiting: bulkhead.waiting,
            rejected_total: bulkhead.rejected,
        }
    }
}

fn milliseconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

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
    let Switch { mode, ttl, reason } = Switch::read(&body)?;
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

#[derive(Debug)]
struct Switch {
    mode: BreakerMode,
    ttl: Option<Duration>,
    reason: Option<String>,
}

impl Switch {
    fn read(body: &Value) -> Result<Self, Problem> {
        let mut violations = Violations::default();
        let switch = Self::from_object(body, &mut violations);
        violations.into_result(switch)
    }

    fn from_object(body: &Value, violations: &mut Violations) -> Option<Self> {
        let root = JsonPointer::Root;
        let members = violations.object(body, root, &["mode", "ttl", "reason"])?;
        let mode = violations.member(members, root, "mode").and_then(|value| {
            let at = root.member("mode");
            let word = violations.string(value, at)?;
            violations.parsed(word.parse().ok(), at, BAD_MODE)
        });
        let ttl = members.get("ttl").and_then(|value| {
            let at = root.member("ttl");
            let text = violations.string(value, at)?;
            let ttl = humantime::parse_duration(text).ok();
            let ttl = ttl.filter(|ttl| !ttl.is_zero() && *ttl <= LONGEST_TTL);
            violations.parsed(ttl, at, BAD_TTL)
        });
        let reason = reason(members.get("reason"), violations);
        Some(Self { mode: mode?, ttl, reason })
    }
}

fn reason(value: Option<&Value>, violations: &mut Violations) -> Option<String> {
    let at = JsonPointer::Root.member("reason");
    let text = violations.string(value?, at)?;
    let short = (text.chars().count() <= LONGEST_REASON).then(|| text.to_owned());
    violations.parsed(short, at, BAD_REASON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_switch_is_read_or_refused_as_a_whole() {
        let switch = Switch::read(&json!({"mode": "forced_open", "ttl": "5m", "reason": "drill"}));
        let switch = switch.unwrap();
        assert_eq!(
            (switch.mode, switch.ttl),
            (BreakerMode::ForcedOpen, Some(Duration::from_secs(300)))
        );
        for bad in [
            json!({}),
            json!({"mode": "open"}),
            json!({"mode": "off", "ttl": "0s"}),
            json!({"mode": "off", "ttl": 5}),
            json!({"mode": "off", "ttl": "1y"}),
            json!({"mode": "off", "why": "x"}),
            json!({"mode": "off", "reason": "x".repeat(501)}),
        ] {
            assert_eq!(Switch::read(&bad).unwrap_err().code, Code::InvalidRequest, "{bad}");
        }
    }
}
