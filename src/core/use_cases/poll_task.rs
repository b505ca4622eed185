//! Show a task, waiting for its end as long as the client likes to. Who waits for an outcome that nobody knows
//! has the payment system asked sooner.

use crate::core::domain::ids::TaskId;
use crate::core::engine::Engine;
use crate::core::payment::OrderAggregate;
use crate::core::payment::task::{Reason, Task};
use crate::core::ports::order_repository::{LoadOptions, Scope, SideWrites, TxContext, decide};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::TaskView;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How often a waiting poll reads again, for news from other instances.
const READ_AGAIN: Duration = Duration::from_millis(500);

/// Shows a task, as soon as it changes or when the wait is over.
#[derive(Debug)]
pub struct PollTask {
    /// Tells of changes in this process; those of others show when the row is read again.
    pub engine: Arc<Engine>,
}

impl PollTask {
    /// The task as soon as it is final, or as it is when `wait` is over. `None` when there is no such
    /// task in the scope.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn run(
        &self,
        id: TaskId,
        scope: &Scope,
        wait: Duration,
    ) -> Result<Option<TaskView>, StorageError> {
        let end = Instant::now() + wait;
        let waiter = self.engine.watch.register(id);
        let mut hastened = wait.is_zero();
        loop {
            let mut change = std::pin::pin!(waiter.change());
            change.as_mut().enable();
            let view = self.engine.queue.task(id, scope).await?;
            let over = view.as_ref().is_none_or(|view| view.task.state.is_final());
            if over || Instant::now() >= end {
                return Ok(view);
            }
            if let Some(view) = view.filter(|_| !hastened) {
                hastened = self.hasten(&view.task).await?;
            }
            // Either a change, or time to look by ourselves: both mean to read again.
            let _ = timeout_at(end.min(Instant::now() + READ_AGAIN), change).await;
        }
    }

    /// Brings the next question forward, once in a poll, and only where a call would get through: what the
    /// guards hold back is theirs to let go.
    async fn hasten(&self, task: &Task) -> Result<bool, StorageError> {
        let free = |provider| self.engine.gateway.capacity(provider).free > 0;
        if task.reason != Some(Reason::OutcomeUnknown)
            || !task.lane.is_some_and(free)
            || !OrderAggregate::may_hasten(task, self.engine.orders.now().await?)
        {
            return Ok(false);
        }
        let id = task.id;
        let decision = move |aggregate: &mut OrderAggregate, tx: &TxContext| {
            (aggregate.hasten(id, tx.now), SideWrites::default())
        };
        let orders = self.engine.orders.as_ref();
        let hastened = decide(orders, task.order_id, LoadOptions::Aggregate, decision).await?;
        if hastened == Some(true) {
            self.engine.watch.work_is_due();
        }
        Ok(hastened == Some(true))
    }
}
