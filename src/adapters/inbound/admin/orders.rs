//! `/admin/orders/{id}`: an order with every registration that was tried for it, under the numbers by
//! which the payment systems know them, and every refund with its doubt. No forms: payers' addresses are
//! none of an operator's business.

use crate::adapters::inbound::admin::state::AdminState;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::resources::wire::{MoneyBody, TimestampBody};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::payment::OrderAggregate;
use crate::core::payment::refund::Refund;
use crate::core::payment::registration::Registration;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use std::sync::Arc;

#[derive(Debug, Serialize)]
struct OrderBody<'a> {
    id: String,
    status: &'static str,
    total: MoneyBody,
    /// In the order in which they were made.
    registrations: Vec<RegistrationBody<'a>>,
    /// In the order in which they were planned or seen.
    refunds: Vec<RefundBody<'a>>,
    /// Unfinished ones; the others are in the list of tasks.
    task_ids: Vec<i64>,
}

#[derive(Debug, Serialize)]
struct RegistrationBody<'a> {
    provider: &'static str,
    /// The order's number at the provider.
    number: &'a str,
    /// The provider's own id.
    external_id: Option<&'a str>,
    state: &'static str,
    /// The last fact that led to the state, in a word of ours.
    evidence: &'a str,
    amount: MoneyBody,
    refunded: MoneyBody,
    sent_at: Option<TimestampBody>,
    registered_at: Option<TimestampBody>,
    paid_at: Option<TimestampBody>,
    expires_at: Option<TimestampBody>,
    /// What the provider told that is not what we registered; the other side stands above.
    contradiction: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct RefundBody<'a> {
    /// By what a provider that knows keys tells a repeat from a new refund.
    key: &'a str,
    provider: &'static str,
    /// The order's number at the provider.
    number: Option<&'a str>,
    amount: MoneyBody,
    state: &'static str,
    /// Who wanted the money back.
    origin: &'static str,
    task_id: Option<i64>,
    /// How often it was sent, and when the last time.
    sends: u32,
    sent_at: Option<TimestampBody>,
    /// What the provider told of money given back before that.
    told_before: Option<MoneyBody>,
    updated_at: TimestampBody,
}

impl<'a> OrderBody<'a> {
    fn of(aggregate: &'a OrderAggregate) -> Self {
        let mut registrations: Vec<_> = aggregate.registrations.iter().collect();
        registrations.sort_by_key(|registration| registration.created_at);
        let mut refunds: Vec<_> = aggregate.refunds.iter().collect();
        refunds.sort_by_key(|refund| refund.created_at);
        let unfinished = aggregate.tasks.iter().map(|task| task.id);
        Self {
            id: aggregate.order.id.to_string(),
            status: aggregate.order.status.as_str(),
            total: MoneyBody(aggregate.order.total),
            registrations: registrations.into_iter().map(RegistrationBody::of).collect(),
            refunds: refunds.into_iter().map(|it| RefundBody::of(it, aggregate)).collect(),
            task_ids: unfinished.map(TaskId::get).collect(),
        }
    }
}

impl<'a> RegistrationBody<'a> {
    fn of(registration: &'a Registration) -> Self {
        Self {
            provider: registration.provider.as_str(),
            number: registration.number.as_str(),
            external_id: registration.external_id.as_deref(),
            state: registration.state.as_str(),
            evidence: &registration.evidence,
            amount: MoneyBody(registration.amount),
            refunded: MoneyBody(registration.refunded),
            sent_at: registration.sent_at.map(TimestampBody),
            registered_at: registration.registered_at.map(TimestampBody),
            paid_at: registration.paid_at.map(TimestampBody),
            expires_at: registration.expires_at.map(TimestampBody),
            contradiction: registration.contradiction.as_deref(),
        }
    }
}

impl<'a> RefundBody<'a> {
    fn of(refund: &'a Refund, aggregate: &'a OrderAggregate) -> Self {
        let of_it = aggregate.registrations.iter().find(|made| refund.is_of(made));
        Self {
            key: refund.key.as_str(),
            provider: refund.provider.as_str(),
            number: of_it.map(|made| made.number.as_str()),
            amount: MoneyBody(refund.amount),
            state: refund.state.as_str(),
            origin: refund.origin.as_str(),
            task_id: refund.task.map(TaskId::get),
            sends: refund.sends,
            sent_at: refund.sent_at.map(TimestampBody),
            told_before: refund.told_before.map(MoneyBody),
            updated_at: TimestampBody(refund.updated_at),
        }
    }
}

pub async fn show(
    State(state): State<Arc<AdminState>>,
    Id(order): Id<OrderId>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let aggregate = state.operate_tasks.show(order).await?;
    let aggregate = aggregate.ok_or(Problem::new(Code::OrderNotFound))?;
    Ok(json(StatusCode::OK, &OrderBody::of(&aggregate)))
}
