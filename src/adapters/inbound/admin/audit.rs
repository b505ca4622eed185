//! `GET /admin/audit`: who did what by hand, when and why.

use crate::adapters::inbound::admin::state::AdminState;
use crate::adapters::inbound::http_kit::cursor::{BAD_CURSOR, Cursor};
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::params::Params;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::resources::wire::TimestampBody;
use crate::adapters::observe::storage_upkeep::{AuditQuery, AuditRecord};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::timestamp::Timestamp;
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};
use serde::Serialize;
use std::sync::Arc;

const BAD_ORDER: Text = Text::new("must be an order's id", "должно быть номером заказа");

#[derive(Debug, Serialize)]
struct PageBody {
    items: Vec<RecordBody>,
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct RecordBody {
    at: TimestampBody,
    by: String,
    action: String,
    /// Null where it was about the whole service.
    order_id: Option<String>,
    task_id: Option<i64>,
    /// Empty where none was given.
    reason: String,
}

impl From<AuditRecord> for RecordBody {
    fn from(record: AuditRecord) -> Self {
        Self {
            at: TimestampBody(record.at),
            by: record.by,
            action: record.action,
            order_id: record.order.map(|order| order.to_string()),
            task_id: record.task.map(TaskId::get),
            reason: record.reason,
        }
    }
}

fn record_after(cursor: &str) -> Option<(Timestamp, i64)> {
    let Cursor { at, id } = Cursor::decode(cursor)?;
    Some((at, id.try_into().ok()?))
}

/// Newest first.
pub async fn list(State(state): State<Arc<AdminState>>, uri: Uri) -> Result<Response, Problem> {
    let mut params = Params::read(&uri, &["order_id", "limit", "cursor"]);
    let order = params.take("order_id", OrderId::parse, BAD_ORDER);
    let after = params.take("cursor", record_after, BAD_CURSOR);
    let limit = params.limit();
    params.finish()?;
    let query = AuditQuery { order, limit: limit + 1, after };
    let mut found = state.audit.audit(&query).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| more);
    let next_cursor =
        last.map(|last| Cursor { at: last.at, id: last.id.unsigned_abs().into() }.encode());
    let items = found.into_iter().map(RecordBody::from).collect();
    Ok(json(StatusCode::OK, &PageBody { items, next_cursor }))
}
