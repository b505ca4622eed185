//! One order's way, told call by call. `Case` plays the runner: it holds the lease, feeds outcomes
//! and checks after every decision what must hold whatever happens.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the one variant that it wants")]

mod cancelling;
mod contradicting;
mod fine_print;
mod looking;
mod operating;
mod property;
mod refunding;
mod refunds_by_hand;
mod refunds_late;
mod registering;
mod repeating;
mod resolving;
mod sync_requests;

use super::OrderAggregate;
use super::commands::{
    CancelDecision, ConfirmCommand, ConfirmDecision, RefundCommand, RefundDecision,
};
use super::context::{DecisionContext, ProviderPromises, RunHistory};
use super::decision::{DomainEvent, Next};
use super::effect::{
    CallKind, CallResult, CallTarget, ChangeResult, ProviderCall, QueryBasis, QueryResult,
    RegisterResult,
};
use super::operator::{OperatorFinding, OperatorRefused};
use super::policy::{CancelPaid, PaymentPolicy};
use super::refund::{RefundKey, RefundOrigin};
use super::registration::{Ending, RegistrationState};
use super::report::{PaymentReport, ReportedStatus};
use super::task::{Lease, Reason, TaskError, TaskKind, TaskState};
use crate::core::domain::ids::{CustomerId, InstanceId, LeaseToken, OrderId, ProductId, TaskId};
use crate::core::domain::money::Money;
use crate::core::domain::order::{Item, Order, OrderStatus};
use crate::core::domain::provider::{Preference, Provider};
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::{NotExecuted, PaymentSystemUnavailableError, Shed};
use std::sync::Arc;
use std::time::Duration;

const TOTAL: i64 = 19_900;

struct Case {
    aggregate: OrderAggregate,
    now: Timestamp,
    policy: PaymentPolicy,
    history: RunHistory,
    client_waits: bool,
    queue_length: Option<u64>,
    keyed_refunds: Vec<Provider>,
    task: TaskId,
    token: LeaseToken,
    ids: u128,
    events: Vec<DomainEvent>,
}

impl Case {
    fn new() -> Self {
        let now = Timestamp::from_micros(1_764_500_000_000_000);
        let item = Item {
            product_id: ProductId::parse("p-1").unwrap(),
            name: "p".to_owned(),
            quantity: 1,
            unit_price: Money::rub(TOTAL).unwrap(),
            price_stale: false,
            vat: None,
        };
        let customer = CustomerId::parse("c-1").unwrap();
        let order = Order::place(OrderId::new(now, 7), customer, vec![item], now).unwrap();
        Self {
            aggregate: OrderAggregate::placed(order),
            now,
            policy: policy(),
            history: RunHistory::default(),
            client_waits: true,
            queue_length: Some(0),
            keyed_refunds: Provider::ALL.to_vec(),
            task: TaskId::new(1),
            token: LeaseToken::new(1),
            ids: 100,
            events: Vec::new(),
        }
    }

    fn fresh(&mut self) -> u128 {
        self.ids += 1;
        self.ids
    }

    /// A new run by somebody who has just taken the lease.
    fn new_run(&mut self) {
        self.task = TaskId::new(self.fresh());
        self.token = LeaseToken::new(self.fresh());
        self.history = RunHistory::default();
    }

    fn with_context<T>(
        &mut self,
        decide: impl FnOnce(&mut OrderAggregate, &DecisionContext) -> T,
    ) -> T {
        let context = DecisionContext {
            task: self.task,
            token: self.token,
            now: self.now,
            policy: Arc::new(self.policy.clone()),
            providers: Arc::new(ProviderPromises {
                repeat_registrations: vec![Provider::OdnaKassa],
                deduplicate_refunds: self.keyed_refunds.clone(),
                longest_step: Duration::from_secs(72),
            }),
            history: self.history.clone(),
            luck: 0.5,
            id_seed: self.fresh(),
            client_waits: self.client_waits,
            queue_length: self.queue_length,
        };
        let answer = decide(&mut self.aggregate, &context);
        self.aggregate.tasks.retain(|task| !task.state.is_final() || task.id == context.task);
        self.check();
        answer
    }

    fn confirm(&mut self) -> ConfirmDecision {
        self.new_run();
        self.client_waits = true;
        let command = ConfirmCommand::default();
        self.with_context(|aggregate, context| aggregate.confirm(&command, context))
    }

    fn begin(&mut self) -> ProviderCall {
        match self.confirm() {
            ConfirmDecision::Call(step) => step,
            other => panic!("{other:?}"),
        }
    }

    fn cancel(&mut self) -> CancelDecision {
        self.new_run();
        self.with_context(|aggregate, context| aggregate.cancel(None, context))
    }

    fn refund(&mut self, kopecks: Option<i64>) -> RefundDecision {
        self.new_run();
        let amount = kopecks.map(|kopecks| Money::rub(kopecks).unwrap());
        let command = RefundCommand { amount, ..RefundCommand::default() };
        self.with_context(|aggregate, context| aggregate.refund_payment(&command, context))
    }

    /// An operator looks at a task that nobody of this run holds.
    fn operate<T>(
        &mut self,
        task: TaskId,
        operation: impl FnOnce(&mut OrderAggregate, &DecisionContext) -> T,
    ) -> T {
        let (own, token) = (self.task, self.token);
        (self.task, self.token) = (task, LeaseToken::new(self.fresh()));
        let answer = self.with_context(operation);
        (self.task, self.token) = (own, token);
        answer
    }

    fn cancel_task(&mut self, task: TaskId) -> Result<(), OperatorRefused> {
        self.operate(task, OrderAggregate::cancel_task)
    }

    fn retry_task(&mut self, task: TaskId) -> Result<(), OperatorRefused> {
        self.operate(task, OrderAggregate::retry_task)
    }

    /// A person answers what is in doubt; whether the task is over is seen from what is loaded.
    fn resolve(&mut self, task: TaskId, finding: OperatorFinding) -> Result<(), OperatorRefused> {
        let over = !self.aggregate.tasks.iter().any(|t| t.id == task && !t.state.is_final());
        self.operate(task, |aggregate, context| {
            aggregate.resolve_task(finding, None, over, context)
        })
    }

    /// Tells the run what became of its call.
    fn tell(&mut self, call: &ProviderCall, answer: Answer) -> Next {
        self.history.push(call.clone().completed(answer.to(call)));
        self.decide()
    }

    /// A fact that comes without a lease.
    fn evolve(&mut self, call: &ProviderCall, answer: Answer) {
        let completed = call.clone().completed(answer.to(call));
        self.aggregate.evolve(&completed, self.now);
    }

    fn decide(&mut self) -> Next {
        let decision = self.with_context(OrderAggregate::decide);
        self.events.extend(decision.events);
        decision.next
    }

    /// A worker takes the lease of the task when it is due, and asks what to do.
    fn claim(&mut self, kind: TaskKind) -> Next {
        let task = self.aggregate.unfinished(kind).expect("an unfinished task").id;
        self.claim_task(task)
    }

    fn claim_task(&mut self, id: TaskId) -> Next {
        self.new_run();
        self.client_waits = false;
        let (owner, token) = (InstanceId::new("w"), self.token);
        let task = self.aggregate.tasks.iter_mut().find(|task| task.id == id).expect("a task");
        self.now = self.now.max(task.run_at);
        task.state = TaskState::Running;
        task.lease = Some(Lease { owner, token, until: self.now + Duration::from_secs(60) });
        self.task = task.id;
        self.decide()
    }

    fn claim_call(&mut self, kind: TaskKind) -> ProviderCall {
        call(self.claim(kind))
    }

    fn pass(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
    }

    fn status(&self) -> OrderStatus {
        self.aggregate.order.status
    }

    fn state(&self, provider: Provider, sequence: u8) -> RegistrationState {
        self.aggregate.registration(provider, sequence).expect("a registration").state
    }

    fn own_task(&self) -> &crate::core::payment::task::Task {
        self.aggregate.tasks.iter().find(|task| task.id == self.task).expect("the run's task")
    }

    /// What must hold after every decision.
    fn check(&self) {
        let alive = self.aggregate.registrations.iter().filter(|r| r.state.maybe_alive()).count();
        assert!(alive <= 1, "{:?}", self.aggregate.registrations);
        for kind in TaskKind::ALL.into_iter().filter(|kind| *kind != TaskKind::RefundPayment) {
            let unfinished = |task: &&crate::core::payment::task::Task| {
                task.kind == kind && !task.state.is_final()
            };
            assert!(self.aggregate.tasks.iter().filter(unfinished).count() <= 1);
        }
        for task in &self.aggregate.tasks {
            assert_eq!(task.state == TaskState::Running, task.lease.is_some(), "{task:?}");
        }
    }
}

fn policy() -> PaymentPolicy {
    PaymentPolicy {
        providers: Preference::new([Provider::Sber, Provider::OdnaKassa]).unwrap(),
        return_url: "https://shop.example/back".to_owned(),
        queueing: true,
        unknown_grace: Duration::from_secs(60),
        poll_interval: Duration::from_secs(30),
        looks_after_payment: vec![Duration::from_secs(3_600), Duration::from_secs(86_400)],
        failover_on_rejected: false,
        cancel_paid: CancelPaid::Refund,
        number_prefix: String::new(),
        sync_wait: Duration::from_secs(15),
        queue_max: 10,
        lease: Duration::from_secs(60),
        backoff: Duration::from_secs(1),
        backoff_max: Duration::from_secs(60),
        max_age: Duration::from_secs(86_400),
        instance: InstanceId::new("i-1"),
    }
}

fn call(next: Next) -> ProviderCall {
    match next {
        Next::Call(step) => step,
        other => panic!("expected a call, got {other:?}"),
    }
}

fn registers(call: &ProviderCall) -> bool {
    call.registers()
}

fn cancels(call: &ProviderCall) -> bool {
    matches!(call.kind, CallKind::Cancel { .. })
}

/// What a provider may answer, whatever it was asked: what a call cannot hear is an unknown outcome.
#[derive(Debug, Clone)]
enum Answer {
    Registered,
    Duplicate,
    Refused { concerns_account: bool },
    NotExecuted(NotExecuted, Option<Duration>),
    Unknown,
    Found(PaymentReport),
    NotFound,
    Acknowledged,
}

impl Answer {
    fn to(&self, call: &ProviderCall) -> CallResult {
        if let Self::NotExecuted(cause, retry_after) = *self {
            let system = call.target.provider.into();
            let error = PaymentSystemUnavailableError { system, cause, retry_after };
            return call.clone().not_executed(error).result;
        }
        match &call.kind {
            CallKind::Register(_) => CallResult::Register(match *self {
                Self::Registered => RegisterResult::Registered {
                    external_id: "ext-1".to_owned(),
                    form_url: "https://pay.example/1".to_owned(),
                    expires_at: None,
                },
                Self::Duplicate => RegisterResult::Duplicate,
                Self::Refused { concerns_account } => RegisterResult::Refused { concerns_account },
                _ => RegisterResult::Unknown,
            }),
            CallKind::Query(basis) => CallResult::Query {
                basis: *basis,
                result: match self {
                    Self::Found(report) => QueryResult::Found(report.clone()),
                    Self::NotFound => QueryResult::NotFound,
                    _ => QueryResult::Unanswered,
                },
            },
            CallKind::Cancel { .. } => CallResult::Cancel(self.to_change()),
            CallKind::Refund { key, .. } => {
                CallResult::Refund { key: key.clone(), result: self.to_change() }
            }
        }
    }

    fn to_change(&self) -> ChangeResult {
        match self {
            Self::Acknowledged => ChangeResult::Acknowledged,
            Self::Refused { .. } => ChangeResult::Refused,
            _ => ChangeResult::Unknown,
        }
    }
}

const fn registered() -> Answer {
    Answer::Registered
}

fn not_executed(reason: Reason) -> Answer {
    let cause = match reason {
        Reason::BreakerOpen => Shed::BreakerOpen.into(),
        Reason::BulkheadFull => Shed::BulkheadFull.into(),
        _ => NotExecuted::Unreachable,
    };
    Answer::NotExecuted(cause, Some(Duration::from_secs(30)))
}

fn with_amount(call: &ProviderCall, amount: Money) -> ProviderCall {
    let target = CallTarget { amount, ..call.target.clone() };
    ProviderCall { target, ..call.clone() }
}

/// A question about what a call was about.
fn asked(call: &ProviderCall, now: Timestamp) -> ProviderCall {
    let kind = CallKind::Query(QueryBasis::default());
    ProviderCall { target: call.target.clone(), kind, decided_at: now }
}

fn found(call: &ProviderCall, status: ReportedStatus) -> Answer {
    Answer::Found(PaymentReport {
        number: call.target.number.clone(),
        external_id: Some("ext-1".to_owned()),
        amount: Some(call.target.amount),
        taken: None,
        status,
        refunded: None,
        form_url: None,
        expires_at: None,
        decline: None,
    })
}

fn found_refunded(call: &ProviderCall, kopecks: i64) -> Answer {
    match found(call, ReportedStatus::Paid) {
        Answer::Found(report) => {
            let refunded = Some(Money::rub(kopecks).unwrap());
            Answer::Found(PaymentReport { refunded, ..report })
        }
        other => other,
    }
}
