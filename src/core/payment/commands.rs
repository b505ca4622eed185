//! What clients and partners may ask of an order. Everything that needs a partner becomes a task,
//! whose lease the asking request holds from the first moment: the task is the write-ahead intent.

use super::decide::register::LAST_SEQUENCE;
use crate::core::domain::ids::TaskId;
use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::effect::{Action, Next, Step, Turn};
use crate::core::payment::registration::RegistrationState;
use crate::core::payment::task::{Lease, Reason, RefundPlan, Task, TaskKind, TaskState};
use std::time::Duration;

/// What a request brings along for the task that it asks for. `turn.task` and `turn.token` are new
/// and made by the caller, so that a decision that has to run twice does one thing.
#[derive(Debug, Clone)]
pub struct Asker<'a> {
    pub turn: Turn<'a>,
    pub return_url: Option<&'a str>,
    pub trace: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmed {
    /// It waits for the payer already.
    Form {
        provider: Provider,
        form_url: String,
    },
    /// Somebody is at it.
    Running(TaskId),
    /// The request shall make this call now.
    Begun(Step),
    /// Queued as wished, without a call.
    Queued,
    /// The provider contradicts our record: a person looks at it, under a task that is over.
    InReview,
    Refused(OrderStatus),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancelled {
    Done,
    Running(TaskId),
    Begun(Step),
    Refused(OrderStatus),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefundAsked {
    Begun(Step),
    InProgress,
    /// More than is left to give back.
    Exceeds,
    Refused(OrderStatus),
}

impl OrderAggregate {
    /// Makes the order payable: `respond_async` only queues, unless the queue is full.
    pub fn confirm(&mut self, asker: &Asker<'_>, respond_async: bool) -> Confirmed {
        let turn = &asker.turn;
        if let Some(own) = self.held(turn.task, turn.token) {
            return if own.state == TaskState::Queued {
                Confirmed::Queued
            } else {
                self.begun_again(turn.now)
            };
        }
        match self.order.status {
            OrderStatus::AwaitingPayment | OrderStatus::Registering => self.already_confirmed(),
            OrderStatus::New | OrderStatus::PaymentFailed => {
                if self.present_sequence() > LAST_SEQUENCE {
                    return Confirmed::Refused(self.order.status);
                }
                let full = turn.waiting.is_some_and(|waiting| waiting >= turn.policy.queue_max);
                let mut task = asker.task(self, TaskKind::RegisterPayment);
                self.order.status = OrderStatus::Registering;
                if respond_async && !full {
                    task.state = TaskState::Queued;
                    task.reason = Some(Reason::RespondAsync);
                    task.lease = None;
                    self.tasks.push(task);
                    return Confirmed::Queued;
                }
                self.tasks.push(task);
                let first = turn.policy.providers.first().copied().unwrap_or(Provider::Sber);
                match self.arm(turn, first) {
                    Next::Call(step) => Confirmed::Begun(step),
                    Next::Rest | Next::LeaseLost => Confirmed::Queued,
                }
            }
            status @ (OrderStatus::Paid | OrderStatus::Cancelled | OrderStatus::Refunded) => {
                Confirmed::Refused(status)
            }
        }
    }

    fn already_confirmed(&self) -> Confirmed {
        let open = self.open_registration();
        if self.unfinished(TaskKind::RegisterPayment).is_none()
            && let Some(open) = open
            && let Some(form_url) = open.open_form()
        {
            return Confirmed::Form { provider: open.provider, form_url: form_url.to_owned() };
        }
        self.visible_task().map_or(Confirmed::InReview, |task| Confirmed::Running(task.id))
    }

    /// The same decision once more, after a commit of unknown fate turned out to be done.
    fn begun_again(&self, now: Timestamp) -> Confirmed {
        let armed = self.registrations.iter().find(|r| r.state == RegistrationState::Intent);
        let own = self.unfinished(TaskKind::RegisterPayment);
        match (armed, own) {
            (Some(armed), Some(own)) => {
                let return_url = own.return_url.clone().unwrap_or_default();
                let at = armed.sent_at.unwrap_or(now);
                Confirmed::Begun(Self::step(armed, Action::Register { return_url }, at))
            }
            _ => self.already_confirmed(),
        }
    }

    pub fn cancel(&mut self, asker: &Asker<'_>) -> Cancelled {
        let turn = &asker.turn;
        if let Some(cancel) = self.unfinished(TaskKind::CancelPayment) {
            let own = cancel.held_by(turn.token);
            return match (own, self.open_registration()) {
                (true, Some(open)) => Cancelled::Begun(Self::step(open, Action::Cancel, turn.now)),
                _ => Cancelled::Running(cancel.id),
            };
        }
        match self.order.status {
            OrderStatus::Cancelled => Cancelled::Done,
            OrderStatus::New | OrderStatus::PaymentFailed => {
                self.order.status = OrderStatus::Cancelled;
                Cancelled::Done
            }
            OrderStatus::Registering if self.only_waits() => {
                if let Some(task) = self.unfinished_mut(TaskKind::RegisterPayment) {
                    task.state = TaskState::Cancelled;
                    task.reason = None;
                }
                self.order.status = OrderStatus::Cancelled;
                Cancelled::Done
            }
            OrderStatus::Registering => {
                let mut task = asker.task(self, TaskKind::CancelPayment);
                task.state = TaskState::Queued;
                task.reason = Some(Reason::OutcomeUnknown);
                task.lease = None;
                task.run_at = turn.now + turn.policy.poll_interval;
                let id = task.id;
                self.tasks.push(task);
                Cancelled::Running(id)
            }
            OrderStatus::AwaitingPayment => {
                let task = asker.task(self, TaskKind::CancelPayment);
                let id = task.id;
                self.tasks.push(task);
                match self.wind_down(turn) {
                    Next::Call(step) => Cancelled::Begun(step),
                    Next::Rest | Next::LeaseLost => Cancelled::Running(id),
                }
            }
            status @ (OrderStatus::Paid | OrderStatus::Refunded) => Cancelled::Refused(status),
        }
    }

    /// A registration that is queued, with nothing anywhere that could be alive.
    fn only_waits(&self) -> bool {
        self.open_registration().is_none()
            && self
                .unfinished(TaskKind::RegisterPayment)
                .is_some_and(|task| task.state == TaskState::Queued)
    }

    /// Gives back `amount`, or all that is left.
    pub fn refund(&mut self, asker: &Asker<'_>, amount: Option<Money>) -> RefundAsked {
        let paid = self.registrations.iter().find(|r| r.state == RegistrationState::Paid).cloned();
        let Some(paid) = paid else { return RefundAsked::Refused(self.order.status) };
        if let Some(running) = self.unfinished(TaskKind::RefundPayment) {
            return if running.held_by(asker.turn.token) {
                RefundAsked::Begun(Self::step(&paid, Action::Query, asker.turn.now))
            } else {
                RefundAsked::InProgress
            };
        }
        let left = paid.amount.minus(paid.refunded).unwrap_or(Money::zero(paid.amount.currency()));
        if left.is_zero() {
            return RefundAsked::Refused(self.order.status);
        }
        let amount = amount.unwrap_or(left);
        if amount.currency() != left.currency() || amount.minor() > left.minor() {
            return RefundAsked::Exceeds;
        }
        let mut task = asker.task(self, TaskKind::RefundPayment);
        task.refund = Some(RefundPlan::of(amount));
        task.result = Some((paid.provider, paid.sequence));
        task.lane = Some(paid.provider);
        self.tasks.push(task);
        RefundAsked::Begun(Self::step(&paid, Action::Query, asker.turn.now))
    }

    /// Somebody says that there is news about a registration: whoever may ask the provider does so
    /// soon. Hints about the same are one. `false` when the number is not one of this order's.
    pub fn hint(
        &mut self,
        provider: Provider,
        number: &ProviderNumber,
        now: Timestamp,
        task: TaskId,
        max_age: Duration,
    ) -> bool {
        let known =
            self.registrations.iter_mut().find(|r| r.provider == provider && r.number == *number);
        let Some(registration) = known else { return false };
        registration.sync_requested = true;
        if registration.state == RegistrationState::Unknown
            && self.unfinished(TaskKind::RegisterPayment).is_some()
        {
            self.bring_forward(TaskKind::RegisterPayment, now);
        } else {
            self.ensure_sync(task, now, now, max_age);
        }
        true
    }
}

impl Asker<'_> {
    /// A new task whose lease the asking request holds.
    fn task(&self, aggregate: &OrderAggregate, kind: TaskKind) -> Task {
        let turn = &self.turn;
        let deadline = turn.now + turn.policy.max_age;
        let mut task = Task::queued(turn.task, aggregate.order.id, kind, turn.now, deadline);
        let until = turn.now + turn.policy.lease.max(turn.call_limit + turn.policy.lease / 4);
        task.state = TaskState::Running;
        task.lease = Some(Lease { owner: turn.policy.instance.clone(), token: turn.token, until });
        task.lane = aggregate.open_registration().map(|open| open.provider);
        task.return_url = self.return_url.map(str::to_owned);
        task.trace = self.trace.map(str::to_owned);
        task
    }
}
