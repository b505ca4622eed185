//! `POST /v1/orders/{id}/cancel`: take an order back.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::order_body::OrderBody;
use crate::adapters::inbound::api::orders::present_order;
use crate::adapters::inbound::api::queued::{QueuedBody, queued};
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::body::OptionalJson;
use crate::adapters::inbound::http_kit::json_pointer::JsonPointer;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::adapters::inbound::http_kit::violations::Violations;
use crate::core::domain::ids::OrderId;
use crate::core::use_cases::cancel_order::{CancelRequest, Cancellation};
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;

/// Cancel an order
#[utoipa::path(
    post,
    path = "/v1/orders/{id}/cancel",
    tag = "orders",
    params(("id" = uuid::Uuid, Path, description = "The order")),
    responses(
        (status = 200, description = "Cancelled", body = OrderBody<'static>),
        (status = 202, description = "Queued: a registration must be taken back first",
            body = QueuedBody, headers(
                ("Location" = String, description = "Where the task is"),
                ("Retry-After" = u64, description = "Seconds"),
            )),
    )
)]
pub async fn cancel_order(
    State(app): State<Arc<App>>,
    caller: Caller,
    context: RequestContext,
    Id(order_id): Id<OrderId>,
    _: NoQuery,
    OptionalJson(body): OptionalJson,
) -> Result<Response, Problem> {
    if let Some(body) = body {
        let mut violations = Violations::default();
        let nothing = violations.object(&body, JsonPointer::Root, &[]);
        violations.into_result(nothing)?;
    }
    let request = CancelRequest { order_id, scope: caller.scope.clone(), call: context.call() };
    let work = Arc::clone(&app);
    let answer =
        app.detached(async move { work.use_cases.cancel_order.run(request).await }).await??;
    match answer {
        Cancellation::Done => present_order(&app, order_id, &caller.scope).await,
        Cancellation::Queued { task_id, retry_after } => Ok(queued(order_id, task_id, retry_after)),
    }
}
