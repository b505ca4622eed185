//! Cancel an order: at once while nothing can be paid, else after its registration was taken back.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::order::OrderStatus;
use crate::core::engine::command::NewTask;
use crate::core::engine::run::RunResult;
use crate::core::engine::{Engine, LOOK_AGAIN};
use crate::core::payment::commands::CancelDecision;
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::task::TaskState;
use crate::core::ports::call::Call;
use crate::core::ports::order_repository::{LoadOptions, Scope, SideWrites};
use crate::core::ports::storage_error::StorageError;
use std::sync::Arc;
use std::time::Duration;

/// Who wants which order taken back.
#[derive(Debug)]
pub struct CancelRequest {
    /// Which one.
    pub order_id: OrderId,
    /// Whose orders the caller may see.
    pub scope: Scope,
    /// How long the caller waits, and in which trace.
    pub call: Call,
}

/// An accepted cancel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancellation {
    /// The order is cancelled: read it.
    Done,
    /// It cannot be done now, and goes on without the client.
    Queued {
        /// The task to look at.
        task_id: TaskId,
        /// When to look again.
        retry_after: Duration,
    },
}

/// Why a cancel was not accepted: nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CancelError {
    /// Or not the caller's.
    #[error("no such order")]
    NotFound,
    /// It is paid or refunded: a refund is the way.
    #[error("an order that is {} cannot be cancelled", .0.as_str())]
    NotCancellable(OrderStatus),
    /// Whether it was accepted is not known where a commit got no answer; a repeat is safe.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Takes an order back: at once when nothing was sent, else after it is known what is alive
/// (docs/payments.md, rules 10 and 17).
#[derive(Debug)]
pub struct CancelOrder {
    /// Makes the call and goes on without the client.
    pub engine: Arc<Engine>,
}

enum Accepted {
    Call(ProviderCall),
    Answer(Cancellation),
}

impl CancelOrder {
    /// Answers as soon as there is something to say; the call that has begun goes on until it is stored.
    ///
    /// # Errors
    /// No such order, one that is paid, or a storage that cannot answer.
    #[tracing::instrument(name = "CancelOrder", skip_all, fields(
        order.id = %request.order_id, order.status, payment.method, fallback.kind,
    ))]
    pub async fn run(&self, request: CancelRequest) -> Result<Cancellation, CancelError> {
        let task = self.engine.new_task();
        let call = match self.accept(&request, task).await? {
            Accepted::Call(call) => call,
            Accepted::Answer(answer) => {
                self.engine.watch.work_is_due();
                return Ok(answer);
            }
        };
        let patience = self.engine.policy.sync_wait.min(request.call.deadline.remaining());
        let run = task.run(request.order_id, call, request.call.trace);
        match self.engine.start(run).wait(patience).await {
            Some(result) => answer(result?, task.id),
            None => Ok(Cancellation::Queued { task_id: task.id, retry_after: LOOK_AGAIN }),
        }
    }

    async fn accept(
        &self,
        request: &CancelRequest,
        task: NewTask,
    ) -> Result<Accepted, CancelError> {
        let trace = request.call.trace.as_ref().map(ToString::to_string);
        let (order, scope) = (request.order_id, request.scope.clone());
        let commanded = self
            .engine
            .command(order, scope, task, LoadOptions::Aggregate, move |aggregate, context| {
                let visible = aggregate.task_at_work().map(|task| task.id);
                let decision = aggregate.cancel(trace.as_deref(), context);
                ((decision, visible), SideWrites::default())
            })
            .await?
            .ok_or(CancelError::NotFound)?;
        let (decision, visible) = commanded.answer;
        if commanded.from != commanded.to
            && let Some(ended) = visible
        {
            self.engine.watch.changed(ended);
        }
        match decision {
            CancelDecision::Call(call) => Ok(Accepted::Call(call)),
            CancelDecision::Done => Ok(Accepted::Answer(Cancellation::Done)),
            CancelDecision::Running(task_id) => {
                Ok(Accepted::Answer(Cancellation::Queued { task_id, retry_after: LOOK_AGAIN }))
            }
            CancelDecision::Refused(status) => Err(CancelError::NotCancellable(status)),
        }
    }
}

fn answer(result: RunResult, task_id: TaskId) -> Result<Cancellation, CancelError> {
    let queued = |retry_after| Ok(Cancellation::Queued { task_id, retry_after });
    let Some(task) = result.task else { return queued(LOOK_AGAIN) };
    match task.state {
        TaskState::Succeeded if result.status == OrderStatus::Cancelled => Ok(Cancellation::Done),
        // The payment was faster: the task tells of the refund.
        TaskState::Succeeded => queued(LOOK_AGAIN),
        TaskState::Failed => Err(CancelError::NotCancellable(result.status)),
        TaskState::Queued => queued(task.run_at.since(result.now)),
        TaskState::Running | TaskState::Cancelled | TaskState::Review => queued(LOOK_AGAIN),
    }
}
