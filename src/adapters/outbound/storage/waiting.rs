//! Which tasks count into the length of the queue (`TASK_QUEUE_MAX`).

use crate::core::payment::OrderAggregate;
use crate::core::payment::task::{Reason, Task, TaskKind, TaskState};

/// How many of an order's own tasks count into the length of the queue.
pub(super) fn waiting_of(aggregate: &OrderAggregate) -> u64 {
    aggregate.tasks.iter().filter(|task| is_waiting(task)).count() as u64
}

/// Whether it counts into the length of the queue. What waited keeps its place while a worker tries
/// it: it comes back when the partner still does not answer.
pub(super) fn is_waiting(task: &Task) -> bool {
    let waits = match task.state {
        TaskState::Queued => true,
        TaskState::Running => task.reason.is_some(),
        TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled | TaskState::Review => {
            false
        }
    };
    waits && task.kind == TaskKind::RegisterPayment && task.reason != Some(Reason::OutcomeUnknown)
}
