//! Refund an order, whole or in part: one refund of an order at a time.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::engine::run::{CommittedCall, Run, RunResult};
use crate::core::engine::{Engine, LOOK_AGAIN, NewTask};
use crate::core::payment::commands::{RefundCommand, RefundDecision};
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::task::TaskState;
use crate::core::ports::call::Call;
use crate::core::ports::idempotency::{IdempotencyKey, KeptReply};
use crate::core::ports::order_repository::{LoadOptions, Scope, SideWrites};
use crate::core::ports::storage_error::StorageError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Makes the reply of a decision: status and body.
pub type RenderRefund = Box<dyn Fn(Result<TaskId, RefundError>) -> (u16, Vec<u8>) + Send + Sync>;

/// The idempotency key of a refund: its reply is committed with the task, so that no crash comes
/// between the effect and the memory of it; and so is a refusal with the look at the order that led to
/// it, so that of two instances that are asked at once only one answers.
pub struct KeyedRefund {
    pub key: IdempotencyKey,
    pub fingerprint: [u8; 32],
    /// The reply that the task stands for until its end, or the refusal.
    pub render: RenderRefund,
}

impl fmt::Debug for KeyedRefund {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedRefund").field("key", &self.key).finish_non_exhaustive()
    }
}

impl KeyedRefund {
    /// `None` where a repeat may get another answer.
    fn reply(&self, asked: &RefundDecision, task: TaskId) -> Option<(IdempotencyKey, KeptReply)> {
        let verdict = match asked {
            RefundDecision::Call(_) => Ok(task),
            RefundDecision::InProgress => return None,
            RefundDecision::Exceeds => Err(RefundError::Exceeds),
            RefundDecision::Refused(status) => Err(RefundError::NotRefundable(*status)),
        };
        let (status, body) = (self.render)(verdict);
        Some((self.key.clone(), KeptReply { fingerprint: self.fingerprint, status, body }))
    }
}

#[derive(Debug)]
pub struct RefundRequest {
    pub order_id: OrderId,
    pub scope: Scope,
    /// All that is left, if not said.
    pub amount: Option<Money>,
    pub keyed: Option<KeyedRefund>,
    pub call: Call,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refunding {
    /// The money is back, by the provider's own word: read the order.
    Done,
    Queued {
        task_id: TaskId,
        retry_after: Duration,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefundError {
    #[error("no such order")]
    NotFound,
    #[error("an order that is {} cannot be refunded", .0.as_str())]
    NotRefundable(OrderStatus),
    #[error("more than is left of the payment")]
    Exceeds,
    #[error("another refund of the order is under way")]
    InProgress,
    #[error("the payment system refused the refund")]
    Rejected,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug)]
pub struct RefundOrder {
    pub engine: Arc<Engine>,
}

impl RefundOrder {
    /// Answers as soon as there is something to say; the call that has begun goes on until it is stored.
    ///
    /// # Errors
    /// As [`RefundError`] says; nothing is given back then.
    #[tracing::instrument(name = "RefundOrder", skip_all, fields(
        order.id = %request.order_id, order.status, payment.method, fallback.kind,
    ))]
    pub async fn run(&self, request: RefundRequest) -> Result<Refunding, RefundError> {
        let task = self.engine.new_task();
        let (order_id, call) = (request.order_id, request.call.clone());
        let first = self.accept(request, task).await?;
        let patience = self.engine.policy.sync_wait.min(call.deadline.remaining());
        let run = Run {
            order_id,
            task_id: task.id,
            token: task.token,
            first: Some(CommittedCall { call: first, since: task.since }),
            trace: call.trace,
            client: None,
        };
        match self.engine.start(run).wait(patience).await {
            Some(result) => answer(result?, task.id),
            None => Ok(Refunding::Queued { task_id: task.id, retry_after: LOOK_AGAIN }),
        }
    }

    async fn accept(
        &self,
        request: RefundRequest,
        task: NewTask,
    ) -> Result<ProviderCall, RefundError> {
        let RefundRequest { order_id, scope, amount, keyed, call } = request;
        let command = RefundCommand {
            amount,
            client_key: keyed.as_ref().map(|keyed| keyed.key.key.clone()),
            trace: call.trace.as_ref().map(ToString::to_string),
        };
        let commanded = self
            .engine
            .command(order_id, scope, task, LoadOptions::Aggregate, move |aggregate, context| {
                let asked = aggregate.refund_payment(&command, context);
                let reply = keyed.as_ref().and_then(|keyed| keyed.reply(&asked, context.task));
                (asked, SideWrites { reply, ..SideWrites::default() })
            })
            .await?
            .ok_or(RefundError::NotFound)?;
        match commanded.answer {
            RefundDecision::Call(call) => Ok(call),
            RefundDecision::InProgress => Err(RefundError::InProgress),
            RefundDecision::Exceeds => Err(RefundError::Exceeds),
            RefundDecision::Refused(status) => Err(RefundError::NotRefundable(status)),
        }
    }
}

fn answer(result: RunResult, task_id: TaskId) -> Result<Refunding, RefundError> {
    let queued = |retry_after| Ok(Refunding::Queued { task_id, retry_after });
    let Some(task) = result.task else { return queued(LOOK_AGAIN) };
    match task.state {
        TaskState::Succeeded => Ok(Refunding::Done),
        TaskState::Failed => Err(RefundError::Rejected),
        TaskState::Queued => queued(task.run_at.since(result.now)),
        TaskState::Running | TaskState::Cancelled | TaskState::Review => queued(LOOK_AGAIN),
    }
}
