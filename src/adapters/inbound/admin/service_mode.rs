//! `/admin/mode`: whether the service, on all instances, places orders and moves money.

use crate::adapters::inbound::admin::mode_change::ttl;
use crate::adapters::inbound::admin::state::AdminState;
use crate::adapters::inbound::admin::token::OperatorName;
use crate::adapters::inbound::http_kit::body::Json;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::params::NoQuery;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::inbound::resources::wire::TimestampBody;
use crate::adapters::observe::service_mode::{Mode, ModeChange, ServiceMode};
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

const LONGEST_REASON: usize = 500;

const BAD_MODE: Text = Text::new("must be normal or read_only", "должно быть normal или read_only");
const BAD_REASON: Text =
    Text::new("must be 1 to 500 characters", "должно быть от 1 до 500 символов");

#[derive(Debug, Serialize)]
struct ModeBody {
    mode: &'static str,
    /// Null while nobody has said anything.
    since: Option<TimestampBody>,
    /// Null where it lasts until the next word.
    until: Option<TimestampBody>,
    reason: String,
    by: String,
}

impl From<ServiceMode> for ModeBody {
    fn from(mode: ServiceMode) -> Self {
        Self {
            mode: mode.mode.as_str(),
            since: mode.since.map(TimestampBody),
            until: mode.until.map(TimestampBody),
            reason: mode.reason,
            by: mode.by,
        }
    }
}

pub async fn show(State(state): State<Arc<AdminState>>, _: NoQuery) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &ModeBody::from(state.mode.look().await?)))
}

/// Here at once, on the other instances within a second.
pub async fn change(
    State(state): State<Arc<AdminState>>,
    by: OperatorName,
    _: NoQuery,
    Json(body): Json,
) -> Result<Response, Problem> {
    let mut violations = Violations::default();
    let change = read(&body, by.0, &mut violations);
    let change = violations.into_result(change)?;
    let mode = state.mode.change(&change).await?;
    tracing::info!(
        target: "audit",
        action = "service_mode",
        mode = change.mode.as_str(),
        ttl_ms = change.ttl.map(crate::adapters::inbound::admin::system_body::milliseconds),
        by = change.by,
        reason = change.reason,
        "an operator changed the service's mode"
    );
    Ok(json(StatusCode::OK, &ModeBody::from(mode)))
}

fn read(body: &Value, by: String, violations: &mut Violations) -> Option<ModeChange> {
    let root = JsonPointer::Root;
    let members = violations.object(body, root, &["mode", "ttl", "reason"])?;
    let mode = violations.member(members, root, "mode").and_then(|value| {
        let at = root.member("mode");
        let word = violations.string(value, at)?;
        violations.parsed(Mode::parse(word), at, BAD_MODE)
    });
    let ttl = ttl(members.get("ttl"), violations);
    let reason = violations.member(members, root, "reason").and_then(|value| {
        let at = root.member("reason");
        let text = violations.string(value, at)?.trim();
        let fits = (1..=LONGEST_REASON).contains(&text.chars().count());
        violations.parsed(fits.then(|| text.to_owned()), at, BAD_REASON)
    });
    Some(ModeChange { mode: mode?, ttl, reason: reason?, by })
}
