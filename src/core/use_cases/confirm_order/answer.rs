//! What a client is told of a run that rests.

use super::request::{ConfirmError, Confirmation};
use crate::core::domain::ids::TaskId;
use crate::core::engine::LOOK_AGAIN;
use crate::core::engine::run::RunResult;
use crate::core::payment::task::{TaskError, TaskState};

/// What a client is told of a run that rests.
pub(super) fn answer(result: RunResult, task_id: TaskId) -> Result<Confirmation, ConfirmError> {
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
