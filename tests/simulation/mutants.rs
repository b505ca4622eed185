//! Known bugs, planted around the core by wrapping its ports and settings: the simulation has to find
//! each of them, or it proves nothing.

use super::port::SimPort;
use super::world::World;
use order_service::core::domain::dossier::Dossier;
use order_service::core::domain::ids::{OrderId, TaskId};
use order_service::core::domain::money::Money;
use order_service::core::domain::order::{Order, OrderStatus};
use order_service::core::domain::policy::PaymentPolicy;
use order_service::core::domain::registration::{
    Ending, Provider, ProviderNumber, RegistrationState,
};
use order_service::core::domain::task::{TaskKind, TaskState};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::ports::call::Call;
use order_service::core::ports::orders::{
    Also, ClaimRequest, Claimed, Decide, KeyedOrder, OrderStore, Placed, Reads, Scene, Scope,
    StorageError, TaskQuery, TaskView,
};
use order_service::core::ports::payment::{
    Callback, CallbackError, Capacity, Finding, PaymentError, PaymentPort, PaymentRef,
    PaymentReport, PaymentSystemUnavailableError, RawCallback, RefundOrder, RegisterOrder,
    Registered, ReportedStatus,
};
use order_service::core::ports::unavailable::{Cause, System};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A timeout is taken for a refused connection, and the next provider is tried.
    FailoverAfterTimeout,
    /// The same number goes again before the first request can have been lost.
    ResendBeforeGrace,
    /// "No such order" is taken for the end of it, and a new number goes out.
    NotFoundIsDead,
    /// Every attempt gets a number of its own.
    FreshNumberEachTime,
    /// A callback is believed instead of followed up.
    CallbackBelieved,
    /// A decline is taken as evidence.
    DeclineBelieved,
    /// The partner's amount is not compared with ours.
    AmountNotCompared,
    /// A task's answer is derived from the order as it is now.
    FinalAnswerDerived,
    /// An answer is given before its commit is done.
    CommitNotAwaited,
    /// A confirm does not look whether another one is under way.
    ConfirmTwice,
    /// Registrations are not polled, callbacks will tell.
    PollForgotten,
    /// A refund of unknown outcome is sent again without a look.
    RefundRepeated,
    /// Claims do not look at leases.
    LeaseIgnored,
    /// The queue's limit is not looked at.
    QueueUnbounded,
}

impl Mutant {
    pub const ALL: [Self; 14] = [
        Self::FailoverAfterTimeout,
        Self::ResendBeforeGrace,
        Self::NotFoundIsDead,
        Self::FreshNumberEachTime,
        Self::CallbackBelieved,
        Self::DeclineBelieved,
        Self::AmountNotCompared,
        Self::FinalAnswerDerived,
        Self::CommitNotAwaited,
        Self::ConfirmTwice,
        Self::PollForgotten,
        Self::RefundRepeated,
        Self::LeaseIgnored,
        Self::QueueUnbounded,
    ];
}

/// Bugs of configuration.
pub fn policy(mutant: Option<Mutant>, policy: &mut PaymentPolicy) {
    if mutant == Some(Mutant::ResendBeforeGrace) {
        policy.unknown_grace = Duration::ZERO;
    }
    if mutant == Some(Mutant::QueueUnbounded) {
        policy.queue_max = u64::MAX;
    }
}

/// Bugs around the storage.
#[derive(Debug)]
pub struct Mutation(Option<Mutant>);

impl Mutation {
    pub fn new(mutant: Option<Mutant>) -> Self {
        Self(mutant)
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.0 == Some(mutant)
    }

    pub async fn place(
        &self,
        world: &Arc<World>,
        order: Order,
        key: Option<KeyedOrder>,
    ) -> Result<Placed, StorageError> {
        if self.is(Mutant::CommitNotAwaited) {
            let (store, told) = (Arc::clone(&world.store), order.clone());
            // In one of four runs the process is gone before the write happens.
            if !order.id.uuid().as_u128().is_multiple_of(4) {
                store.place(order, key).await?;
            }
            return Ok(Placed::New(told));
        }
        world.store.place(order, key).await
    }

    pub async fn change(
        &self,
        world: &World,
        id: OrderId,
        reads: Reads,
        mut decide: Decide,
    ) -> Result<bool, StorageError> {
        let mutant = self.0;
        let wrong: Decide = Box::new(move |dossier: &mut Dossier, scene: &Scene| match mutant {
            Some(Mutant::CallbackBelieved) => believing(dossier, scene, &mut decide),
            Some(Mutant::ConfirmTwice) => confirming_twice(dossier, scene, &mut decide),
            Some(Mutant::PollForgotten) => forgetting(dossier, scene, &mut decide),
            Some(
                Mutant::FailoverAfterTimeout
                | Mutant::ResendBeforeGrace
                | Mutant::NotFoundIsDead
                | Mutant::FreshNumberEachTime
                | Mutant::DeclineBelieved
                | Mutant::AmountNotCompared
                | Mutant::FinalAnswerDerived
                | Mutant::CommitNotAwaited
                | Mutant::RefundRepeated
                | Mutant::LeaseIgnored
                | Mutant::QueueUnbounded,
            )
            | None => decide(dossier, scene),
        });
        world.store.change(id, reads, wrong).await
    }

    pub async fn task(
        &self,
        world: &World,
        id: TaskId,
        scope: &Scope,
    ) -> Result<Option<TaskView>, StorageError> {
        let mut view = world.store.task(id, scope).await?;
        if self.is(Mutant::FinalAnswerDerived)
            && let Some(view) = &mut view
            && view.task.kind == TaskKind::RegisterPayment
            && view.task.state.is_final()
            && let Some(dossier) = world.store.dossier(view.task.order_id, scope).await?
        {
            view.task.state = match dossier.order.status {
                OrderStatus::AwaitingPayment | OrderStatus::Paid | OrderStatus::Refunded => {
                    TaskState::Succeeded
                }
                OrderStatus::Cancelled => TaskState::Cancelled,
                OrderStatus::New | OrderStatus::Registering | OrderStatus::PaymentFailed => {
                    TaskState::Failed
                }
            };
        }
        Ok(view)
    }

    pub async fn claim(
        &self,
        world: &World,
        request: &ClaimRequest,
    ) -> Result<Vec<Claimed>, StorageError> {
        if self.is(Mutant::LeaseIgnored) {
            let running = TaskQuery { state: Some(TaskState::Running), limit: 10, after: None };
            for task in world.store.tasks(&running).await? {
                let run_out: Decide = Box::new(move |dossier: &mut Dossier, scene: &Scene| {
                    let held = dossier.tasks.iter_mut().filter_map(|task| task.lease.as_mut());
                    held.for_each(|lease| lease.until = lease.until.min(scene.now));
                    Also::default()
                });
                world.store.change(task.order_id, Reads::Dossier, run_out).await?;
            }
        }
        world.store.claim(request).await
    }
}

fn believing(dossier: &mut Dossier, scene: &Scene, decide: &mut Decide) -> Also {
    let before: Vec<bool> = dossier.registrations.iter().map(|r| r.hinted).collect();
    let also = decide(dossier, scene);
    let mut hinted = false;
    for (was, registration) in before.iter().zip(&mut dossier.registrations) {
        if registration.hinted && !was && registration.state == RegistrationState::Live {
            registration.state = RegistrationState::Paid;
            hinted = true;
        }
    }
    if hinted {
        dossier.order.status = OrderStatus::Paid;
    }
    also
}

/// What a check outside the transaction does: the confirm sees the order as it was before.
fn confirming_twice(dossier: &mut Dossier, scene: &Scene, decide: &mut Decide) -> Also {
    let mut trial = dossier.clone();
    let also = decide(&mut trial, scene);
    if trial != *dossier || dossier.order.status != OrderStatus::Registering {
        *dossier = trial;
        return also;
    }
    let mut masked = dossier.clone();
    masked.order.status = OrderStatus::New;
    for registration in &mut masked.registrations {
        if registration.state.maybe_alive() {
            registration.state = RegistrationState::Dead;
            registration.ending = Some(Ending::Expired);
        }
    }
    for task in &mut masked.tasks {
        if task.kind == TaskKind::RegisterPayment {
            task.state = TaskState::Cancelled;
            task.lease = None;
        }
    }
    let also = decide(&mut masked, scene);
    if masked.registrations.len() > dossier.registrations.len() {
        *dossier = masked;
    }
    also
}

fn forgetting(dossier: &mut Dossier, scene: &Scene, decide: &mut Decide) -> Also {
    let known: Vec<TaskId> = dossier.tasks.iter().map(|task| task.id).collect();
    let also = decide(dossier, scene);
    let hinted = dossier.registrations.iter().any(|registration| registration.hinted);
    dossier
        .tasks
        .retain(|task| hinted || task.kind != TaskKind::SyncPayment || known.contains(&task.id));
    also
}

/// Bugs around a provider's adapter.
#[derive(Debug)]
pub struct MutantPort {
    mutant: Option<Mutant>,
    port: Arc<SimPort>,
    attempts: AtomicU32,
    declined: Mutex<Vec<String>>,
}

impl MutantPort {
    pub fn around(mutant: Option<Mutant>, port: Arc<SimPort>) -> Arc<Self> {
        Arc::new(Self { mutant, port, attempts: AtomicU32::new(0), declined: Mutex::default() })
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn not_executed(&self) -> PaymentError {
        let system = match self.port.provider() {
            Provider::Sber => System::Sber,
            Provider::OdnaKassa => System::OdnaKassa,
        };
        let cause = Cause::Unreachable;
        PaymentSystemUnavailableError { system, cause, retry_after: None }.into()
    }

    fn over(payment: &PaymentRef, amount: Option<Money>, ending: Ending) -> Finding {
        Finding::Found(PaymentReport {
            number: payment.number.clone(),
            external_id: None,
            amount,
            status: ReportedStatus::Over(ending),
            refunded: None,
            form_url: None,
            expires_at: None,
        })
    }

    fn sent(&self, number: &ProviderNumber) -> Option<Money> {
        self.port.world().records().sent.get(number.as_str()).copied()
    }
}

#[async_trait::async_trait]
impl PaymentPort for MutantPort {
    fn provider(&self) -> Provider {
        self.port.provider()
    }

    fn call_limit(&self) -> Duration {
        self.port.call_limit()
    }

    fn capacity(&self) -> Capacity {
        self.port.capacity()
    }

    fn repeats_safely(&self) -> bool {
        self.port.repeats_safely()
    }

    async fn register(
        &self,
        order: &RegisterOrder,
        call: &Call,
    ) -> Result<Registered, PaymentError> {
        let number = order.number.as_str().to_owned();
        self.port.world().records().sent.insert(number.clone(), order.amount);
        let mut order = order.clone();
        if self.is(Mutant::FreshNumberEachTime) {
            let attempt = self.attempts.fetch_add(1, Ordering::Relaxed);
            order.number = ProviderNumber::told(&format!("{number}-{attempt}"));
        }
        let made = self.port.register(&order, call).await;
        match made {
            Err(PaymentError::Unknown(Cause::TimedOut))
                if self.is(Mutant::FailoverAfterTimeout) =>
            {
                Err(self.not_executed())
            }
            made => made,
        }
    }

    async fn payment_status(
        &self,
        payment: &PaymentRef,
        call: &Call,
    ) -> Result<Finding, PaymentError> {
        let declined = self
            .declined
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&payment.number.as_str().to_owned());
        if declined {
            return Ok(Self::over(payment, self.sent(&payment.number), Ending::Cancelled));
        }
        let mut found = self.port.payment_status(payment, call).await?;
        let sent = self.sent(&payment.number);
        if self.is(Mutant::NotFoundIsDead) && found == Finding::NotFound {
            found = Self::over(payment, sent, Ending::Expired);
        }
        if let (true, Finding::Found(report)) = (self.is(Mutant::AmountNotCompared), &mut found) {
            report.amount = sent.or(report.amount);
        }
        Ok(found)
    }

    async fn cancel(&self, payment: &PaymentRef, call: &Call) -> Result<(), PaymentError> {
        let cancelled = self.port.cancel(payment, call).await;
        let executed = !matches!(cancelled, Err(PaymentError::NotExecuted(_)));
        if self.is(Mutant::DeclineBelieved) && executed {
            let mut declined = self.declined.lock().unwrap_or_else(PoisonError::into_inner);
            declined.push(payment.number.as_str().to_owned());
        }
        cancelled
    }

    async fn refund(&self, refund: &RefundOrder, call: &Call) -> Result<(), PaymentError> {
        let given = self.port.refund(refund, call).await;
        match given {
            Err(PaymentError::Unknown(_)) if self.is(Mutant::RefundRepeated) => {
                sleep(Duration::from_secs(1)).await;
                self.port.refund(refund, call).await
            }
            given => given,
        }
    }

    fn read_callback(
        &self,
        raw: &RawCallback<'_>,
        now: Timestamp,
    ) -> Result<Callback, CallbackError> {
        self.port.read_callback(raw, now)
    }
}
