//! Confirm an order: make it payable, now if a payment system answers in time, later if not.

mod accept;
mod answer;
mod join;
mod refused;
mod request;

pub use refused::RecentRefusals;
pub use request::{ConfirmError, ConfirmRequest, Confirmation};

use crate::core::engine::failpoint::{Failpoint, hit};
use crate::core::engine::run::Run;
use crate::core::engine::waiting_client::WaitingClient;
use crate::core::engine::{Engine, LOOK_AGAIN, TOO_SHORT};
use crate::core::payment::context::RunHistory;
use accept::{Accepted, accept, nobody, refuse_what_needs_a_call};
use answer::answer;
use join::join;
use std::sync::Arc;
use std::time::Duration;

/// The answer comes this much before the client's deadline, so that it still arrives.
const ANSWER_EARLY: Duration = Duration::from_millis(20);

/// Makes an order payable, at the first payment system that takes it.
#[derive(Debug)]
pub struct ConfirmOrder {
    /// Makes the call and goes on without the client.
    pub engine: Arc<Engine>,
    /// Whom an outage costs no look at the database.
    pub refused: RecentRefusals,
}

impl ConfirmOrder {
    /// Answers as soon as there is something to say; the call that has begun goes on until it is stored.
    ///
    /// # Errors
    /// As [`ConfirmError`] says; only after [`ConfirmError::Rejected`] and a lost commit is anything left
    /// behind.
    #[tracing::instrument(name = "ConfirmOrder", skip_all, fields(
        order.id = %request.order_id, order.status, payment.method, fallback.kind,
    ))]
    pub async fn run(&self, request: ConfirmRequest) -> Result<Confirmation, ConfirmError> {
        if request.call.deadline.remaining() < TOO_SHORT {
            return Err(ConfirmError::DeadlineExceeded);
        }
        let refusals = self.engine.refusals();
        if let Some(error) = nobody(&self.engine, &refusals)
            && !self.engine.policy.queueing
            && !request.respond_async
        {
            refuse_what_needs_a_call(&self.engine, &self.refused, &request, error).await?;
        }
        self.refused.forget(request.order_id);
        let task = self.engine.new_task();
        let call = match accept(&self.engine, &request, task, &refusals).await? {
            Accepted::Call(call) => call,
            Accepted::Answer(answer) => return Ok(answer),
            Accepted::Running(task_id) => {
                return join(&self.engine, &request, task_id, self.patience(&request)).await;
            }
        };
        hit(Failpoint::AfterAccept);
        let patience = self.patience(&request);
        let run = Run {
            history: RunHistory::passing_over(refusals),
            client: Some(WaitingClient::new(request.call.deadline)),
            ..task.run(request.order_id, call, request.call.trace)
        };
        match self.engine.start(run).wait(patience).await {
            Some(result) => answer(result?, task.id),
            None => Ok(Confirmation::Queued { task_id: task.id, retry_after: LOOK_AGAIN }),
        }
    }

    /// `PAYMENT_SYNC_WAIT`: no confirm waits longer.
    #[must_use]
    pub fn longest_wait(&self) -> Duration {
        self.engine.policy.sync_wait
    }

    /// How long the client waits: its wish, the policy, and its deadline, whichever is shortest.
    fn patience(&self, request: &ConfirmRequest) -> Duration {
        if request.respond_async {
            return Duration::ZERO;
        }
        let left = request.call.deadline.remaining().saturating_sub(ANSWER_EARLY);
        let wish = request.wait.unwrap_or(Duration::MAX);
        self.engine.policy.sync_wait.min(wish).min(left)
    }
}
