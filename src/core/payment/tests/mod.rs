//! One order's way, told call by call. `Case` plays the runner: it holds the lease, feeds outcomes
//! and checks after every decision what must hold whatever happens.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the one variant that it wants")]

mod cancelling;
mod contradicting;
mod operating;
mod property;
mod refunding;
mod registering;
mod resolving;

use super::{Asker, Cancelled, Confirmed, OrderAggregate, RefundAsked};
use crate::core::domain::ids::{CustomerId, InstanceId, LeaseToken, OrderId, ProductId, TaskId};
use crate::core::domain::money::Money;
use crate::core::domain::order::{Item, Order, OrderStatus};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::effect::{Action, Next, Note, Outcome, Round, Step, Turn, Wait};
use crate::core::payment::policy::PaymentPolicy;
use crate::core::payment::registration::{Ending, RegistrationState};
use crate::core::payment::report::{PaymentReport, ReportedStatus};
use crate::core::payment::task::{Lease, Reason, TaskError, TaskKind, TaskState};
use std::time::Duration;

const TOTAL: i64 = 19_900;

struct Case {
    aggregate: OrderAggregate,
    now: Timestamp,
    policy: PaymentPolicy,
    round: Round,
    unanswered: bool,
    waiting: Option<u64>,
    task: TaskId,
    token: LeaseToken,
    ids: u128,
    notes: Vec<Note>,
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
        };
        let customer = CustomerId::parse("c-1").unwrap();
        let order = Order::place(OrderId::new(now, 7), customer, vec![item], now).unwrap();
        Self {
            aggregate: OrderAggregate { order, registrations: Vec::new(), tasks: Vec::new() },
            now,
            policy: policy(),
            round: Round::default(),
            unanswered: true,
            waiting: Some(0),
            task: TaskId::new(1),
            token: LeaseToken::new(1),
            ids: 100,
            notes: Vec::new(),
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
        self.round = Round::default();
    }

    fn with_turn<T>(&mut self, decide: impl FnOnce(&mut OrderAggregate, &Turn<'_>) -> T) -> T {
        let spare = [TaskId::new(self.fresh()), TaskId::new(self.fresh())];
        let turn = Turn {
            task: self.task,
            token: self.token,
            now: self.now,
            policy: &self.policy,
            round: &self.round,
            repeat_safe: &[Provider::OdnaKassa],
            call_limit: Duration::from_secs(36),
            luck: 0.5,
            spare,
            unanswered: self.unanswered,
            waiting: self.waiting,
        };
        let answer = decide(&mut self.aggregate, &turn);
        self.aggregate.tasks.retain(|task| !task.state.is_final() || task.id == turn.task);
        self.check();
        answer
    }

    fn confirm(&mut self) -> Confirmed {
        self.new_run();
        self.unanswered = true;
        self.with_turn(|aggregate, turn| {
            let asker = Asker { turn: turn.clone(), return_url: None, trace: None };
            aggregate.confirm(&asker, false)
        })
    }

    fn begin(&mut self) -> Step {
        match self.confirm() {
            Confirmed::Begun(step) => step,
            other => panic!("{other:?}"),
        }
    }

    fn cancel(&mut self) -> Cancelled {
        self.new_run();
        self.with_turn(|aggregate, turn| {
            let asker = Asker { turn: turn.clone(), return_url: None, trace: None };
            aggregate.cancel(&asker)
        })
    }

    fn refund(&mut self, kopecks: Option<i64>) -> RefundAsked {
        self.new_run();
        let amount = kopecks.map(|kopecks| Money::rub(kopecks).unwrap());
        self.with_turn(|aggregate, turn| {
            let asker = Asker { turn: turn.clone(), return_url: None, trace: None };
            aggregate.refund(&asker, amount)
        })
    }

    /// Tells the run what became of its step.
    fn tell(&mut self, step: &Step, outcome: Outcome) -> Next {
        self.round.note(step.clone(), outcome);
        self.advance()
    }

    fn advance(&mut self) -> Next {
        let (next, notes) = self.with_turn(OrderAggregate::advance);
        self.notes.extend(notes);
        next
    }

    /// A worker takes the lease of the task when it is due, and asks what to do.
    fn claim(&mut self, kind: TaskKind) -> Next {
        self.new_run();
        self.unanswered = false;
        let (owner, token) = (InstanceId::new("w"), self.token);
        let task = self.aggregate.unfinished_mut(kind).expect("an unfinished task");
        self.now = self.now.max(task.run_at);
        task.state = TaskState::Running;
        task.lease = Some(Lease { owner, token, until: self.now + Duration::from_secs(60) });
        self.task = task.id;
        self.advance()
    }

    fn claim_call(&mut self, kind: TaskKind) -> Step {
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
        for kind in TaskKind::ALL {
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
        providers: vec![Provider::Sber, Provider::OdnaKassa],
        return_url: "https://shop.example/back".to_owned(),
        queueing: true,
        unknown_grace: Duration::from_secs(60),
        poll_interval: Duration::from_secs(30),
        failover_on_rejected: false,
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

fn call(next: Next) -> Step {
    match next {
        Next::Call(step) => step,
        other => panic!("expected a call, got {other:?}"),
    }
}

fn registers(step: &Step) -> bool {
    matches!(step.action, Action::Register { .. })
}

fn registered() -> Outcome {
    let (external_id, form_url) = ("ext-1".to_owned(), "https://pay.example/1".to_owned());
    Outcome::Registered { external_id, form_url, expires_at: None }
}

fn not_executed(reason: Reason) -> Outcome {
    let retry_after = Some(Duration::from_secs(30));
    Outcome::NotExecuted(Wait { reason, retry_after, too_late: false })
}

fn found(step: &Step, status: ReportedStatus) -> Outcome {
    Outcome::Found(PaymentReport {
        number: step.number.clone(),
        external_id: Some("ext-1".to_owned()),
        amount: Some(step.amount),
        status,
        refunded: None,
        form_url: None,
        expires_at: None,
    })
}

fn found_refunded(step: &Step, kopecks: i64) -> Outcome {
    match found(step, ReportedStatus::Paid) {
        Outcome::Found(report) => {
            let refunded = Some(Money::rub(kopecks).unwrap());
            Outcome::Found(PaymentReport { refunded, ..report })
        }
        other => other,
    }
}
