//! Confirm an order: make it payable, now if a payment system answers in time, later if not.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::order::OrderStatus;
use crate::core::domain::unavailable::PaymentSystemUnavailableError;
use crate::core::engine::command::NewTask;
use crate::core::engine::failpoint::{Failpoint, hit};
use crate::core::engine::narrate;
use crate::core::engine::run::{CommittedCall, Run, RunResult};
use crate::core::engine::waiting_client::WaitingClient;
use crate::core::engine::{Engine, LOOK_AGAIN, TOO_SHORT};
use crate::core::payment::OrderAggregate;
use crate::core::payment::commands::{ConfirmCommand, ConfirmDecision};
use crate::core::payment::context::DecisionContext;
use crate::core::payment::context::RunHistory;
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::registration::OpenForm;
use crate::core::payment::task::{TaskError, TaskState};
use crate::core::ports::call::Call;
use crate::core::ports::order_repository::{LoadOptions, Scope, SideWrites};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::TaskQuery;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Who wants to pay for which order.
#[derive(Debug)]
pub struct ConfirmRequest {
    /// Which one.
    pub order_id: OrderId,
    /// Whose orders the caller may see.
    pub scope: Scope,
    /// Validated by the API.
    pub return_url: Option<String>,
    /// How long the form is to live, validated likewise.
    pub form_lifetime: Option<Duration>,
    /// `Prefer: wait=n`; never longer than the policy's `sync_wait`.
    pub wait: Option<Duration>,
    /// `Prefer: respond-async`.
    pub respond_async: bool,
    /// How long the caller waits, and in which trace. A register call that has begun is not cut by
    /// it.
    pub call: Call,
}

/// An accepted confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    /// The payer can pay there.
    Registered(OpenForm),
    /// There is no form yet, and the search for one goes on without the client.
    Queued {
        /// The task to look at.
        task_id: TaskId,
        /// When to look again.
        retry_after: Duration,
    },
}

/// Why there is no form and will be none by itself: nothing is alive at any provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfirmError {
    /// Or not the caller's.
    #[error("no such order")]
    NotFound,
    /// It is paid, cancelled or refunded.
    #[error("an order that is {} cannot be confirmed", .0.as_str())]
    NotConfirmable(OrderStatus),
    /// From then on nobody is given a form (docs/payments.md, rule 17).
    #[error("a cancel of the order was accepted")]
    CancelInProgress,
    /// The order is `payment_failed`; the same would be refused again.
    #[error("the payment system refused the order")]
    Rejected,
    /// Nobody executed anything, and nothing may be queued. The order is as before.
    #[error(transparent)]
    Unavailable(#[from] PaymentSystemUnavailableError),
    /// Nothing was sent. The order is as before.
    #[error("too little time left to start")]
    DeadlineExceeded,
    /// Whether it was accepted is not known where a commit got no answer; a repeat is safe.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// How often a confirm that waits for another's run reads again, for news from other instances.
const READ_AGAIN: Duration = Duration::from_millis(500);

/// The answer comes this much before the client's deadline, so that it still arrives.
const ANSWER_EARLY: Duration = Duration::from_millis(20);

/// Makes an order payable, at the first payment system that takes it.
#[derive(Debug)]
pub struct ConfirmOrder {
    /// Makes the call and goes on without the client.
    pub engine: Arc<Engine>,
}

impl ConfirmOrder {
    /// Answers as soon as there is something to say; the call that has begun goes on until it is stored.
    ///
    /// # Errors
    /// As [`ConfirmError`] says; only after [`ConfirmError::Rejected`] and a lost commit is anything left
    /// behind.
    #[tracing::instrument(name = "ConfirmOrder", skip_all, fields(
        order.id = %request.order_id, order.status, payment.method, fallback.kind,
    ))]
    pub async fn run(&self, request: ConfirmRequest) -> Result<Confirmation, ConfirmError> {
        if request.call.deadline.remaining() < TOO_SHORT {
            return Err(ConfirmError::DeadlineExceeded);
        }
        let refusals = self.engine.refusals();
        if let Some(error) = self.nobody(&refusals)
            && !self.engine.policy.queueing
            && !request.respond_async
        {
            self.refuse_what_needs_a_call(&request, error).await?;
        }
        let task = self.engine.new_task();
        let call = match self.accept(&request, task, &refusals).await? {
            Accepted::Call(call) => call,
            Accepted::Answer(answer) => return Ok(answer),
            Accepted::Running(task_id) => return self.join(&request, task_id).await,
        };
        hit(Failpoint::AfterAccept);
        let patience = self.patience(&request);
        let run = Run {
            order_id: request.order_id,
            task_id: task.id,
            token: task.token,
            first: Some(CommittedCall { call, since: task.since }),
            history: RunHistory::passing_over(refusals),
            trace: request.call.trace,
            client: Some(WaitingClient::new(request.call.deadline)),
        };
        match self.engine.start(run).wait(patience).await {
            Some(result) => answer(result?, task.id),
            None => Ok(Confirmation::Queued { task_id: task.id, retry_after: LOOK_AGAIN }),
        }
    }

    /// `PAYMENT_SYNC_WAIT`: no confirm waits longer.
    #[must_use]
    pub fn longest_wait(&self) -> Duration {
        self.engine.policy.sync_wait
    }

    /// How long the client waits: its wish, the policy, and its deadline, whichever is shortest.
    fn patience(&self, request: &ConfirmRequest) -> Duration {
        let left = request.call.deadline.remaining().saturating_sub(ANSWER_EARLY);
        let wish = request.wait.unwrap_or(Duration::MAX);
        self.engine.policy.sync_wait.min(wish).min(left)
    }

    /// Waits for a run that an earlier confirm has begun, so that of two clicks both get the form. What
    /// only waits for its next attempt is waited for by those who asked to wait.
    async fn join(
        &self,
        request: &ConfirmRequest,
        task_id: TaskId,
    ) -> Result<Confirmation, ConfirmError> {
        let patience = if request.respond_async { Duration::ZERO } else { self.patience(request) };
        let end = Instant::now() + patience;
        let waiter = self.engine.watch.register(task_id);
        let task = loop {
            let mut change = std::pin::pin!(waiter.change());
            change.as_mut().enable();
            let view = self.engine.queue.task(task_id, &request.scope).await?;
            let task = view.ok_or(ConfirmError::NotFound)?.task;
            let worth_waiting = match task.state {
                TaskState::Running => true,
                TaskState::Queued => request.wait.is_some(),
                TaskState::Succeeded
                | TaskState::Failed
                | TaskState::Cancelled
                | TaskState::Review => false,
            };
            if !worth_waiting || Instant::now() >= end {
                break task;
            }
            // Either a change, or time to look by ourselves: another instance may run it.
            let _ = timeout_at(end.min(Instant::now() + READ_AGAIN), change).await;
        };
        let (order, scope) = (request.order_id, request.scope.clone());
        let look = move |aggregate: &mut OrderAggregate, context: &DecisionContext| {
            (RunResult::of(aggregate, context), SideWrites::default())
        };
        let own = self.engine.new_task();
        let seen = self.engine.command(order, scope, own, LoadOptions::Aggregate, look).await?;
        let seen = seen.ok_or(ConfirmError::NotFound)?.answer;
        answer(RunResult { task: Some(task), ..seen }, task_id)
    }

    /// Why, when nobody at all can be asked at this moment.
    fn nobody(
        &self,
        refusals: &[PaymentSystemUnavailableError],
    ) -> Option<PaymentSystemUnavailableError> {
        let all = refusals.len() == self.engine.policy.providers.iter().count();
        refusals.first().filter(|_| all).copied()
    }

    /// An outage costs a read and no write. Who has been given a form before is told of it all the same.
    async fn refuse_what_needs_a_call(
        &self,
        request: &ConfirmRequest,
        error: PaymentSystemUnavailableError,
    ) -> Result<(), ConfirmError> {
        let found = self.engine.orders.aggregate(request.order_id, &request.scope).await?;
        match found.ok_or(ConfirmError::NotFound)?.order.status {
            OrderStatus::New | OrderStatus::PaymentFailed => Err(error.into()),
            OrderStatus::Registering
            | OrderStatus::AwaitingPayment
            | OrderStatus::Paid
            | OrderStatus::Cancelled
            | OrderStatus::Refunded => Ok(()),
        }
    }

    /// One transaction: order, task and intent, with the lease in this request's hand.
    async fn accept(
        &self,
        request: &ConfirmRequest,
        task: NewTask,
        refusals: &[PaymentSystemUnavailableError],
    ) -> Result<Accepted, ConfirmError> {
        let load = if request.respond_async || self.nobody(refusals).is_some() {
            LoadOptions::QueueLength { up_to: self.engine.policy.queue_max }
        } else {
            LoadOptions::Aggregate
        };
        let command = ConfirmCommand {
            return_url: request.return_url.clone(),
            form_lifetime: request.form_lifetime,
            respond_async: request.respond_async,
            trace: request.call.trace.as_ref().map(ToString::to_string),
            refusals: refusals.to_vec(),
        };
        let (order, scope) = (request.order_id, request.scope.clone());
        let confirmed = self
            .engine
            .command(order, scope, task, load, move |aggregate, context| {
                (aggregate.confirm(&command, context), SideWrites::default())
            })
            .await?
            .ok_or(ConfirmError::NotFound)?;
        let queued = |task_id| Confirmation::Queued { task_id, retry_after: LOOK_AGAIN };
        Ok(match confirmed.answer {
            ConfirmDecision::Call(call) => {
                if let Some(error) = refusals.first() {
                    narrate::failover(self.engine.events.as_ref(), order, task.id, error, &call);
                }
                Accepted::Call(call)
            }
            ConfirmDecision::Postponed { retry_after } => {
                if let Some(error) = refusals.first() {
                    narrate::queued(self.engine.events.as_ref(), order, task.id, error);
                }
                Accepted::Answer(Confirmation::Queued { task_id: task.id, retry_after })
            }
            ConfirmDecision::Unavailable => {
                return Err(refusals
                    .first()
                    .copied()
                    .map_or(ConfirmError::DeadlineExceeded, Into::into));
            }
            ConfirmDecision::Form(form) => Accepted::Answer(Confirmation::Registered(form)),
            ConfirmDecision::Running(task_id) => Accepted::Running(task_id),
            ConfirmDecision::Queued => {
                self.engine.watch.work_is_due();
                Accepted::Answer(queued(task.id))
            }
            ConfirmDecision::InReview => {
                let reviewed = self.in_review(order).await?;
                let task_id = reviewed.ok_or(ConfirmError::NotConfirmable(confirmed.to))?;
                Accepted::Answer(queued(task_id))
            }
            ConfirmDecision::CancelInProgress => return Err(ConfirmError::CancelInProgress),
            ConfirmDecision::Refused(status) => return Err(ConfirmError::NotConfirmable(status)),
        })
    }

    /// The task by which a person learned of the order.
    async fn in_review(&self, order: OrderId) -> Result<Option<TaskId>, StorageError> {
        let state = Some(TaskState::Review);
        let query = TaskQuery { order: Some(order), state, limit: 1, after: None };
        let found = self.engine.queue.tasks(&query).await?;
        Ok(found.first().map(|task| task.id))
    }
}

enum Accepted {
    Call(ProviderCall),
    /// Somebody else's run.
    Running(TaskId),
    Answer(Confirmation),
}

/// What a client is told of a run that rests.
fn answer(result: RunResult, task_id: TaskId) -> Result<Confirmation, ConfirmError> {
    let queued = |retry_after| Ok(Confirmation::Queued { task_id, retry_after });
    if result.cancel_in_progress {
        return Err(ConfirmError::CancelInProgress);
    }
    let Some(task) = result.task else { return queued(LOOK_AGAIN) };
    match (task.state, task.error) {
        (TaskState::Succeeded, _) => match result.form {
            Some(form) => Ok(Confirmation::Registered(form)),
            // Paid or taken back in the meantime: the task and the order tell.
            None => queued(LOOK_AGAIN),
        },
        (TaskState::Queued, _) => queued(task.run_at.since(result.now)),
        (TaskState::Failed, Some(TaskError::PaymentRejected)) => Err(ConfirmError::Rejected),
        (TaskState::Cancelled, Some(TaskError::DeadlineExceeded)) => {
            Err(ConfirmError::DeadlineExceeded)
        }
        (TaskState::Cancelled, Some(_)) => match result.unavailable {
            Some(error) => Err(error.into()),
            None => queued(LOOK_AGAIN),
        },
        (TaskState::Cancelled, None) => Err(ConfirmError::NotConfirmable(result.status)),
        (TaskState::Running | TaskState::Failed | TaskState::Review, _) => queued(LOOK_AGAIN),
    }
}
