//! A task as both listeners show it.

use crate::adapters::inbound::http_kit::lang::Lang;
use crate::adapters::inbound::resources::reasons::{both_sums, why_failed};
use crate::adapters::inbound::resources::wire::{
    MoneyBody, TimestampBody, as_text, provider_schema, reason_schema, task_kind_schema,
    task_status_schema,
};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::payment::dispute::Dispute;
use crate::core::payment::task::{Task, TaskState};
use crate::core::ports::task_queue::TaskView;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Task)]
pub struct TaskBody<'a> {
    #[schema(value_type = i64, minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    task_id: i64,
    #[schema(schema_with = task_kind_schema)]
    kind: &'static str,
    #[serde(serialize_with = "as_text")]
    #[schema(value_type = uuid::Uuid)]
    order_id: OrderId,
    /// `review`: a person must look; the outcome is not claimed.
    #[schema(schema_with = task_status_schema)]
    status: &'static str,
    /// Why it waits.
    #[schema(required, schema_with = reason_schema)]
    reason: Option<&'static str>,
    attempts: u32,
    created_at: TimestampBody,
    updated_at: TimestampBody,
    #[schema(required)]
    next_attempt_at: Option<TimestampBody>,
    /// What it brought about.
    #[schema(required)]
    result: Option<ResultBody<'a>>,
    /// How it ended badly.
    #[schema(required)]
    error: Option<ErrorBody>,
    /// Who ended its review, and when: for operators, never for shops.
    #[serde(flatten)]
    #[schema(ignore)]
    settlement: Option<SettlementBody>,
    /// With numbers, which may be another's: for operators, never for shops.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    contradiction: Option<SidesBody>,
}

/// What a payment system tells, and what we have.
#[derive(Debug, Serialize)]
pub struct SidesBody {
    pub theirs: String,
    pub ours: String,
}

#[derive(Debug, Serialize)]
struct SettlementBody {
    settled_by: String,
    settled_at: TimestampBody,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TaskResult)]
pub struct ResultBody<'a> {
    #[schema(schema_with = provider_schema)]
    provider: &'static str,
    /// Null as soon as nothing can be paid there any more.
    #[schema(required)]
    form_url: Option<&'a str>,
    /// What a refund gives back, or an accepted cancel that found the order paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    refund: Option<TaskRefundBody>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TaskRefund)]
pub struct TaskRefundBody {
    /// The task that sees to it: whether the money is back, it tells.
    #[schema(value_type = Option<i64>)]
    task_id: Option<i64>,
    amount: MoneyBody,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TaskError)]
pub struct ErrorBody {
    #[schema(example = "payment_rejected")]
    code: &'static str,
    detail: String,
}

impl<'a> TaskBody<'a> {
    pub fn of(task: &Task, form: Option<ResultBody<'a>>, lang: Lang) -> Self {
        let queued = task.state == TaskState::Queued && task.run_at < Task::NEVER;
        let detail = |error| {
            let why = why_failed(error).in_lang(lang).to_owned();
            match task.dispute.as_ref().and_then(|dispute| both_sums(dispute, lang)) {
                Some(sums) => format!("{why} {sums}"),
                None => why,
            }
        };
        Self {
            task_id: task.id.get(),
            kind: task.kind.as_str(),
            order_id: task.order_id,
            status: task.state.as_str(),
            reason: task.reason.filter(|_| !task.state.is_final()).map(|reason| reason.as_str()),
            attempts: task.attempts,
            created_at: TimestampBody(task.created_at),
            updated_at: TimestampBody(task.updated_at),
            next_attempt_at: queued.then_some(TimestampBody(task.run_at)),
            result: form,
            error: task.error.map(|e| ErrorBody { code: e.code(), detail: detail(e) }),
            settlement: None,
            contradiction: None,
        }
    }

    /// The same, with who ended its review, and both sides of what laid it before a person.
    pub fn for_operators(self, task: &Task) -> Self {
        let settlement = task
            .settled
            .clone()
            .map(|(settled_by, at)| SettlementBody { settled_by, settled_at: TimestampBody(at) });
        let contradiction = task.dispute.as_ref().map(|Dispute { theirs, ours }| SidesBody {
            theirs: theirs.record.clone(),
            ours: ours.record.clone(),
        });
        Self { settlement, contradiction, ..self }
    }
}

impl<'a> ResultBody<'a> {
    pub fn of(view: &'a TaskView) -> Option<Self> {
        let registration = view.registration.as_ref()?;
        let refund = view.refund.as_ref().map(|refund| TaskRefundBody {
            task_id: refund.task.map(TaskId::get),
            amount: MoneyBody(refund.amount),
        });
        let provider = registration.provider.as_str();
        Some(Self { provider, form_url: registration.open_form(), refund })
    }

    pub const fn without_form(provider: Provider) -> Self {
        Self { provider: provider.as_str(), form_url: None, refund: None }
    }
}
