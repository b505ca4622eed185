//! The 202 of everything that goes on without the client: it leads to the task.

use crate::adapters::inbound::http_kit::problem::whole_seconds;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::resources::wire::as_text;
use crate::core::domain::ids::{OrderId, TaskId};
use axum::response::Response;
use http::header::{LOCATION, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use std::time::Duration;
use utoipa::ToSchema;

/// The longest that a poller is told to stay away: a task that waits for a person has no time.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Queued)]
pub struct QueuedBody {
    #[schema(pattern = "^queued$", example = "queued")]
    status: &'static str,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = uuid::Uuid)]
    order_id: OrderId,
    #[schema(value_type = i64)]
    task_id: i64,
}

/// The 202 of everything that goes on without the client.
pub fn queued(order_id: OrderId, task_id: TaskId, retry_after: Duration) -> Response {
    let body = QueuedBody { status: "queued", order_id, task_id: task_id.get() };
    let mut response = json(StatusCode::ACCEPTED, &body);
    let location = HeaderValue::from_str(&format!("/v1/tasks/{task_id}"));
    let headers = response.headers_mut();
    headers.insert(LOCATION, location.expect("a number in a path"));
    headers.insert(RETRY_AFTER, whole_seconds(retry_after.min(LONGEST_PAUSE)).into());
    response
}
