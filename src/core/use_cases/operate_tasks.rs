//! The operator's way out: see tasks, let them run, give them up, answer what only a person can.
//! Everything done by hand is kept in the same transaction, with its reason.

use crate::core::domain::ids::{LeaseToken, OrderId, TaskId};
use crate::core::domain::provider::ProviderNumber;
use crate::core::engine::run::RunTasks;
use crate::core::payment::effect::{Round, Turn};
use crate::core::payment::task::Task;
use crate::core::payment::{OperatorFinding, OperatorRefused, OrderAggregate};
use crate::core::ports::order_repository::{
    Also, AuditEntry, LoadOptions, Scope, StorageError, TaskQuery, TxContext, decide,
};
use std::sync::Arc;

#[derive(Debug)]
pub struct OperateTasks {
    pub tasks: Arc<RunTasks>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    Retry,
    Cancel,
    /// About this number, if the person names one.
    Resolve {
        finding: OperatorFinding,
        number: Option<ProviderNumber>,
        reason: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OperateError {
    #[error("no such task")]
    NotFound,
    #[error(transparent)]
    Refused(#[from] OperatorRefused),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl OperateTasks {
    /// Newest first.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn list(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError> {
        self.tasks.store.tasks(query).await
    }

    /// The order with everything that was ever tried for it: what a person needs to ask a provider.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn show(&self, order: OrderId) -> Result<Option<OrderAggregate>, StorageError> {
        self.tasks.store.aggregate(order, &Scope::Anyone).await
    }

    /// # Errors
    /// No such task, or it is not in a state for this.
    pub async fn run(&self, task_id: TaskId, operation: Operation) -> Result<(), OperateError> {
        let view = self.tasks.store.task(task_id, &Scope::Anyone).await?;
        let order_id = view.ok_or(OperateError::NotFound)?.task.order_id;
        let token = LeaseToken::new(self.tasks.entropy.bits());
        let desk = self.tasks.desk(task_id, token, Round::default());
        let decision = move |aggregate: &mut OrderAggregate, scene: &TxContext| {
            let done = operate(aggregate, task_id, &operation, &desk.turn(scene, false));
            let audit = done.is_ok().then(|| operation.audit(task_id));
            (done, Also { audit, ..Also::default() })
        };
        decide(self.tasks.store.as_ref(), order_id, LoadOptions::OrderAggregate, decision)
            .await?
            .ok_or(OperateError::NotFound)??;
        self.tasks.watch.changed(task_id);
        self.tasks.watch.work_is_due();
        Ok(())
    }
}

fn operate(
    aggregate: &mut OrderAggregate,
    task: TaskId,
    operation: &Operation,
    turn: &Turn<'_>,
) -> Result<(), OperatorRefused> {
    match operation {
        Operation::Retry => aggregate.operator_retry(task, turn),
        Operation::Cancel => aggregate.operator_cancel(task),
        Operation::Resolve { finding, number, .. } => {
            aggregate.operator_resolve(*finding, number.as_ref(), turn)
        }
    }
}

impl Operation {
    fn audit(&self, task_id: TaskId) -> AuditEntry {
        let (action, reason) = match self {
            Self::Retry => ("retry", ""),
            Self::Cancel => ("cancel", ""),
            Self::Resolve { finding: OperatorFinding::Executed, reason, .. } => {
                ("resolve_executed", reason.as_str())
            }
            Self::Resolve { finding: OperatorFinding::NotExecuted, reason, .. } => {
                ("resolve_not_executed", reason.as_str())
            }
        };
        AuditEntry { action: action.to_owned(), task_id: Some(task_id), reason: reason.to_owned() }
    }
}
