//! Refund an order, whole or in part: one refund of an order at a time.

use crate::core::domain::ids::{LeaseToken, OrderId, TaskId};
use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::engine::run::{Begun, LOOK_AGAIN, Reply, Rested, Run, RunTasks};
use crate::core::payment::effect::{Round, Step};
use crate::core::payment::task::TaskState;
use crate::core::payment::{Asker, OrderAggregate, RefundAsked};
use crate::core::ports::call::Call;
use crate::core::ports::order_repository::{
    Also, IdempotencyKey, KeptReply, LoadOptions, Scope, StorageError, TxContext, decide,
};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

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
    fn reply(&self, asked: &RefundAsked, task: TaskId) -> Option<(IdempotencyKey, KeptReply)> {
        let verdict = match asked {
            RefundAsked::Begun(_) => Ok(task),
            RefundAsked::InProgress => return None,
            RefundAsked::Exceeds => Err(RefundError::Exceeds),
            RefundAsked::Refused(status) => Err(RefundError::NotRefundable(*status)),
        };
        let (status, body) = (self.render)(verdict);
        Some((self.key.clone(), KeptReply { fingerprint: self.fingerprint, status, body }))
    }
}

#[derive(Debug)]
pub struct Refund {
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
    pub tasks: Arc<RunTasks>,
}

impl RefundOrder {
    /// Answers through `reply`, and goes on until the call that has begun is stored. Run it detached
    /// from the client.
    #[tracing::instrument(name = "RefundOrder", skip_all, fields(
        order.id = %ask.order_id, order.status, payment.method, fallback.kind,
    ))]
    pub async fn run(&self, ask: Refund, reply: Reply<Result<Refunding, RefundError>>) {
        let task_id = TaskId::new(self.tasks.entropy.bits());
        let token = LeaseToken::new(self.tasks.entropy.bits());
        let since = Instant::now();
        let (order_id, call) = (ask.order_id, ask.call.clone());
        let step = match self.accept(ask, task_id, token).await {
            Ok(step) => step,
            Err(fault) => {
                let _ = reply.send(Err(fault));
                return;
            }
        };
        let patience = self.tasks.policy.sync_wait.min(call.deadline.remaining());
        let first = Some(Begun { step, since });
        let run = Run { order_id, task_id, token, first, trace: call.trace, client: None };
        let late = Refunding::Queued { task_id, retry_after: LOOK_AGAIN };
        self.tasks
            .run_and_reply(run, patience, reply, late, |rested| answer(rested, task_id))
            .await;
    }

    async fn accept(
        &self,
        ask: Refund,
        task_id: TaskId,
        token: LeaseToken,
    ) -> Result<Step, RefundError> {
        let desk = self.tasks.desk(task_id, token, Round::default());
        let Refund { order_id, scope, amount, keyed, call } = ask;
        let trace = call.trace.as_ref().map(ToString::to_string);
        let decision = move |aggregate: &mut OrderAggregate, scene: &TxContext| {
            if !scope.allows(&aggregate.order.customer_id) {
                return (None, Also::default());
            }
            let turn = desk.turn(scene, true);
            let asker = Asker { turn, return_url: None, trace: trace.as_deref() };
            let asked = aggregate.refund(&asker, amount);
            let reply = keyed.as_ref().and_then(|keyed| keyed.reply(&asked, task_id));
            (Some(asked), Also { reply, ..Also::default() })
        };
        let asked =
            decide(self.tasks.store.as_ref(), order_id, LoadOptions::OrderAggregate, decision)
                .await?
                .flatten()
                .ok_or(RefundError::NotFound)?;
        match asked {
            RefundAsked::Begun(step) => Ok(step),
            RefundAsked::InProgress => Err(RefundError::InProgress),
            RefundAsked::Exceeds => Err(RefundError::Exceeds),
            RefundAsked::Refused(status) => Err(RefundError::NotRefundable(status)),
        }
    }
}

fn answer(rested: Rested, task_id: TaskId) -> Result<Refunding, RefundError> {
    let Some(task) = rested.task else {
        return Ok(Refunding::Queued { task_id, retry_after: LOOK_AGAIN });
    };
    match task.state {
        TaskState::Succeeded => Ok(Refunding::Done),
        TaskState::Failed => Err(RefundError::Rejected),
        TaskState::Queued => {
            Ok(Refunding::Queued { task_id, retry_after: task.run_at.since(rested.now) })
        }
        TaskState::Running | TaskState::Cancelled | TaskState::Review => {
            Ok(Refunding::Queued { task_id, retry_after: LOOK_AGAIN })
        }
    }
}
