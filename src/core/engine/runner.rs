//! One run of a task by whoever holds its lease: call, evolve, decide, until it rests.

use super::failpoint::{Failpoint, hit};
use super::run::{CommittedCall, Decided, Run, RunResult};
use super::waiting_client::WaitingClient;
use super::{Engine, enter, narrate};
use crate::core::domain::unavailable::{PaymentSystemUnavailableError, Shed};
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::RunHistory;
use crate::core::payment::decision::Next;
use crate::core::payment::effect::{CompletedCall, ProviderCall};
use crate::core::payment::task::TaskKind;
use crate::core::ports::order_repository::{LoadOptions, SideWrites, TxContext, decide};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::Claimed;
use crate::core::ports::trace::TraceParent;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The first pause before a result that could not be stored is stored again.
const STORE_AGAIN: Duration = Duration::from_millis(50);
const STORE_AGAIN_MAX: Duration = Duration::from_secs(2);

impl Engine {
    /// Runs a claimed task until it rests.
    ///
    /// # Errors
    /// What was learned could not be stored before the lease ended; the resolver finds out.
    pub async fn run_claimed(&self, claimed: Claimed) -> Result<RunResult, StorageError> {
        hit(Failpoint::AfterClaim);
        let trace = claimed.trace.as_deref().and_then(TraceParent::parse);
        let (order_id, task_id, token) = (claimed.order_id, claimed.task_id, claimed.token);
        let history = match claimed.kind {
            TaskKind::RegisterPayment => RunHistory::passing_over(self.refusals()),
            TaskKind::CancelPayment | TaskKind::RefundPayment | TaskKind::SyncPayment => {
                RunHistory::default()
            }
        };
        self.run(Run { order_id, task_id, token, first: None, history, trace, client: None }).await
    }

    /// Runs a task until it rests.
    ///
    /// # Errors
    /// What was learned could not be stored before the lease ended; the resolver finds out.
    pub async fn run(&self, run: Run) -> Result<RunResult, StorageError> {
        let mut history = run.history.clone();
        let mut committed = run.first.clone();
        loop {
            if let Some(CommittedCall { call, since }) = committed.take() {
                let completed = self.perform(&run, call, since).await;
                hit(Failpoint::BeforeT2);
                narrate::completed(self.events.as_ref(), &run, &completed);
                history.push(completed);
            }
            let (decided, since) = match self.decide_until_stored(&run, &history).await {
                // What was told was about somebody else's: as good as no answer.
                Err(StorageError::ForeignExternalId) => {
                    narrate::foreign_id(&run, &history);
                    history.doubt_last();
                    self.decide_until_stored(&run, &history).await?
                }
                decided => decided?,
            };
            narrate::decided(self.events.as_ref(), &run, &decided);
            self.watch.changed(run.task_id);
            match decided.decision.next {
                Next::Call(call) => {
                    hit(Failpoint::AfterT1);
                    committed = Some(CommittedCall { call, since });
                }
                Next::Rest | Next::LeaseLost => {
                    hit(Failpoint::AfterT2);
                    return Ok(decided.result);
                }
            }
        }
    }

    async fn perform(&self, run: &Run, call: ProviderCall, since: Instant) -> CompletedCall {
        let system = call.target.provider.into();
        let refused = |call: ProviderCall, by: Shed| {
            let cause = by.into();
            call.not_executed(PaymentSystemUnavailableError { system, cause, retry_after: None })
        };
        if call.registers() && run.client.as_ref().is_some_and(WaitingClient::is_hurried) {
            return refused(call, Shed::DeadlineTooShort);
        }
        // The lease outlasts a call by a quarter. A process that slept between commit and call could
        // call when somebody else has long decided anew: a question does no harm, a change might.
        if !call.only_asks() && since.elapsed() > self.policy.lease / 4 {
            return refused(call, Shed::LeaseTooShort);
        }
        self.gateway.call(call, run.trace.clone(), run.first.is_none()).await
    }

    /// A result is never thrown away because the database is away for a moment, and the call is never
    /// made again for that: it is stored until the lease ends.
    async fn decide_until_stored(
        &self,
        run: &Run,
        history: &RunHistory,
    ) -> Result<(Decided, Instant), StorageError> {
        let lease_ends = Instant::now() + self.policy.lease;
        let mut pause = STORE_AGAIN;
        loop {
            let since = Instant::now();
            match self.decide(run, history).await {
                Err(StorageError::Unavailable) if Instant::now() + pause < lease_ends => {
                    sleep(pause).await;
                    pause = (pause * 2).min(STORE_AGAIN_MAX);
                }
                Err(error) => return Err(error),
                Ok(decided) => return Ok((decided, since)),
            }
        }
    }

    async fn decide(&self, run: &Run, history: &RunHistory) -> Result<Decided, StorageError> {
        let mut context = self.context(run.task_id, run.token, history.clone());
        let (client, entropy) = (run.client.clone(), Arc::clone(&self.entropy));
        let load = if client.is_some() && history.nobody_executed() {
            LoadOptions::QueueLength { up_to: self.policy.queue_max }
        } else {
            LoadOptions::Aggregate
        };
        let in_transaction = move |aggregate: &mut OrderAggregate, tx: &TxContext| {
            enter(&mut context, tx, entropy.as_ref());
            context.client_waits = client.as_ref().is_some_and(WaitingClient::waits);
            let from = aggregate.order.status;
            let decision = aggregate.decide(&context);
            let result = RunResult::of(aggregate, &context);
            (Decided { decision, from, result }, SideWrites::default())
        };
        decide(self.orders.as_ref(), run.order_id, load, in_transaction)
            .await?
            .ok_or(StorageError::Corrupt("a task without an order"))
    }
}
