//! `GET /v1/tasks/{task_id}`: how far the work on an order has come, with a long poll.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::etag::conditional;
use crate::adapters::inbound::api::queued::LONGEST_PAUSE;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::params::{Id, Params};
use crate::adapters::inbound::http_kit::prefer::{
    MALFORMED_WAIT, MAX_WAIT, PREFERENCE_APPLIED, Prefer, applied_wait, parse_wait, waited,
};
use crate::adapters::inbound::http_kit::problem::{Problem, whole_seconds};
use crate::adapters::inbound::http_kit::reply::encode;
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::adapters::inbound::resources::task_body::{ResultBody, TaskBody};
use crate::core::domain::ids::TaskId;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::task::{Task, TaskState};
use crate::core::ports::order_repository::Scope;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::TaskView;
use axum::extract::State;
use axum::response::Response;
use http::header::{RETRY_AFTER, VARY};
use http::{HeaderMap, HeaderValue, Uri};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

pub const ROUTE: &str = "/v1/tasks/{task_id}";

/// A poll that the client's own deadline ends is answered this much earlier.
const ANSWER_EARLY: Duration = Duration::from_millis(50);

/// Show a task
#[utoipa::path(
    get,
    path = "/v1/tasks/{task_id}",
    tag = "tasks",
    params(
        ("task_id" = i64, Path, description = "The task"),
        ("wait" = Option<String>, Query,
            description = "Answer at its end, or after this long: `10s` or seconds, at most 30 s"),
        ("Prefer" = Option<String>, Header, description = "`wait=n` seconds (RFC 7240)"),
        ("If-None-Match" = Option<String>, Header, description = "A tag of an earlier answer"),
    ),
    responses(
        (status = 200, description = "As it stands, also when it failed; a final answer never \
            changes, but for its form", body = TaskBody<'static>, headers(
                ("ETag" = String, description = "Changes with the task"),
                ("Retry-After" = u64, description = "Seconds; while it is not final"),
                ("Preference-Applied" = String,
                    description = "What was honoured of `Prefer`; also a `?wait=` that was cut"),
            )),
        (status = 304, description = "The client has it"),
    )
)]
pub async fn show_task(
    State(app): State<Arc<App>>,
    caller: Caller,
    context: RequestContext,
    Id(id): Id<TaskId>,
    prefer: Prefer,
    uri: Uri,
    request: HeaderMap,
) -> Result<Response, Problem> {
    let mut params = Params::read(&uri, &["wait"]);
    let asked = params.take("wait", parse_wait, MALFORMED_WAIT);
    params.finish()?;
    let wait = asked.or(prefer.wait).unwrap_or_default().min(MAX_WAIT);
    let begun = Instant::now();
    let found = poll(&app, id, &caller.scope, poll_limit(&context, wait)).await?;
    let view = found.ok_or(Problem::new(Code::TaskNotFound))?;
    let body = TaskBody::of(&view.task, ResultBody::of(&view), context.lang);
    let mut response = conditional(&request, encode(&body));
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-language"));
    let cut = asked.is_some_and(|asked| asked > MAX_WAIT);
    let preferred = asked.is_none() && prefer.wait.is_some();
    if (cut || preferred) && (view.task.state.is_final() || waited(begun, wait)) {
        headers.insert(PREFERENCE_APPLIED, applied_wait(wait));
    }
    if let Some(pause) = pause(&view.task, app.services.clock.now()) {
        headers.insert(RETRY_AFTER, whole_seconds(pause).into());
    }
    Ok(response)
}

/// When the service stops, whoever waits learns how things stand, and may go on at another instance.
async fn poll(
    app: &App,
    id: TaskId,
    scope: &Scope,
    wait: Duration,
) -> Result<Option<TaskView>, StorageError> {
    let poll = |wait| app.use_cases.poll_task.run(id, scope, wait);
    if wait.is_zero() {
        return poll(wait).await;
    }
    tokio::select! {
        found = poll(wait) => found,
        () = app.services.readiness.lifecycle.stopped() => poll(Duration::ZERO).await,
    }
}

/// Only a deadline that the client has set itself shortens its own wait.
fn poll_limit(context: &RequestContext, wait: Duration) -> Duration {
    if context.deadline_is_the_clients {
        wait.min(context.deadline.remaining().saturating_sub(ANSWER_EARLY))
    } else {
        wait
    }
}

/// When to look again; never for a final answer. What runs is worth a look after half as long again as it
/// has run, and when its lease is over: then somebody else may take it.
fn pause(task: &Task, now: Timestamp) -> Option<Duration> {
    match task.state {
        TaskState::Queued => Some(task.run_at.since(now).min(LONGEST_PAUSE)),
        TaskState::Running => {
            let lease = task.lease.as_ref().map_or(Duration::ZERO, |lease| lease.until.since(now));
            Some((now.since(task.updated_at) / 2).min(lease).min(LONGEST_PAUSE))
        }
        TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled | TaskState::Review => None,
    }
}
