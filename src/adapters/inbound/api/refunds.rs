//! `GET /v1/orders/{id}/refunds`: what was given back, or is to be, and why.

use crate::adapters::inbound::api::auth::Caller;
use crate::adapters::inbound::api::orders::find;
use crate::adapters::inbound::api::state::App;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::resources::wire::{
    MoneyBody, TimestampBody, refund_reason_schema, refund_state_schema,
};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::payment::refund::{Refund, RefundState};
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RefundList)]
pub struct RefundsBody {
    /// The earliest first.
    items: Vec<RefundRecordBody>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RefundRecord)]
pub struct RefundRecordBody {
    amount: MoneyBody,
    /// `client`: asked for here. `cancel`: the payment was faster than an accepted cancel. `late_money`: paid after
    /// it was given up, or twice. `elsewhere`: made at the payment system, and only seen here.
    #[schema(schema_with = refund_reason_schema)]
    reason: &'static str,
    /// `review`: a person must say what became of it.
    #[schema(schema_with = refund_state_schema)]
    state: &'static str,
    /// The task that sees to it; null when it was made elsewhere.
    #[schema(required)]
    task_id: Option<i64>,
    created_at: TimestampBody,
    updated_at: TimestampBody,
}

impl RefundRecordBody {
    fn of(refund: &Refund) -> Self {
        Self {
            amount: MoneyBody(refund.amount),
            reason: refund.origin.as_str(),
            state: state(refund.state),
            task_id: refund.task.map(TaskId::get),
            created_at: TimestampBody(refund.created_at),
            updated_at: TimestampBody(refund.updated_at),
        }
    }
}

/// How far it has come, as far as that is a shop's matter.
const fn state(state: RefundState) -> &'static str {
    match state {
        RefundState::Planned | RefundState::Sent | RefundState::InDoubt => "pending",
        RefundState::Done => "succeeded",
        RefundState::Refused | RefundState::Expired => "failed",
        RefundState::Cancelled => "cancelled",
        RefundState::Review => "review",
    }
}

/// List an order's refunds
#[utoipa::path(
    get,
    path = "/v1/orders/{id}/refunds",
    tag = "orders",
    params(("id" = uuid::Uuid, Path, description = "The order")),
    responses((status = 200, description = "All of them", body = RefundsBody))
)]
pub async fn list_refunds(
    State(app): State<Arc<App>>,
    caller: Caller,
    Id(id): Id<OrderId>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let aggregate = find(&app, id, &caller.scope).await?;
    let items = aggregate.refunds.iter().map(RefundRecordBody::of).collect();
    Ok(json(StatusCode::OK, &RefundsBody { items }))
}
