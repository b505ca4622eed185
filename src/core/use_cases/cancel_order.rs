//! Cancel an order: at once while nothing can be paid, else after its registration was taken back.

use crate::core::domain::ids::{LeaseToken, OrderId, TaskId};
use crate::core::domain::order::OrderStatus;
use crate::core::engine::run::{Begun, LOOK_AGAIN, Reply, Rested, Run, RunTasks};
use crate::core::payment::effect::{Round, Step};
use crate::core::payment::task::TaskState;
use crate::core::payment::{Asker, Cancelled, OrderAggregate};
use crate::core::ports::call::Call;
use crate::core::ports::events::Event;
use crate::core::ports::order_repository::{
    Also, LoadOptions, Scope, StorageError, TxContext, decide,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug)]
pub struct Cancel {
    pub order_id: OrderId,
    pub scope: Scope,
    pub call: Call,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancellation {
    /// The order is cancelled: read it.
    Done,
    Queued {
        task_id: TaskId,
        retry_after: Duration,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CancelError {
    #[error("no such order")]
    NotFound,
    #[error("an order that is {} cannot be cancelled", .0.as_str())]
    NotCancellable(OrderStatus),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug)]
pub struct CancelOrder {
    pub tasks: Arc<RunTasks>,
}

impl CancelOrder {
    /// Answers through `reply`, and goes on until the call that has begun is stored. Run it detached
    /// from the client.
    #[tracing::instrument(name = "CancelOrder", skip_all, fields(
        order.id = %ask.order_id, order.status, payment.method, fallback.kind,
    ))]
    pub async fn run(&self, ask: Cancel, reply: Reply<Result<Cancellation, CancelError>>) {
        let task_id = TaskId::new(self.tasks.entropy.bits());
        let token = LeaseToken::new(self.tasks.entropy.bits());
        let since = Instant::now();
        let step = match self.accept(&ask, task_id, token).await {
            Ok(Ok(step)) => step,
            Ok(Err(answer)) => {
                self.tasks.watch.work_is_due();
                let _ = reply.send(Ok(answer));
                return;
            }
            Err(fault) => {
                let _ = reply.send(Err(fault));
                return;
            }
        };
        let (order_id, trace) = (ask.order_id, ask.call.trace.clone());
        let first = Some(Begun { step, since });
        let run = Run { order_id, task_id, token, first, trace, client: None };
        let patience = self.tasks.policy.sync_wait.min(ask.call.deadline.remaining());
        let late = Cancellation::Queued { task_id, retry_after: LOOK_AGAIN };
        self.tasks
            .run_and_reply(run, patience, reply, late, |rested| answer(rested, task_id))
            .await;
    }

    /// Either the call to make now, or the answer.
    async fn accept(
        &self,
        ask: &Cancel,
        task_id: TaskId,
        token: LeaseToken,
    ) -> Result<Result<Step, Cancellation>, CancelError> {
        let desk = self.tasks.desk(task_id, token, Round::default());
        let scope = ask.scope.clone();
        let trace = ask.call.trace.as_ref().map(ToString::to_string);
        let decision = move |aggregate: &mut OrderAggregate, scene: &TxContext| {
            if !scope.allows(&aggregate.order.customer_id) {
                return (None, Also::default());
            }
            let turn = desk.turn(scene, true);
            let from = aggregate.order.status;
            let ended = aggregate.visible_task().map(|task| task.id);
            let cancelled =
                aggregate.cancel(&Asker { turn, return_url: None, trace: trace.as_deref() });
            (Some((cancelled, from, aggregate.order.status, ended)), Also::default())
        };
        let (cancelled, from, to, ended) =
            decide(self.tasks.store.as_ref(), ask.order_id, LoadOptions::OrderAggregate, decision)
                .await?
                .flatten()
                .ok_or(CancelError::NotFound)?;
        if from != to {
            self.tasks.events.record(&Event::OrderMoved { from, to });
            if let Some(ended) = ended {
                self.tasks.watch.changed(ended);
            }
        }
        match cancelled {
            Cancelled::Begun(step) => Ok(Ok(step)),
            Cancelled::Done => Ok(Err(Cancellation::Done)),
            Cancelled::Running(task_id) => {
                Ok(Err(Cancellation::Queued { task_id, retry_after: LOOK_AGAIN }))
            }
            Cancelled::Refused(status) => Err(CancelError::NotCancellable(status)),
        }
    }
}

fn answer(rested: Rested, task_id: TaskId) -> Result<Cancellation, CancelError> {
    let Some(task) = rested.task else {
        return Ok(Cancellation::Queued { task_id, retry_after: LOOK_AGAIN });
    };
    match task.state {
        TaskState::Succeeded => Ok(Cancellation::Done),
        TaskState::Failed => Err(CancelError::NotCancellable(rested.status)),
        TaskState::Queued => {
            Ok(Cancellation::Queued { task_id, retry_after: task.run_at.since(rested.now) })
        }
        TaskState::Running | TaskState::Cancelled | TaskState::Review => {
            Ok(Cancellation::Queued { task_id, retry_after: LOOK_AGAIN })
        }
    }
}
