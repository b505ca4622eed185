//! Refund an order, whole or in part: one refund of an order at a time, and one for each idempotency key.

mod accept;
mod answer;
mod request;

pub use request::{RefundError, RefundRequest, Refunding};

use crate::core::engine::{Engine, LOOK_AGAIN};
use crate::core::use_cases::idempotency::{Answer, Idempotency, KeyUse};
use accept::{Accepted, accept};
use answer::{answer, known, replay};
use std::sync::Arc;

/// Gives money back, once for each key.
#[derive(Debug)]
pub struct RefundOrder {
    /// Makes the calls and goes on without the client.
    pub engine: Arc<Engine>,
    /// Tells a repeat from a new refund.
    pub idempotency: Arc<Idempotency>,
}

impl RefundOrder {
    /// Answers as soon as there is something to say; the call that has begun goes on until it is stored.
    ///
    /// # Errors
    /// As [`RefundError`] says; nothing is given back then.
    #[tracing::instrument(name = "RefundOrder", skip_all, fields(
        order.id = %request.order_id, order.status, payment.method, fallback.kind,
    ))]
    pub async fn run(&self, request: RefundRequest) -> Result<Answer<Refunding>, RefundError> {
        let idempotent = request.idempotency.clone();
        let scope = request.scope.clone();
        let _in_flight = match self.idempotency.begin(&idempotent).await? {
            KeyUse::First(in_flight) => in_flight,
            KeyUse::Repeat(outcome) => return replay(&self.engine, outcome, &scope).await,
        };
        let answer = self.refund(request).await;
        match &answer {
            Ok(Answer::Replayed(_)) | Err(RefundError::Replayed(_)) => {
                self.idempotency.replayed();
                return answer;
            }
            Ok(Answer::First(_)) => {
                self.idempotency.served();
                return answer;
            }
            Err(error) if error.is_final() => {
                self.idempotency.served();
                return answer;
            }
            Err(_) => {}
        }
        // Another instance may have been quicker with the same key.
        match self.idempotency.look(&idempotent).await? {
            Some(outcome) => replay(&self.engine, outcome, &scope).await,
            None => answer,
        }
    }

    async fn refund(&self, request: RefundRequest) -> Result<Answer<Refunding>, RefundError> {
        let task = self.engine.new_task();
        let (order_id, call) = (request.order_id, request.call.clone());
        let first = match accept(&self.engine, request, task).await? {
            Accepted::Call(call) => call,
            Accepted::Known { task, state } => return known(task, state),
            Accepted::KeyReused => return Err(self.idempotency.reused().into()),
        };
        let patience = self.engine.policy.sync_wait.min(call.deadline.remaining());
        let run = task.run(order_id, first, call.trace);
        match self.engine.start(run).wait(patience).await {
            Some(result) => answer(result?, task.id).map(Answer::First),
            None => {
                let (task_id, retry_after) = (task.id, LOOK_AGAIN);
                Ok(Answer::First(Refunding::Queued { task_id, retry_after }))
            }
        }
    }
}
