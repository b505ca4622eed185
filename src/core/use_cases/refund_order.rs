//! Refund an order, whole or in part: one refund of an order at a time, and one for each idempotency key.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::engine::command::NewTask;
use crate::core::engine::run::{CommittedCall, Run, RunResult};
use crate::core::engine::{Engine, LOOK_AGAIN};
use crate::core::payment::commands::{RefundCommand, RefundDecision};
use crate::core::payment::context::RunHistory;
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::refund::RefundState;
use crate::core::payment::task::TaskState;
use crate::core::ports::call::Call;
use crate::core::ports::idempotency::{IdempotentRequest, KeptOutcome, Refusal};
use crate::core::ports::order_repository::{LoadOptions, Scope, SideWrites};
use crate::core::ports::storage_error::StorageError;
use crate::core::use_cases::idempotency::{Answer, Idempotency, IdempotencyError, KeyUse};
use std::sync::Arc;
use std::time::Duration;

/// Who wants how much of which order back.
#[derive(Debug)]
pub struct RefundRequest {
    /// Which one.
    pub order_id: OrderId,
    /// Whose orders the caller may see.
    pub scope: Scope,
    /// All that is left, if not said.
    pub amount: Option<Money>,
    /// The client's key, which a refund must have: it names the refund for ever.
    pub idempotency: IdempotentRequest,
    /// How long the caller waits, and in which trace. A refund call that has begun is not cut by
    /// it.
    pub call: Call,
}

/// An accepted refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refunding {
    /// The money is back, by the provider's own word: read the order.
    Done,
    /// It goes on without the client.
    Queued {
        /// The task to look at.
        task_id: TaskId,
        /// When to look again.
        retry_after: Duration,
    },
}

/// Why nothing is given back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefundError {
    /// Or not the caller's.
    #[error("no such order")]
    NotFound,
    /// There is no money in it.
    #[error("an order that is {} cannot be refunded", .0.as_str())]
    NotRefundable(OrderStatus),
    /// Of what was paid, less what was given back or is on its way.
    #[error("more than is left of the payment")]
    Exceeds,
    /// A sum in another currency says nothing of this payment.
    #[error("the order was paid in another currency")]
    OtherCurrency,
    /// Refunds of one order go one at a time: what the sum told before one call proves, two calls
    /// would blur (docs/payments.md, rule 11).
    #[error("another refund of the order is under way")]
    InProgress,
    /// Without effect, and final under this key.
    #[error("the payment system refused the refund")]
    Rejected,
    /// The key's first request was refused, and so is its repeat.
    #[error("refused before, under the same key")]
    Replayed(Refusal),
    /// The key forbids it.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyError),
    /// Whether it was accepted is not known where a commit got no answer; a repeat with the key is
    /// safe.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl RefundError {
    /// Whether the same request will never be served.
    const fn is_final(&self) -> bool {
        match self {
            Self::NotRefundable(_)
            | Self::Exceeds
            | Self::OtherCurrency
            | Self::Rejected
            | Self::Replayed(_) => true,
            Self::NotFound | Self::InProgress | Self::Idempotency(_) | Self::Storage(_) => false,
        }
    }
}

/// Gives money back, once for each key.
#[derive(Debug)]
pub struct RefundOrder {
    /// Makes the calls and goes on without the client.
    pub engine: Arc<Engine>,
    /// Tells a repeat from a new refund.
    pub idempotency: Arc<Idempotency>,
}

impl RefundOrder {
    /// Answers as soon as there is something to say; the call that has begun goes on until it is stored.
    ///
    /// # Errors
    /// As [`RefundError`] says; nothing is given back then.
    #[tracing::instrument(name = "RefundOrder", skip_all, fields(
        order.id = %request.order_id, order.status, payment.method, fallback.kind,
    ))]
    pub async fn run(&self, request: RefundRequest) -> Result<Answer<Refunding>, RefundError> {
        let idempotent = request.idempotency.clone();
        let scope = request.scope.clone();
        let _in_flight = match self.idempotency.begin(&idempotent).await? {
            KeyUse::First(in_flight) => in_flight,
            KeyUse::Repeat(outcome) => return self.replay(outcome, &scope).await,
        };
        let answer = self.refund(request).await;
        match &answer {
            Ok(Answer::Replayed(_)) | Err(RefundError::Replayed(_)) => {
                self.idempotency.replayed();
                return answer;
            }
            Ok(Answer::First(_)) => {
                self.idempotency.served();
                return answer;
            }
            Err(error) if error.is_final() => {
                self.idempotency.served();
                return answer;
            }
            Err(_) => {}
        }
        // Another instance may have been quicker with the same key.
        match self.idempotency.look(&idempotent).await? {
            Some(outcome) => self.replay(outcome, &scope).await,
            None => answer,
        }
    }

    /// The first answer once more: how a refund ended, its task tells.
    async fn replay(
        &self,
        outcome: KeptOutcome,
        scope: &Scope,
    ) -> Result<Answer<Refunding>, RefundError> {
        let task_id = match outcome {
            KeptOutcome::Refunding(task_id) => task_id,
            KeptOutcome::Refused(refusal) => return Err(RefundError::Replayed(refusal)),
            KeptOutcome::Placed(_) => {
                return Err(StorageError::Corrupt("an order under the key of a refund").into());
            }
        };
        let view = self.engine.queue.task(task_id, scope).await?;
        match view.map(|view| view.task.state) {
            Some(TaskState::Succeeded) => Ok(Answer::Replayed(Refunding::Done)),
            Some(TaskState::Failed) => Err(RefundError::Replayed(Refusal::RefundRejected)),
            Some(
                TaskState::Queued | TaskState::Running | TaskState::Cancelled | TaskState::Review,
            )
            | None => Ok(Answer::Replayed(Refunding::Queued { task_id, retry_after: LOOK_AGAIN })),
        }
    }

    async fn refund(&self, request: RefundRequest) -> Result<Answer<Refunding>, RefundError> {
        let task = self.engine.new_task();
        let (order_id, call) = (request.order_id, request.call.clone());
        let first = match self.accept(request, task).await? {
            Accepted::Call(call) => call,
            Accepted::Known { task, state } => return known(task, state),
        };
        let patience = self.engine.policy.sync_wait.min(call.deadline.remaining());
        let run = Run {
            order_id,
            task_id: task.id,
            token: task.token,
            first: Some(CommittedCall { call: first, since: task.since }),
            history: RunHistory::default(),
            trace: call.trace,
            client: None,
        };
        match self.engine.start(run).wait(patience).await {
            Some(result) => answer(result?, task.id).map(Answer::First),
            None => {
                let (task_id, retry_after) = (task.id, LOOK_AGAIN);
                Ok(Answer::First(Refunding::Queued { task_id, retry_after }))
            }
        }
    }

    async fn accept(&self, request: RefundRequest, task: NewTask) -> Result<Accepted, RefundError> {
        let RefundRequest { order_id, scope, amount, idempotency, call } = request;
        let command = RefundCommand {
            amount,
            client_key: Some(idempotency.key.key.clone()),
            trace: call.trace.as_ref().map(ToString::to_string),
        };
        let commanded = self
            .engine
            .command(order_id, scope, task, LoadOptions::Aggregate, move |aggregate, context| {
                let asked = aggregate.refund_payment(&command, context);
                let kept = kept_outcome(&asked, context.task);
                let kept = kept.map(|outcome| (idempotency.clone(), outcome));
                (asked, SideWrites { kept, ..SideWrites::default() })
            })
            .await?
            .ok_or(RefundError::NotFound)?;
        match commanded.answer {
            RefundDecision::Call(call) => Ok(Accepted::Call(call)),
            RefundDecision::Known { task, state } => Ok(Accepted::Known { task, state }),
            RefundDecision::KeyReused => Err(self.idempotency.reused().into()),
            RefundDecision::InProgress => Err(RefundError::InProgress),
            RefundDecision::Exceeds => Err(RefundError::Exceeds),
            RefundDecision::OtherCurrency => Err(RefundError::OtherCurrency),
            RefundDecision::Refused(status) => Err(RefundError::NotRefundable(status)),
        }
    }
}

enum Accepted {
    Call(ProviderCall),
    /// By the refund's own row: its request's outcome is kept for a day only.
    Known {
        task: TaskId,
        state: RefundState,
    },
}

/// The answer to a repeat of a request that is forgotten, by what became of its refund.
fn known(task_id: TaskId, state: RefundState) -> Result<Answer<Refunding>, RefundError> {
    match state {
        RefundState::Done => Ok(Answer::Replayed(Refunding::Done)),
        RefundState::Refused | RefundState::Expired => {
            Err(RefundError::Replayed(Refusal::RefundRejected))
        }
        RefundState::Planned
        | RefundState::Sent
        | RefundState::InDoubt
        | RefundState::Review
        | RefundState::Cancelled => {
            Ok(Answer::Replayed(Refunding::Queued { task_id, retry_after: LOOK_AGAIN }))
        }
    }
}

/// What is committed under the key, with the task or with the look at the order that led to the refusal:
/// so no crash comes between effect and memory, and of two instances that are asked at once one answers.
/// `None` where a repeat may get another answer.
const fn kept_outcome(asked: &RefundDecision, task: TaskId) -> Option<KeptOutcome> {
    match asked {
        RefundDecision::Call(_) => Some(KeptOutcome::Refunding(task)),
        RefundDecision::InProgress | RefundDecision::Known { .. } | RefundDecision::KeyReused => {
            None
        }
        RefundDecision::Exceeds => Some(KeptOutcome::Refused(Refusal::RefundExceeds)),
        RefundDecision::OtherCurrency => {
            Some(KeptOutcome::Refused(Refusal::CurrencyNotSupported(Vec::new())))
        }
        RefundDecision::Refused(status) => {
            Some(KeptOutcome::Refused(Refusal::NotRefundable(*status)))
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
