//! The operator's way out: see tasks, let them run, give them up, answer what only a person can.
//! Everything done by hand is kept in the same transaction, with its reason.

use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::provider::ProviderNumber;
use crate::core::engine::Engine;
use crate::core::engine::command::NewTask;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::operator::{OperatorFinding, OperatorRefused};
use crate::core::payment::task::{Task, TaskState};
use crate::core::ports::order_repository::{AuditEntry, LoadOptions, Scope, SideWrites};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::TaskQuery;
use std::sync::Arc;

/// What a person may do to a task. Committed together with an audit entry, or not at all.
#[derive(Debug)]
pub struct OperateTasks {
    /// Carries on what was released.
    pub engine: Arc<Engine>,
}

/// What is done to a task by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Runs now what waits, and releases what waits for a person.
    Retry,
    /// Takes it out of the queue, if nothing of it can have been executed.
    Cancel,
    /// About this number, if the person names one.
    Resolve {
        /// What the person has found out at the provider.
        finding: OperatorFinding,
        /// Which registration the person has looked at.
        number: Option<ProviderNumber>,
    },
}

/// Who does something by hand, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// What is done.
    pub operation: Operation,
    /// The name of the operator's token.
    pub by: String,
    /// Empty where none was asked for.
    pub reason: String,
}

/// Why nothing was done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperateError {
    /// No task has this id.
    #[error("no such task")]
    NotFound,
    /// The task is not in a state for it.
    #[error(transparent)]
    Refused(#[from] OperatorRefused),
    /// Whether it was done is not known where a commit got no answer: read the task.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl OperateTasks {
    /// Newest first.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn list(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError> {
        self.engine.queue.tasks(query).await
    }

    /// The order with everything that was ever tried for it: what a person needs to ask a provider.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn show(&self, order: OrderId) -> Result<Option<OrderAggregate>, StorageError> {
        self.engine.orders.aggregate(order, &Scope::Anyone).await
    }

    /// # Errors
    /// No such task, or it is not in a state for this.
    pub async fn run(&self, task_id: TaskId, deed: Deed) -> Result<(), OperateError> {
        let view = self.engine.queue.task(task_id, &Scope::Anyone).await?;
        let looked_at = view.ok_or(OperateError::NotFound)?.task;
        let (order_id, in_review) = (looked_at.order_id, looked_at.state == TaskState::Review);
        let task = NewTask { id: task_id, ..self.engine.new_task() };
        let commanded = self
            .engine
            .command(
                order_id,
                Scope::Anyone,
                task,
                LoadOptions::Aggregate,
                move |order, context| {
                    let done = operate(order, &deed.operation, in_review, context);
                    let audit = done.is_ok().then(|| deed.audit(context.task, in_review));
                    (done, SideWrites { audit, ..SideWrites::default() })
                },
            )
            .await?
            .ok_or(OperateError::NotFound)?;
        commanded.answer?;
        self.engine.watch.changed(task_id);
        self.engine.watch.work_is_due();
        Ok(())
    }
}

fn operate(
    aggregate: &mut OrderAggregate,
    operation: &Operation,
    in_review: bool,
    context: &DecisionContext,
) -> Result<(), OperatorRefused> {
    match operation {
        Operation::Retry => aggregate.retry_task(context),
        Operation::Cancel => aggregate.cancel_task(context),
        Operation::Resolve { finding, number, .. } => {
            aggregate.resolve_task(*finding, number.as_ref(), in_review, context)
        }
    }
}

impl Operation {
    /// The word for it in the audit.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Resolve { finding: OperatorFinding::Executed, .. } => "resolve_executed",
            Self::Resolve { finding: OperatorFinding::NotExecuted, .. } => "resolve_not_executed",
            Self::Resolve { finding: OperatorFinding::Settled, .. } => "resolve_settled",
        }
    }
}

impl Deed {
    fn audit(&self, task_id: TaskId, in_review: bool) -> AuditEntry {
        AuditEntry {
            action: self.operation.as_str().to_owned(),
            task_id: Some(task_id),
            reason: self.reason.clone(),
            by: self.by.clone(),
            settles: in_review && matches!(self.operation, Operation::Resolve { .. }),
        }
    }
}
