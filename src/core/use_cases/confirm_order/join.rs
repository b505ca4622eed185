//! Waiting for a run that an earlier confirm has begun: of two clicks both get the form.

use super::answer::answer;
use super::request::{ConfirmError, ConfirmRequest, Confirmation};
use crate::core::domain::ids::TaskId;
use crate::core::engine::Engine;
use crate::core::engine::run::RunResult;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::task::TaskState;
use crate::core::ports::order_repository::{LoadOptions, SideWrites};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How often a confirm that waits for another's run reads again, for news from other instances.
const READ_AGAIN: Duration = Duration::from_millis(500);

/// Waits for a run that an earlier confirm has begun, so that of two clicks both get the form. What
/// only waits for its next attempt is waited for by those who asked to wait.
pub(super) async fn join(
    engine: &Engine,
    request: &ConfirmRequest,
    task_id: TaskId,
    patience: Duration,
) -> Result<Confirmation, ConfirmError> {
    let end = Instant::now() + patience;
    let waiter = engine.watch.register(task_id);
    let task = loop {
        let mut change = std::pin::pin!(waiter.change());
        change.as_mut().enable();
        let view = engine.queue.task(task_id, &request.scope).await?;
        let task = view.ok_or(ConfirmError::NotFound)?.task;
        let worth_waiting = match task.state {
            TaskState::Running => true,
            TaskState::Queued => request.wait.is_some(),
            TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled | TaskState::Review => {
                false
            }
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
    let own = engine.new_task();
    let seen = engine.command(order, scope, own, LoadOptions::Aggregate, look).await?;
    let seen = seen.ok_or(ConfirmError::NotFound)?.answer;
    answer(RunResult { task: Some(task), ..seen }, task_id)
}
