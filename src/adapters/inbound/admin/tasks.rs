//! `/admin/tasks`: what is under way or stuck, and what a person may do about it. Everything done here
//! is an audit line, besides the entry that is kept with the task.

use crate::adapters::inbound::admin::state::AdminState;
use crate::adapters::inbound::admin::token::OperatorName;
use crate::adapters::inbound::http_kit::body::{Json, OptionalJson};
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::cursor::{BAD_CURSOR, Cursor};
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery, Params};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::adapters::inbound::resources::task_body::{ResultBody, TaskBody};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::provider::ProviderNumber;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::operator::OperatorFinding;
use crate::core::payment::task::{Task, TaskState};
use crate::core::ports::order_repository::Scope;
use crate::core::ports::task_queue::TaskQuery;
use crate::core::use_cases::operate_tasks::{Deed, Operation};
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use tracing::Instrument;

const LONGEST_REASON: usize = 500;

const BAD_ORDER: Text = Text::new("must be an order's id", "должно быть номером заказа");
const BAD_STATUS: Text = Text::new("must be a status of a task", "должно быть состоянием задачи");
const BAD_FINDING: Text = Text::new(
    "must be executed, not_executed or settled",
    "должно быть executed, not_executed или settled",
);
const BAD_REASON: Text =
    Text::new("must be 1 to 500 characters", "должно быть от 1 до 500 символов");

#[derive(Debug, Serialize)]
struct PageBody {
    items: Vec<TaskBody<'static>>,
    next_cursor: Option<String>,
}

/// As the API shows it, but without form: payers' addresses are none of an operator's business.
pub fn task_body(task: &Task, context: &RequestContext) -> TaskBody<'static> {
    let made = task.result.map(|(provider, _)| ResultBody::without_form(provider));
    TaskBody::of(task, made, context.lang).for_operators(task)
}

/// Where a page ends with this task.
fn cursor_of(task: &Task) -> Cursor {
    Cursor { at: task.created_at, id: task.id.get().unsigned_abs().into() }
}

fn task_after(cursor: &str) -> Option<(Timestamp, TaskId)> {
    let Cursor { at, id } = Cursor::decode(cursor)?;
    Some((at, TaskId::from_i64(id.try_into().ok()?)?))
}

pub async fn list(
    State(state): State<Arc<AdminState>>,
    context: RequestContext,
    uri: Uri,
) -> Result<Response, Problem> {
    let mut params = Params::read(&uri, &["order_id", "status", "limit", "cursor"]);
    let order = params.take("order_id", OrderId::parse, BAD_ORDER);
    let status = params.take("status", TaskState::parse, BAD_STATUS);
    let after = params.take("cursor", task_after, BAD_CURSOR);
    let limit = params.limit();
    params.finish()?;
    let query = TaskQuery { order, state: status, limit: limit + 1, after };
    let mut found = state.operate_tasks.list(&query).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| more);
    let next_cursor = last.map(|task| cursor_of(task).encode());
    let items = found.iter().map(|task| task_body(task, &context)).collect();
    Ok(json(StatusCode::OK, &PageBody { items, next_cursor }))
}

pub async fn retry(
    State(state): State<Arc<AdminState>>,
    context: RequestContext,
    by: OperatorName,
    Id(task): Id<TaskId>,
    _: NoQuery,
    OptionalJson(body): OptionalJson,
) -> Result<Response, Problem> {
    let reason = given_reason(body.as_ref())?.unwrap_or_default();
    operate(state, context, task, Deed { operation: Operation::Retry, by: by.0, reason }).await
}

pub async fn cancel(
    State(state): State<Arc<AdminState>>,
    context: RequestContext,
    by: OperatorName,
    Id(task): Id<TaskId>,
    _: NoQuery,
    OptionalJson(body): OptionalJson,
) -> Result<Response, Problem> {
    let reason = given_reason(body.as_ref())?.unwrap_or_default();
    operate(state, context, task, Deed { operation: Operation::Cancel, by: by.0, reason }).await
}

pub async fn resolve(
    State(state): State<Arc<AdminState>>,
    context: RequestContext,
    by: OperatorName,
    Id(task): Id<TaskId>,
    _: NoQuery,
    Json(body): Json,
) -> Result<Response, Problem> {
    let mut violations = Violations::default();
    let resolution = resolution(&body, &mut violations);
    let (finding, number, reason) = violations.into_result(resolution)?;
    let operation = Operation::Resolve { finding, number };
    operate(state, context, task, Deed { operation, by: by.0, reason }).await
}

/// To its end, also when the operator's browser hangs up; then the task as it stands.
async fn operate(
    state: Arc<AdminState>,
    context: RequestContext,
    id: TaskId,
    deed: Deed,
) -> Result<Response, Problem> {
    let tracker = state.detached.clone();
    let work = async move {
        state.operate_tasks.run(id, deed.clone()).await?;
        tracing::info!(
            target: "audit",
            action = format!("task_{}", deed.operation.as_str()),
            task_id = id.get(),
            by = deed.by,
            reason = Some(deed.reason.as_str()).filter(|reason| !reason.is_empty()),
            "an operator decided about a task"
        );
        let view = state.operate_tasks.engine.queue.task(id, &Scope::Anyone).await?;
        let task = view.ok_or(Problem::new(Code::TaskNotFound))?.task;
        Ok(json(StatusCode::OK, &task_body(&task, &context)))
    };
    let done = tracker.spawn(work.in_current_span()).await;
    done.map_err(|_| Problem::internal("detached work panicked"))?
}

fn given_reason(body: Option<&Value>) -> Result<Option<String>, Problem> {
    let mut violations = Violations::default();
    let reason = body
        .and_then(|body| violations.object(body, JsonPointer::Root, &["reason"]))
        .and_then(|members| members.get("reason"))
        .and_then(|value| reason(value, &mut violations));
    violations.into_result(Some(reason))
}

fn resolution(
    body: &Value,
    violations: &mut Violations,
) -> Option<(OperatorFinding, Option<ProviderNumber>, String)> {
    let root = JsonPointer::Root;
    let members = violations.object(body, root, &["finding", "number", "reason"])?;
    let finding = violations.member(members, root, "finding").and_then(|value| {
        let at = root.member("finding");
        let finding = match violations.string(value, at)? {
            "executed" => Some(OperatorFinding::Executed),
            "not_executed" => Some(OperatorFinding::NotExecuted),
            "settled" => Some(OperatorFinding::Settled),
            _ => None,
        };
        violations.parsed(finding, at, BAD_FINDING)
    });
    let why =
        violations.member(members, root, "reason").and_then(|value| reason(value, violations));
    let number = members.get("number").filter(|value| !value.is_null());
    let number = match number.map(|value| violations.string(value, root.member("number"))) {
        Some(number) => Some(ProviderNumber::told(number?)),
        None => None,
    };
    Some((finding?, number, why?))
}

fn reason(value: &Value, violations: &mut Violations) -> Option<String> {
    let at = JsonPointer::Root.member("reason");
    let text = violations.string(value, at)?.trim();
    let fits = (1..=LONGEST_REASON).contains(&text.chars().count());
    violations.parsed(fits.then(|| text.to_owned()), at, BAD_REASON)
}
