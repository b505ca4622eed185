//! `/admin/log`: what is logged, for a while.

use crate::adapters::inbound::admin::mode_change::{reason, ttl};
use crate::adapters::inbound::admin::state::AdminState;
use crate::adapters::inbound::admin::system_body::milliseconds;
use crate::adapters::inbound::admin::token::OperatorName;
use crate::adapters::inbound::http_kit::body::Json;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::params::NoQuery;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::observe::log_control::LogFilter;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Without a wish: long enough to look, and forgotten by nobody.
const DEFAULT_TTL: Duration = Duration::from_secs(15 * 60);

const BAD_FILTER: Text = Text::new(
    "must be a filter like debug or info,order_service::core=trace",
    "должно быть фильтром вида debug или info,order_service::core=trace",
);

#[derive(Debug, Serialize)]
struct LogBody {
    filter: String,
    configured: String,
    /// When the configured filter returns; null while it is in force.
    ttl_ms: Option<u64>,
}

impl From<LogFilter> for LogBody {
    fn from(log: LogFilter) -> Self {
        let LogFilter { filter, configured, ends_in } = log;
        Self { filter, configured, ttl_ms: ends_in.map(milliseconds) }
    }
}

pub async fn show(State(state): State<Arc<AdminState>>, _: NoQuery) -> Response {
    json(StatusCode::OK, &LogBody::from(state.log.describe()))
}

/// On this instance.
pub async fn change(
    State(state): State<Arc<AdminState>>,
    by: OperatorName,
    _: NoQuery,
    Json(body): Json,
) -> Result<Response, Problem> {
    let root = JsonPointer::Root;
    let mut violations = Violations::default();
    let wish = violations.object(&body, root, &["filter", "ttl", "reason"]).and_then(|members| {
        let filter = violations.member(members, root, "filter");
        let filter = filter.and_then(|value| violations.string(value, root.member("filter")));
        let ttl = ttl(members.get("ttl"), &mut violations);
        let reason = reason(members.get("reason"), &mut violations);
        Some((filter?.to_owned(), ttl.unwrap_or(DEFAULT_TTL), reason))
    });
    let (filter, ttl, reason) = violations.into_result(wish)?;
    let mut violations = Violations::default();
    let set = state.log.set(&filter, ttl).ok();
    let set = violations.parsed(set, root.member("filter"), BAD_FILTER);
    violations.into_result(set)?;
    tracing::info!(
        target: "audit",
        action = "log_filter",
        filter,
        ttl_ms = milliseconds(ttl),
        by = by.0,
        reason = reason.as_deref(),
        "an operator changed the log's filter"
    );
    Ok(json(StatusCode::OK, &LogBody::from(state.log.describe())))
}
