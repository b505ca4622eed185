//! Show a task, waiting for its end as long as the client likes to.

use crate::core::domain::ids::TaskId;
use crate::core::engine::task_watch::TaskWatch;
use crate::core::ports::order_repository::Scope;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::{TaskQueue, TaskView};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How often a waiting poll reads again, for news from other instances.
const READ_AGAIN: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct PollTask {
    pub queue: Arc<dyn TaskQueue>,
    pub watch: Arc<TaskWatch>,
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
        let place = self.watch.register(id);
        loop {
            let mut change = std::pin::pin!(place.change());
            change.as_mut().enable();
            let view = self.queue.task(id, scope).await?;
            let over = view.as_ref().is_none_or(|view| view.task.state.is_final());
            if over || Instant::now() >= end {
                return Ok(view);
            }
            // Either a change, or time to look by ourselves: both mean to read again.
            let _ = timeout_at(end.min(Instant::now() + READ_AGAIN), change).await;
        }
    }
}
