//! Confirm an order: make it payable, now if a payment system answers in time, later if not.

use crate::core::domain::ids::{LeaseToken, OrderId, TaskId};
use crate::core::domain::order::OrderStatus;
use crate::core::domain::provider::Provider;
use crate::core::engine::failpoint::{Failpoint, reach};
use crate::core::engine::run::{
    Begun, Client, LOOK_AGAIN, Reply, Rested, Run, RunTasks, TOO_SHORT,
};
use crate::core::payment::effect::{Round, Step};
use crate::core::payment::task::{TaskError, TaskState};
use crate::core::payment::{Asker, Confirmed, OrderAggregate};
use crate::core::ports::call::Call;
use crate::core::ports::events::Event;
use crate::core::ports::order_repository::{
    Also, LoadOptions, Scope, StorageError, TaskQuery, TxContext, decide,
};
use crate::core::ports::payment::PaymentSystemUnavailableError;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug)]
pub struct Confirm {
    pub order_id: OrderId,
    pub scope: Scope,
    /// Validated at the door.
    pub return_url: Option<String>,
    /// `Prefer: wait=n`; never longer than the policy's `sync_wait`.
    pub wait: Option<Duration>,
    /// `Prefer: respond-async`.
    pub respond_async: bool,
    pub call: Call,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmation {
    Registered { provider: Provider, form_url: String },
    Queued { task_id: TaskId, retry_after: Duration },
}

impl Confirmation {
    /// The word of the API.
    #[must_use]
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Registered { .. } => "registered",
            Self::Queued { .. } => "queued",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfirmError {
    #[error("no such order")]
    NotFound,
    #[error("an order that is {} cannot be confirmed", .0.as_str())]
    NotConfirmable(OrderStatus),
    #[error("the payment system refused the order")]
    Rejected,
    #[error(transparent)]
    Unavailable(#[from] PaymentSystemUnavailableError),
    #[error("too little time left to start")]
    DeadlineExceeded,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The answer comes this much before the client's deadline, so that it still arrives.
const ANSWER_EARLY: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct ConfirmOrder {
    pub tasks: Arc<RunTasks>,
}

impl ConfirmOrder {
    /// Answers through `reply` as soon as there is something to say, and goes on until the call that
    /// has begun is stored. Run it detached from the client.
    #[tracing::instrument(name = "ConfirmOrder", skip_all, fields(
        order.id = %ask.order_id, order.status, payment.method, fallback.kind,
    ))]
    pub async fn run(&self, ask: Confirm, reply: Reply<Result<Confirmation, ConfirmError>>) {
        if ask.call.deadline.remaining() < TOO_SHORT {
            let _ = reply.send(Err(ConfirmError::DeadlineExceeded));
            return;
        }
        let task_id = TaskId::new(self.tasks.entropy.bits());
        let token = LeaseToken::new(self.tasks.entropy.bits());
        let since = Instant::now();
        let step = match self.accept(&ask, task_id, token).await {
            Ok(Accepted::Begun(step)) => step,
            Ok(Accepted::Answer(answer)) => {
                let _ = reply.send(Ok(answer));
                return;
            }
            Err(fault) => {
                let _ = reply.send(Err(fault));
                return;
            }
        };
        reach(Failpoint::AfterAccept);
        let client = Client::new(ask.call.deadline);
        let run = Run {
            order_id: ask.order_id,
            task_id,
            token,
            first: Some(Begun { step, since }),
            trace: ask.call.trace.clone(),
            client: Some(client),
        };
        let late = Confirmation::Queued { task_id, retry_after: LOOK_AGAIN };
        let patience = self.patience(&ask);
        self.tasks
            .run_and_reply(run, patience, reply, late, |rested| answer(rested, task_id))
            .await;
    }

    /// How long the client waits: its wish, the policy, and its deadline, whichever is shortest.
    fn patience(&self, ask: &Confirm) -> Duration {
        let left = ask.call.deadline.remaining().saturating_sub(ANSWER_EARLY);
        let wish = ask.wait.unwrap_or(Duration::MAX);
        self.tasks.policy.sync_wait.min(wish).min(left)
    }

    /// One transaction: order, task and intent, with the lease in this request's hand.
    async fn accept(
        &self,
        ask: &Confirm,
        task_id: TaskId,
        token: LeaseToken,
    ) -> Result<Accepted, ConfirmError> {
        let desk = self.tasks.desk(task_id, token, Round::default());
        let reads = if ask.respond_async {
            LoadOptions::QueueLength { up_to: self.tasks.policy.queue_max }
        } else {
            LoadOptions::OrderAggregate
        };
        let (scope, respond_async) = (ask.scope.clone(), ask.respond_async);
        let return_url = ask.return_url.clone();
        let trace = ask.call.trace.as_ref().map(ToString::to_string);
        let decision = move |aggregate: &mut OrderAggregate, scene: &TxContext| {
            if !scope.allows(&aggregate.order.customer_id) {
                return (None, Also::default());
            }
            let turn = desk.turn(scene, true);
            let asker = Asker { turn, return_url: return_url.as_deref(), trace: trace.as_deref() };
            let from = aggregate.order.status;
            let confirmed = aggregate.confirm(&asker, respond_async);
            (Some((confirmed, from, aggregate.order.status)), Also::default())
        };
        let store = self.tasks.store.as_ref();
        let (confirmed, from, to) = decide(store, ask.order_id, reads, decision)
            .await?
            .flatten()
            .ok_or(ConfirmError::NotFound)?;
        if from != to {
            self.tasks.events.record(&Event::OrderMoved { from, to });
        }
        let retry_after = LOOK_AGAIN;
        Ok(match confirmed {
            Confirmed::Begun(step) => Accepted::Begun(step),
            Confirmed::Form { provider, form_url } => {
                Accepted::Answer(Confirmation::Registered { provider, form_url })
            }
            Confirmed::Running(task_id) => {
                Accepted::Answer(Confirmation::Queued { task_id, retry_after })
            }
            Confirmed::Queued => {
                self.tasks.watch.work_is_due();
                Accepted::Answer(Confirmation::Queued { task_id, retry_after })
            }
            Confirmed::InReview => {
                let task_id = self.in_review(ask.order_id).await?;
                let task_id = task_id.ok_or(ConfirmError::NotConfirmable(to))?;
                Accepted::Answer(Confirmation::Queued { task_id, retry_after })
            }
            Confirmed::Refused(status) => return Err(ConfirmError::NotConfirmable(status)),
        })
    }

    /// The task by which a person learned of the order.
    async fn in_review(&self, order: OrderId) -> Result<Option<TaskId>, StorageError> {
        let state = Some(TaskState::Review);
        let query = TaskQuery { order: Some(order), state, limit: 1, after: None };
        let found = self.tasks.store.tasks(&query).await?;
        Ok(found.first().map(|task| task.id))
    }
}

enum Accepted {
    Begun(Step),
    Answer(Confirmation),
}

/// What a client is told of a run that rests.
fn answer(rested: Rested, task_id: TaskId) -> Result<Confirmation, ConfirmError> {
    let queued = |retry_after| Ok(Confirmation::Queued { task_id, retry_after });
    let Some(task) = rested.task else { return queued(LOOK_AGAIN) };
    match (task.state, task.error) {
        (TaskState::Succeeded, _) => match rested.form {
            Some((provider, form_url)) => Ok(Confirmation::Registered { provider, form_url }),
            // Paid or taken back in the meantime: the task and the order tell.
            None => queued(LOOK_AGAIN),
        },
        (TaskState::Queued, _) => queued(task.run_at.since(rested.now)),
        (TaskState::Failed, Some(TaskError::PaymentRejected)) => Err(ConfirmError::Rejected),
        (TaskState::Cancelled, Some(TaskError::DeadlineExceeded)) => {
            Err(ConfirmError::DeadlineExceeded)
        }
        (TaskState::Cancelled, Some(_)) => match rested.unavailable {
            Some(fault) => Err(fault.into()),
            None => queued(LOOK_AGAIN),
        },
        (TaskState::Cancelled, None) => Err(ConfirmError::NotConfirmable(rested.status)),
        (TaskState::Running | TaskState::Failed | TaskState::Review, _) => queued(LOOK_AGAIN),
    }
}
