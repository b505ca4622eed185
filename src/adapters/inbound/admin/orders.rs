//! `/admin/orders/{id}`: an order, found by whatever a person has at hand, with all that is kept of it:
//! every registration under the number by which its payment system knows it, every refund with its doubt,
//! tasks, callbacks, and what operators did. No forms: payers' addresses are none of an operator's business.

use crate::adapters::inbound::admin::audit::RecordBody;
use crate::adapters::inbound::admin::state::AdminState;
use crate::adapters::inbound::admin::tasks::task_body;
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::params::{Id, NoQuery, PathParam};
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json;
use crate::adapters::inbound::http_kit::request_context::RequestContext;
use crate::adapters::inbound::resources::task_body::{SidesBody, TaskBody};
use crate::adapters::inbound::resources::wire::{MoneyBody, TimestampBody};
use crate::adapters::observe::storage_upkeep::{AuditQuery, CallbackRecord};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::payment::OrderAggregate;
use crate::core::payment::refund::Refund;
use crate::core::payment::registration::Registration;
use crate::core::ports::task_queue::TaskQuery;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use std::sync::Arc;

/// Of each kind of record, the newest: a poll that goes on for weeks must not make a page without end.
const AT_MOST: usize = 100;

/// The longest id that a payment system gives fits well.
const LONGEST_NAME: usize = 128;

/// What a person calls an order by: its id, its number at a payment system, that system's own id, or the
/// id of one of its tasks.
#[derive(Debug)]
pub struct OrderName(String);

impl PathParam for OrderName {
    fn from_segment(text: &str) -> Result<Self, Problem> {
        let fits = (1..=LONGEST_NAME).contains(&text.len());
        if fits { Ok(Self(text.to_owned())) } else { Err(Problem::new(Code::OrderNotFound)) }
    }
}

#[derive(Debug, Serialize)]
struct OrderBody<'a> {
    id: String,
    status: &'static str,
    total: MoneyBody,
    /// In the order in which they were made.
    registrations: Vec<RegistrationBody<'a>>,
    /// In the order in which they were planned or seen.
    refunds: Vec<RefundBody<'a>>,
    /// The unfinished ones of `tasks`.
    task_ids: Vec<i64>,
    /// These three newest first.
    tasks: Vec<TaskBody<'static>>,
    callbacks: Vec<CallbackBody>,
    audit: Vec<RecordBody>,
}

#[derive(Debug, Serialize)]
struct CallbackBody {
    received_at: TimestampBody,
    provider: &'static str,
    number: String,
    event_id: Option<String>,
    /// What it told of, in the payment system's word.
    kind: String,
    signed: bool,
}

/// What is kept of an order beside its aggregate.
struct Records {
    tasks: Vec<TaskBody<'static>>,
    callbacks: Vec<CallbackBody>,
    audit: Vec<RecordBody>,
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
    /// What the provider told that is not what we registered, beside what we have.
    contradiction: Option<SidesBody>,
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
    fn of(aggregate: &'a OrderAggregate, records: Records) -> Self {
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
            tasks: records.tasks,
            callbacks: records.callbacks,
            audit: records.audit,
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
            contradiction: registration.contradiction.clone().map(|theirs| SidesBody {
                theirs,
                ours: registration.record(registration.refunded),
            }),
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

impl From<CallbackRecord> for CallbackBody {
    fn from(CallbackRecord { received_at, entry }: CallbackRecord) -> Self {
        Self {
            received_at: TimestampBody(received_at),
            provider: entry.provider.as_str(),
            number: entry.number.as_str().to_owned(),
            event_id: entry.event_id,
            kind: entry.kind,
            signed: entry.signed,
        }
    }
}

pub async fn show(
    State(state): State<Arc<AdminState>>,
    context: RequestContext,
    Id(name): Id<OrderName>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let aggregate = find(&state, &name).await?.ok_or(Problem::new(Code::OrderNotFound))?;
    let records = records(&state, aggregate.order.id, &context).await?;
    Ok(json(StatusCode::OK, &OrderBody::of(&aggregate, records)))
}

/// A payment system's own id may look like one of ours.
async fn find(state: &AdminState, name: &OrderName) -> Result<Option<OrderAggregate>, Problem> {
    if let Some(id) = OrderId::parse(&name.0)
        && let Some(found) = state.operate_tasks.show(id).await?
    {
        return Ok(Some(found));
    }
    match state.records.order_named(&name.0).await? {
        Some(id) => Ok(state.operate_tasks.show(id).await?),
        None => Ok(None),
    }
}

async fn records(
    state: &AdminState,
    order: OrderId,
    context: &RequestContext,
) -> Result<Records, Problem> {
    let tasks = TaskQuery { order: Some(order), limit: AT_MOST, ..TaskQuery::default() };
    let tasks = state.operate_tasks.list(&tasks).await?;
    let audit = AuditQuery { order: Some(order), limit: AT_MOST, after: None };
    let audit = state.audit.audit(&audit).await?;
    let callbacks = state.records.callbacks(order, AT_MOST).await?;
    Ok(Records {
        tasks: tasks.iter().map(|task| task_body(task, context)).collect(),
        callbacks: callbacks.into_iter().map(CallbackBody::from).collect(),
        audit: audit.into_iter().map(RecordBody::from).collect(),
    })
}
