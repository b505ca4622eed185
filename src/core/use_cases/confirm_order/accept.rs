//! Accepting a confirm: order, task and intent in one transaction; or nothing at all in an outage.

use super::refused::RecentRefusals;
use super::request::{ConfirmError, ConfirmRequest, Confirmation};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::order::OrderStatus;
use crate::core::domain::unavailable::PaymentSystemUnavailableError;
use crate::core::engine::command::NewTask;
use crate::core::engine::{Engine, LOOK_AGAIN, narrate};
use crate::core::payment::commands::{ConfirmCommand, ConfirmDecision};
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::task::TaskState;
use crate::core::ports::order_repository::{LoadOptions, SideWrites};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::TaskQuery;

/// How a confirm goes on once it is committed.
pub(super) enum Accepted {
    /// The call to make, with the lease in this request's hand.
    Call(ProviderCall),
    /// Somebody else's run.
    Running(TaskId),
    /// There is nothing to wait for.
    Answer(Confirmation),
}

/// Why, when nobody at all can be asked at this moment.
pub(super) fn nobody(
    engine: &Engine,
    refusals: &[PaymentSystemUnavailableError],
) -> Option<PaymentSystemUnavailableError> {
    let all = refusals.len() == engine.policy.providers.iter().count();
    refusals.first().filter(|_| all).copied()
}

/// An outage costs no write, and a read only now and then. Who has been given a form before is told of it all the
/// same.
pub(super) async fn refuse_what_needs_a_call(
    engine: &Engine,
    refused: &RecentRefusals,
    request: &ConfirmRequest,
    error: PaymentSystemUnavailableError,
) -> Result<(), ConfirmError> {
    if refused.knows(request.order_id, &request.scope) {
        return Err(error.into());
    }
    let found = engine.orders.aggregate(request.order_id, &request.scope).await?;
    let order = found.ok_or(ConfirmError::NotFound)?.order;
    match order.status {
        OrderStatus::New | OrderStatus::PaymentFailed => {
            refused.remember(request.order_id, order.customer_id);
            Err(error.into())
        }
        OrderStatus::Registering
        | OrderStatus::AwaitingPayment
        | OrderStatus::Paid
        | OrderStatus::Cancelled
        | OrderStatus::Refunded => Ok(()),
    }
}

/// One transaction: order, task and intent, with the lease in this request's hand.
pub(super) async fn accept(
    engine: &Engine,
    request: &ConfirmRequest,
    task: NewTask,
    refusals: &[PaymentSystemUnavailableError],
) -> Result<Accepted, ConfirmError> {
    let load = if request.respond_async || nobody(engine, refusals).is_some() {
        LoadOptions::QueueLength { up_to: engine.policy.queue_max }
    } else {
        LoadOptions::Aggregate
    };
    let command = ConfirmCommand {
        return_url: request.return_url.clone(),
        form_lifetime: request.form_lifetime,
        respond_async: request.respond_async,
        trace: request.call.trace.as_ref().map(ToString::to_string),
        refusals: refusals.to_vec(),
    };
    let (order, scope) = (request.order_id, request.scope.clone());
    let confirmed = engine
        .command(order, scope, task, load, move |aggregate, context| {
            (aggregate.confirm(&command, context), SideWrites::default())
        })
        .await?
        .ok_or(ConfirmError::NotFound)?;
    let queued = |task_id| Confirmation::Queued { task_id, retry_after: LOOK_AGAIN };
    Ok(match confirmed.answer {
        ConfirmDecision::Call(call) => {
            if let Some(error) = refusals.first() {
                narrate::failover(engine.events.as_ref(), order, task.id, error, &call);
            }
            Accepted::Call(call)
        }
        ConfirmDecision::Postponed { retry_after } => {
            if let Some(error) = refusals.first() {
                narrate::queued(engine.events.as_ref(), order, task.id, error);
            }
            Accepted::Answer(Confirmation::Queued { task_id: task.id, retry_after })
        }
        ConfirmDecision::Unavailable => {
            return Err(refusals
                .first()
                .copied()
                .map_or(ConfirmError::DeadlineExceeded, Into::into));
        }
        ConfirmDecision::Form(form) => Accepted::Answer(Confirmation::Registered(form)),
        ConfirmDecision::Running(task_id) => Accepted::Running(task_id),
        ConfirmDecision::Queued => {
            engine.watch.work_is_due();
            Accepted::Answer(queued(task.id))
        }
        ConfirmDecision::InReview => {
            let reviewed = in_review(engine, order).await?;
            let task_id = reviewed.ok_or(ConfirmError::NotConfirmable(confirmed.to))?;
            Accepted::Answer(queued(task_id))
        }
        ConfirmDecision::CancelInProgress => return Err(ConfirmError::CancelInProgress),
        ConfirmDecision::Refused(status) => return Err(ConfirmError::NotConfirmable(status)),
    })
}

/// The task by which a person learned of the order.
async fn in_review(engine: &Engine, order: OrderId) -> Result<Option<TaskId>, StorageError> {
    let state = Some(TaskState::Review);
    let query = TaskQuery { order: Some(order), state, limit: 1, after: None };
    let found = engine.queue.tasks(&query).await?;
    Ok(found.first().map(|task| task.id))
}
