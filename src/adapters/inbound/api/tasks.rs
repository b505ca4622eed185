//! `GET /v1/tasks/{task_id}`: how far the work on an order has come, with a long poll; and the 202
//! that sends clients here.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::etag::conditional;
use crate::adapters::inbound::api::order_body::shown;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::body::{encode, json_bytes};
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::error::why_failed;
use crate::adapters::inbound::http_kit::lang::Lang;
use crate::adapters::inbound::http_kit::params::{Id, Params};
use crate::adapters::inbound::http_kit::prefer::{
    MALFORMED_WAIT, MAX_WAIT, PREFERENCE_APPLIED, Prefer, applied_wait, parse_wait,
};
use crate::adapters::inbound::http_kit::problem::{Problem, whole_seconds};
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::adapters::inbound::http_kit::wire::{
    Moment, provider_schema, reason_schema, task_kind_schema, task_status_schema,
};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::task::{Task, TaskState};
use crate::core::ports::order_repository::Scope;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::TaskView;
use axum::extract::State;
use axum::response::Response;
use http::header::{LOCATION, RETRY_AFTER, VARY};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// The longest that a poller is told to stay away: a task that waits for a person has no time.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A poll that the client's own deadline ends is answered this much earlier.
const ANSWER_EARLY: Duration = Duration::from_millis(50);

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Task)]
pub struct TaskBody<'a> {
    #[schema(value_type = i64, minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    task_id: i64,
    #[schema(schema_with = task_kind_schema)]
    kind: &'static str,
    #[serde(serialize_with = "shown")]
    #[schema(value_type = uuid::Uuid)]
    order_id: OrderId,
    /// `review`: a person must look; the outcome is not claimed.
    #[schema(schema_with = task_status_schema)]
    status: &'static str,
    /// Why it waits.
    #[schema(required, schema_with = reason_schema)]
    reason: Option<&'static str>,
    attempts: u32,
    created_at: Moment,
    updated_at: Moment,
    #[schema(required)]
    next_attempt_at: Option<Moment>,
    /// What it brought about.
    #[schema(required)]
    result: Option<ResultBody<'a>>,
    /// How it ended badly.
    #[schema(required)]
    error: Option<ErrorBody>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TaskResult)]
pub struct ResultBody<'a> {
    #[schema(schema_with = provider_schema)]
    provider: &'static str,
    /// Null as soon as nothing can be paid there any more.
    #[schema(required)]
    form_url: Option<&'a str>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TaskError)]
pub struct ErrorBody {
    #[schema(example = "payment_rejected")]
    code: &'static str,
    detail: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Queued)]
pub struct QueuedBody {
    #[schema(pattern = "^queued$", example = "queued")]
    status: &'static str,
    #[serde(serialize_with = "shown")]
    #[schema(value_type = uuid::Uuid)]
    order_id: OrderId,
    #[schema(value_type = i64)]
    task_id: i64,
}

impl<'a> TaskBody<'a> {
    pub fn of(task: &Task, form: Option<ResultBody<'a>>, lang: Lang) -> Self {
        let queued = task.state == TaskState::Queued && task.run_at < Task::NEVER;
        let detail = |error| why_failed(error).in_lang(lang);
        Self {
            task_id: task.id.get(),
            kind: task.kind.as_str(),
            order_id: task.order_id,
            status: task.state.as_str(),
            reason: task.reason.filter(|_| !task.state.is_final()).map(|reason| reason.as_str()),
            attempts: task.attempts,
            created_at: Moment(task.created_at),
            updated_at: Moment(task.updated_at),
            next_attempt_at: queued.then_some(Moment(task.run_at)),
            result: form,
            error: task.error.map(|e| ErrorBody { code: e.code(), detail: detail(e) }),
        }
    }
}

impl ResultBody<'_> {
    pub const fn without_form(provider: Provider) -> Self {
        Self { provider: provider.as_str(), form_url: None }
    }
}

fn result(view: &TaskView) -> Option<ResultBody<'_>> {
    let made = view.registration.as_ref()?;
    Some(ResultBody { provider: made.provider.as_str(), form_url: made.open_form() })
}

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
                ("Preference-Applied" = String, description = "What was honoured of `Prefer`"),
            )),
        (status = 304, description = "The client has it"),
    )
)]
pub async fn show_task(
    State(app): State<Arc<App>>,
    caller: Caller,
    visit: RequestContext,
    Id(id): Id<TaskId>,
    prefer: Prefer,
    uri: Uri,
    request: HeaderMap,
) -> Result<Response, Problem> {
    let mut params = Params::read(&uri, &["wait"]);
    let asked = params.take("wait", parse_wait, MALFORMED_WAIT);
    params.finish()?;
    let wait = asked.or(prefer.wait).unwrap_or_default().min(MAX_WAIT);
    let found = poll(&app, id, &caller.scope, patience(&visit, wait)).await?;
    let view = found.ok_or(Problem::new(Code::TaskNotFound))?;
    let body = TaskBody::of(&view.task, result(&view), visit.lang);
    let mut response = conditional(&request, encode(&body));
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("accept-language"));
    if asked.is_none() && prefer.wait.is_some() {
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
    let poll = |wait| app.can.poll_task.run(id, scope, wait);
    if wait.is_zero() {
        return poll(wait).await;
    }
    tokio::select! {
        found = poll(wait) => found,
        () = app.services.readiness.lifecycle.stopped() => poll(Duration::ZERO).await,
    }
}

/// Only a deadline that the client has set itself shortens its own wait.
fn patience(visit: &RequestContext, wait: Duration) -> Duration {
    if visit.deadline_is_the_clients {
        wait.min(visit.deadline.remaining().saturating_sub(ANSWER_EARLY))
    } else {
        wait
    }
}

/// When to look again; never for a final answer.
fn pause(task: &Task, now: Timestamp) -> Option<Duration> {
    match task.state {
        TaskState::Queued => Some(task.run_at.since(now).min(LONGEST_PAUSE)),
        TaskState::Running => Some(Duration::ZERO),
        TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled | TaskState::Review => None,
    }
}

/// The body of [`queued`].
pub fn queued_bytes(order_id: OrderId, task_id: TaskId) -> Vec<u8> {
    encode(&QueuedBody { status: "queued", order_id, task_id: task_id.get() })
}

/// The 202 of everything that goes on without the client.
pub fn queued(order_id: OrderId, task_id: TaskId, retry_after: Duration) -> Response {
    let mut response = json_bytes(StatusCode::ACCEPTED, queued_bytes(order_id, task_id));
    let location = HeaderValue::from_str(&format!("/v1/tasks/{task_id}"));
    let headers = response.headers_mut();
    headers.insert(LOCATION, location.expect("a number in a path"));
    headers.insert(RETRY_AFTER, whole_seconds(retry_after.min(LONGEST_PAUSE)).into());
    response
}
