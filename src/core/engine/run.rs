//! Run a task: call, learn, decide, until it rests. The request that made a task and the worker that
//! finds it later run this same code.

use crate::core::domain::ids::{LeaseToken, OrderId, TaskId};
use crate::core::domain::order::OrderStatus;
use crate::core::domain::provider::Provider;
use crate::core::domain::unavailable::{Shed, System};
use crate::core::engine::failpoint::{Failpoint, reach};
use crate::core::engine::gateway::{PaymentGateway, Performed};
use crate::core::engine::narrate;
use crate::core::engine::task_watch::TaskWatch;
use crate::core::payment::OrderAggregate;
use crate::core::payment::effect::{Action, Next, Note, Outcome, Round, Step, Turn, Wait};
use crate::core::payment::policy::PaymentPolicy;
use crate::core::payment::task::{Reason, Task};
use crate::core::ports::clock::Entropy;
use crate::core::ports::deadline::Deadline;
use crate::core::ports::events::Events;
use crate::core::ports::order_repository::{
    Also, ClaimRequest, Claimed, LoadOptions, OrderStore, StorageError, TxContext, decide,
};
use crate::core::ports::payment::PaymentSystemUnavailableError;
use crate::core::ports::trace::TraceParent;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

/// With less time left than this a call is not begun.
pub const TOO_SHORT: Duration = Duration::from_millis(150);

/// When a client that got a 202 should look again, if nothing better is known.
pub(in crate::core) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Where the answer goes; the work may go on after it was given.
pub type Reply<T> = oneshot::Sender<T>;

/// The first pause before a result that could not be stored is stored again.
const STORE_AGAIN: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct RunTasks {
    pub store: Arc<dyn OrderStore>,
    pub router: PaymentGateway,
    pub policy: Arc<PaymentPolicy>,
    pub entropy: Arc<dyn Entropy>,
    pub events: Arc<dyn Events>,
    pub watch: Arc<TaskWatch>,
}

/// One run of a task by whoever holds its lease.
#[derive(Debug)]
pub struct Run {
    pub order_id: OrderId,
    pub task_id: TaskId,
    pub token: LeaseToken,
    /// The call that was committed together with the task.
    pub first: Option<Begun>,
    pub trace: Option<TraceParent>,
    /// The client that waits for this run.
    pub client: Option<Client>,
}

/// A step that is committed, and when its decision was asked for: no later than its lease began.
#[derive(Debug, Clone)]
pub struct Begun {
    pub step: Step,
    pub since: Instant,
}

/// A client that waits: until it has an answer, a registration that nobody executed can be undone.
#[derive(Debug, Clone)]
pub struct Client {
    pub deadline: Deadline,
    pub answered: Arc<AtomicBool>,
}

impl Client {
    #[must_use]
    pub fn new(deadline: Deadline) -> Self {
        Self { deadline, answered: Arc::new(AtomicBool::new(false)) }
    }

    fn waits(&self) -> bool {
        !self.answered.load(Ordering::Acquire)
    }
}

/// How things stand when a run rests.
#[derive(Debug, Clone)]
pub struct Rested {
    /// As committed; `None` when the lease was lost.
    pub task: Option<Task>,
    pub status: OrderStatus,
    pub form: Option<(Provider, String)>,
    /// The first fault for which nothing was executed.
    pub unavailable: Option<PaymentSystemUnavailableError>,
    /// The database's time of the last decision.
    pub now: crate::core::domain::timestamp::Timestamp,
}

/// What one decision brought.
#[derive(Debug, Clone)]
pub(in crate::core) struct Decided {
    pub next: Next,
    pub notes: Vec<Note>,
    pub from: OrderStatus,
    pub rested: Rested,
}

impl RunTasks {
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
        self.store.claim(&request).await
    }

    /// Runs a claimed task until it rests.
    ///
    /// # Errors
    /// What was learned could not be stored before the lease ended; the resolver finds out.
    pub async fn run_claimed(&self, claimed: Claimed) -> Result<Rested, StorageError> {
        reach(Failpoint::AfterClaim);
        let trace = claimed.trace.as_deref().and_then(TraceParent::parse);
        let (order_id, task_id, token) = (claimed.order_id, claimed.task_id, claimed.token);
        self.run(Run { order_id, task_id, token, first: None, trace, client: None }).await
    }

    /// Runs a task until it rests.
    ///
    /// # Errors
    /// What was learned could not be stored before the lease ended; the resolver finds out.
    pub async fn run(&self, run: Run) -> Result<Rested, StorageError> {
        let mut round = Round::default();
        let mut unavailable = None;
        let mut step = run.first.clone();
        loop {
            if let Some(Begun { step, since }) = step.take() {
                let performed = self.perform(&run, &step, since).await;
                reach(Failpoint::BeforeT2);
                if let Some(fault) = performed.unavailable {
                    unavailable.get_or_insert(fault);
                    narrate::not_executed(self.events.as_ref(), &run, &fault);
                }
                narrate::outcome(self.events.as_ref(), &step, &performed.outcome);
                round.note(step, performed.outcome);
            }
            let (mut decided, since) = self.decide_until_stored(&run, &round).await?;
            decided.rested.unavailable = unavailable;
            narrate::decided(self.events.as_ref(), &run, &decided);
            self.watch.changed(run.task_id);
            match decided.next {
                Next::Call(next) => {
                    reach(Failpoint::AfterT1);
                    step = Some(Begun { step: next, since });
                }
                Next::Rest | Next::LeaseLost => {
                    reach(Failpoint::AfterT2);
                    self.watch.work_is_due();
                    return Ok(decided.rested);
                }
            }
        }
    }

    /// Runs a task for a client that waits at most `patience`: it is answered when the run rests, or
    /// with `late`; the run goes on to its end either way.
    pub(in crate::core) async fn run_and_reply<A, E: From<StorageError>>(
        &self,
        run: Run,
        patience: Duration,
        reply: Reply<Result<A, E>>,
        late: A,
        answer: impl FnOnce(Rested) -> Result<A, E>,
    ) {
        let (order_id, task_id, client) = (run.order_id, run.task_id, run.client.clone());
        let mut work = std::pin::pin!(self.run(run));
        if let Ok(rested) = timeout(patience, &mut work).await {
            reach(Failpoint::BeforeResponse);
            // A receiver that is gone is a client that hung up.
            let _ = reply.send(rested.map_err(E::from).and_then(answer));
            return;
        }
        if let Some(client) = client {
            client.answered.store(true, Ordering::Release);
        }
        let _ = reply.send(Ok(late));
        if let Err(fault) = work.await {
            tracing::error!(%order_id, %task_id, %fault,
                "a result could not be stored; the resolver finds it out");
        }
    }

    async fn perform(&self, run: &Run, step: &Step, since: Instant) -> Performed {
        let registers = matches!(step.action, Action::Register { .. });
        let hurried = run
            .client
            .as_ref()
            .is_some_and(|client| client.waits() && client.deadline.remaining() < TOO_SHORT);
        if registers && hurried {
            return too_late(step, true);
        }
        // The lease outlasts a call by a quarter. A process that slept between commit and call could
        // call when somebody else has long decided anew: a question does no harm, a change might.
        if step.action != Action::Query && since.elapsed() > self.policy.lease / 4 {
            return too_late(step, false);
        }
        self.router.perform(step, run.trace.clone(), run.first.is_none()).await
    }

    /// A result is never thrown away because the database is away for a moment, and the call is never
    /// made again for that: it is stored until the lease ends.
    async fn decide_until_stored(
        &self,
        run: &Run,
        round: &Round,
    ) -> Result<(Decided, Instant), StorageError> {
        let lease_ends = Instant::now() + self.policy.lease;
        let mut pause = STORE_AGAIN;
        loop {
            let since = Instant::now();
            match self.decide(run, round).await {
                Err(StorageError::Unavailable) if Instant::now() + pause < lease_ends => {
                    sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(2));
                }
                Err(fault) => return Err(fault),
                Ok(decided) => return Ok((decided, since)),
            }
        }
    }

    async fn decide(&self, run: &Run, round: &Round) -> Result<Decided, StorageError> {
        let desk = self.desk(run.task_id, run.token, round.clone());
        let client = run.client.clone();
        let reads = if client.is_some() && !round.skipped.is_empty() {
            LoadOptions::QueueLength { up_to: self.policy.queue_max }
        } else {
            LoadOptions::OrderAggregate
        };
        let decision = move |aggregate: &mut OrderAggregate, scene: &TxContext| {
            let unanswered = client.as_ref().is_some_and(Client::waits);
            let from = aggregate.order.status;
            let turn = desk.turn(scene, unanswered);
            let (next, notes) = aggregate.advance(&turn);
            let rested = Rested::of(aggregate, &turn);
            (Decided { next, notes, from, rested }, Also::default())
        };
        decide(self.store.as_ref(), run.order_id, reads, decision)
            .await?
            .ok_or(StorageError::Corrupt("a task without an order"))
    }

    /// All that a decision takes along from this process.
    pub(in crate::core) fn desk(&self, task: TaskId, token: LeaseToken, round: Round) -> Desk {
        let draw = u32::try_from(self.entropy.bits() & 0xFFFF_FFFF).unwrap_or(0);
        Desk {
            task,
            token,
            round,
            policy: Arc::clone(&self.policy),
            repeat_safe: self.router.repeat_safe().to_vec(),
            call_limit: self.router.call_limit(),
            luck: f64::from(draw) / f64::from(u32::MAX),
            entropy: Arc::clone(&self.entropy),
        }
    }
}

/// What a decision takes into the transaction, so that it can run there as often as needed.
#[derive(Debug, Clone)]
pub(in crate::core) struct Desk {
    task: TaskId,
    token: LeaseToken,
    round: Round,
    policy: Arc<PaymentPolicy>,
    repeat_safe: Vec<Provider>,
    call_limit: Duration,
    luck: f64,
    entropy: Arc<dyn Entropy>,
}

impl Desk {
    pub fn turn(&self, scene: &TxContext, unanswered: bool) -> Turn<'_> {
        Turn {
            task: self.task,
            token: self.token,
            now: scene.now,
            policy: &self.policy,
            round: &self.round,
            repeat_safe: &self.repeat_safe,
            call_limit: self.call_limit,
            luck: self.luck,
            // New for each run of the decision: what an earlier run's commit made of them may be over.
            spare: [TaskId::new(self.entropy.bits()), TaskId::new(self.entropy.bits())],
            unanswered,
            waiting: scene.waiting,
        }
    }
}

impl Rested {
    fn of(aggregate: &OrderAggregate, turn: &Turn<'_>) -> Self {
        let open = aggregate.open_registration();
        let form = open.and_then(|open| Some((open.provider, open.open_form()?.to_owned())));
        Self {
            task: aggregate.tasks.iter().find(|task| task.id == turn.task).cloned(),
            status: aggregate.order.status,
            form,
            unavailable: None,
            now: turn.now,
        }
    }
}

/// Certainly not executed: it was not even begun. `answer` when it is the client's time that is over.
fn too_late(step: &Step, answer: bool) -> Performed {
    let wait = Wait { reason: Reason::Retry, retry_after: None, too_late: answer };
    let (system, cause) = (system_of(step.provider), Shed::DeadlineTooShort.into());
    let fault = PaymentSystemUnavailableError { system, cause, retry_after: None };
    Performed { outcome: Outcome::NotExecuted(wait), unavailable: Some(fault) }
}

pub(in crate::core) const fn system_of(provider: Provider) -> System {
    match provider {
        Provider::Sber => System::Sber,
        Provider::OdnaKassa => System::OdnaKassa,
    }
}
