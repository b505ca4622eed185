//! What a run of a task is: what it begins with, how things stand after each of its decisions, how it rests.

use super::waiting_client::WaitingClient;
use crate::core::domain::ids::{LeaseToken, OrderId, TaskId};
use crate::core::domain::order::OrderStatus;
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::PaymentSystemUnavailableError;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::{DecisionContext, RunHistory};
use crate::core::payment::decision::Decision;
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::registration::OpenForm;
use crate::core::payment::task::Task;
use crate::core::ports::trace::TraceParent;
use tokio::time::Instant;

/// What a run begins with.
#[derive(Debug)]
pub struct Run {
    /// Whose order.
    pub order_id: OrderId,
    /// Which task.
    pub task_id: TaskId,
    /// The lease.
    pub token: LeaseToken,
    /// The call that was committed together with the task.
    pub first: Option<CommittedCall>,
    /// What is known before the first call.
    pub history: RunHistory,
    /// What the calls are traced under.
    pub trace: Option<TraceParent>,
    /// The client that waits for this run.
    pub client: Option<WaitingClient>,
}

/// A call whose intent is committed, and when its decision was asked for: no later than its lease began.
#[derive(Debug, Clone)]
pub struct CommittedCall {
    /// What is called.
    pub call: ProviderCall,
    /// When its decision was asked for.
    pub since: Instant,
}

/// How things stand after a decision; at the end of a run, how it rests.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// As committed; `None` when the lease was lost.
    pub task: Option<Task>,
    /// The order's status.
    pub status: OrderStatus,
    /// The form that waits for its payer.
    pub form: Option<OpenForm>,
    /// A cancel was accepted, and the order does not show yet what came of it.
    pub cancel_in_progress: bool,
    /// The first call of the run that was certainly not executed.
    pub unavailable: Option<PaymentSystemUnavailableError>,
    /// The database's time of the last decision.
    pub now: Timestamp,
}

/// A decision that is committed.
#[derive(Debug, Clone)]
pub(super) struct Decided {
    pub decision: Decision,
    pub from: OrderStatus,
    pub result: RunResult,
}

impl RunResult {
    pub(in crate::core) fn of(aggregate: &OrderAggregate, context: &DecisionContext) -> Self {
        let open = aggregate.open_registration();
        Self {
            task: aggregate.tasks.iter().find(|task| task.id == context.task).cloned(),
            status: aggregate.order.status,
            form: open.and_then(OpenForm::of),
            cancel_in_progress: aggregate.cancel_in_progress(),
            unavailable: context.history.unavailable,
            now: context.now,
        }
    }
}
