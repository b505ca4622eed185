//! What a client is told: of a run that rests, of a refund that is known by its row, of a repeat.

use super::request::{RefundError, Refunding};
use crate::core::domain::ids::TaskId;
use crate::core::engine::run::RunResult;
use crate::core::engine::{Engine, LOOK_AGAIN};
use crate::core::payment::refund::RefundState;
use crate::core::payment::task::TaskState;
use crate::core::ports::idempotency::{KeptOutcome, Refusal};
use crate::core::ports::order_repository::Scope;
use crate::core::ports::storage_error::StorageError;
use crate::core::use_cases::idempotency::Answer;

/// The first answer once more: how a refund ended, its task tells.
pub(super) async fn replay(
    engine: &Engine,
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
    let view = engine.queue.task(task_id, scope).await?;
    match view.map(|view| view.task.state) {
        Some(TaskState::Succeeded) => Ok(Answer::Replayed(Refunding::Done)),
        Some(TaskState::Failed) => Err(RefundError::Replayed(Refusal::RefundRejected)),
        Some(TaskState::Queued | TaskState::Running | TaskState::Cancelled | TaskState::Review)
        | None => Ok(Answer::Replayed(Refunding::Queued { task_id, retry_after: LOOK_AGAIN })),
    }
}

/// The answer to a repeat of a request that is forgotten, by what became of its refund.
pub(super) fn known(task_id: TaskId, state: RefundState) -> Result<Answer<Refunding>, RefundError> {
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

/// How the run of a refund rests, for the client that waited.
pub(super) fn answer(result: RunResult, task_id: TaskId) -> Result<Refunding, RefundError> {
    let queued = |retry_after| Ok(Refunding::Queued { task_id, retry_after });
    let Some(task) = result.task else { return queued(LOOK_AGAIN) };
    match task.state {
        TaskState::Succeeded => Ok(Refunding::Done),
        TaskState::Failed => Err(RefundError::Rejected),
        TaskState::Queued => queued(task.run_at.since(result.now)),
        TaskState::Running | TaskState::Cancelled | TaskState::Review => queued(LOOK_AGAIN),
    }
}
