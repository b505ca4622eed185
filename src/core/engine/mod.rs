//! Runs tasks: call, evolve, decide, until nothing is left to do now. The request that made a task and
//! the worker that finds it later run the same code.

pub mod command;
pub mod failpoint;
pub mod gateway;
pub mod handle;
pub mod money_hold;
pub(super) mod narrate;
pub mod run;
mod runner;
pub mod task_waiters;
pub mod waiting_client;

use crate::core::domain::ids::{LeaseToken, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::PaymentSystemUnavailableError;
use crate::core::payment::context::{DecisionContext, RunHistory};
use crate::core::payment::policy::PaymentPolicy;
use crate::core::ports::clock::Entropy;
use crate::core::ports::events::Events;
use crate::core::ports::order_repository::{OrderRepository, TxContext};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::{ClaimRequest, Claimed, TaskQueue};
use gateway::PaymentGateway;
use std::sync::Arc;
use std::time::Duration;
use task_waiters::TaskWaiters;
use tokio_util::task::TaskTracker;

/// With less time left than this a call is not begun.
pub const TOO_SHORT: Duration = Duration::from_millis(150);

/// When a client that got a 202 should look again, if nothing better is known.
pub const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What every run of a task needs.
#[derive(Debug)]
pub struct Engine {
    /// Where orders are decided on.
    pub orders: Arc<dyn OrderRepository>,
    /// Where tasks are leased.
    pub queue: Arc<dyn TaskQueue>,
    /// The way to the payment systems.
    pub gateway: PaymentGateway,
    /// The rules in numbers.
    pub policy: Arc<PaymentPolicy>,
    /// Where ids and luck come from.
    pub entropy: Arc<dyn Entropy>,
    /// Who counts.
    pub events: Arc<dyn Events>,
    /// Who waits for which task.
    pub watch: Arc<TaskWaiters>,
    /// Runs that their clients do not wait for any more; shutdown waits for them.
    pub runs: TaskTracker,
}

impl Engine {
    /// Takes leases on due tasks of one lane, at most `limit`.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn claim(
        &self,
        lane: Option<Provider>,
        limit: usize,
    ) -> Result<Vec<Claimed>, StorageError> {
        let request = ClaimRequest {
            owner: self.policy.instance.clone(),
            token: LeaseToken::new(self.entropy.bits()),
            lease: self.policy.lease,
            lanes: vec![(lane, limit)],
        };
        self.queue.claim(&request).await
    }

    /// The preferred providers that no call would get through to at this moment.
    pub(in crate::core) fn refusals(&self) -> Vec<PaymentSystemUnavailableError> {
        self.gateway.refusals(&self.policy.providers)
    }

    /// All that a decision takes along from this process. What only the transaction knows is filled in
    /// there, by [`enter`].
    pub(super) fn context(
        &self,
        task: TaskId,
        token: LeaseToken,
        history: RunHistory,
    ) -> DecisionContext {
        let draw = u32::try_from(self.entropy.bits() & 0xFFFF_FFFF).unwrap_or(0);
        DecisionContext {
            task,
            token,
            now: Timestamp::default(),
            policy: Arc::clone(&self.policy),
            providers: Arc::clone(self.gateway.promises()),
            history,
            luck: f64::from(draw) / f64::from(u32::MAX),
            id_seed: 0,
            client_waits: false,
            queue_length: None,
        }
    }
}

/// The context within one attempt of a transaction.
fn enter(context: &mut DecisionContext, tx: &TxContext, entropy: &dyn Entropy) {
    context.now = tx.now;
    context.queue_length = tx.waiting;
    context.id_seed = entropy.bits();
}
