//! What clients and partners may ask of an order. Everything that needs a partner becomes a task, whose
//! lease the asking request holds from the first moment: the task is the write-ahead intent.

use crate::core::domain::ids::TaskId;
use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::unavailable::PaymentSystemUnavailableError;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::decision::Next;
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::refund::{Refund, RefundKey, RefundOrigin, RefundState};
use crate::core::payment::registration::{
    LAST_SEQUENCE, OpenForm, Registration, RegistrationState,
};
use crate::core::payment::task::{Lease, Reason, Task, TaskKind, TaskState};
use std::time::Duration;

/// A client wants the order to be payable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfirmCommand {
    /// Where the form sends the payer back to; `PAYMENT_RETURN_URL` if not said.
    pub return_url: Option<String>,
    /// How long the form is to live.
    pub form_lifetime: Option<Duration>,
    /// Only queue it, unless the queue is full.
    pub respond_async: bool,
    /// `traceparent` of the request.
    pub trace: Option<String>,
    /// Providers that no call would get through to at this moment: they are passed over.
    pub refusals: Vec<PaymentSystemUnavailableError>,
}

impl ConfirmCommand {
    /// What the task keeps of the wishes, for later attempts.
    fn describe(&self, task: &mut Task) {
        task.return_url.clone_from(&self.return_url);
        task.form_lifetime = self.form_lifetime;
        task.trace.clone_from(&self.trace);
    }
}

/// What comes of a confirm: [`OrderAggregate::confirm`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfirmDecision {
    /// It waits for the payer already.
    Form(OpenForm),
    /// Somebody is at it.
    Running(TaskId),
    /// The request shall make this call now.
    Call(ProviderCall),
    /// Queued as wished, without a call.
    Queued,
    /// Nobody can be asked at this moment: queued until then.
    Postponed {
        /// When a client should look again.
        retry_after: Duration,
    },
    /// Nobody can be asked, and nothing may be queued: nothing is changed.
    Unavailable,
    /// The provider contradicts our record: a person looks at it, under a task that is over.
    InReview,
    /// A cancel was accepted, and is not done yet.
    CancelInProgress,
    /// The order's status does not allow it: paid, cancelled or refunded.
    Refused(OrderStatus),
}

/// What comes of a cancel: [`OrderAggregate::cancel`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelDecision {
    /// The order is cancelled, now or since before.
    Done,
    /// Accepted: this task sees to it.
    Running(TaskId),
    /// Accepted: the request shall make this call now.
    Call(ProviderCall),
    /// The order's status does not allow it: paid or refunded.
    Refused(OrderStatus),
}

/// A client wants money back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefundCommand {
    /// All that is left, if not said.
    pub amount: Option<Money>,
    /// The client's own key.
    pub client_key: Option<String>,
    /// `traceparent` of the request, which its task carries on.
    pub trace: Option<String>,
}

/// What comes of a refund: [`OrderAggregate::refund_payment`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefundDecision {
    /// Planned: the request shall ask this question now. What was given back so far is asked for
    /// before anything is sent.
    Call(ProviderCall),
    /// The client's key names a refund of the order, of which this is a repeat.
    Known {
        /// The task that saw or sees to it.
        task: TaskId,
        /// How far it has come.
        state: RefundState,
    },
    /// The client's key names a refund of another sum.
    KeyReused,
    /// Another refund of the order is under way, in doubt, or before a person.
    InProgress,
    /// More than is left to give back.
    Exceeds,
    /// Not what was paid in.
    OtherCurrency,
    /// The order's status does not allow it: there is no money to give back.
    Refused(OrderStatus),
}

impl OrderAggregate {
    /// Makes the order payable.
    pub fn confirm(
        &mut self,
        command: &ConfirmCommand,
        context: &DecisionContext,
    ) -> ConfirmDecision {
        if self.cancel_in_progress() {
            return ConfirmDecision::CancelInProgress;
        }
        if let Some(own) = self.own_task(context) {
            return if own.state == TaskState::Queued {
                ConfirmDecision::Queued
            } else {
                self.confirm_again(context)
            };
        }
        match self.order.status {
            OrderStatus::AwaitingPayment if self.lacks_its_form() => {
                self.form_anew(command, context)
            }
            OrderStatus::AwaitingPayment | OrderStatus::Registering => self.already_confirmed(),
            OrderStatus::New | OrderStatus::PaymentFailed => self.begin_payment(command, context),
            status @ (OrderStatus::Paid | OrderStatus::Cancelled | OrderStatus::Refunded) => {
                ConfirmDecision::Refused(status)
            }
        }
    }

    fn begin_payment(
        &mut self,
        command: &ConfirmCommand,
        context: &DecisionContext,
    ) -> ConfirmDecision {
        if self.present_sequence() > LAST_SEQUENCE {
            return ConfirmDecision::Refused(self.order.status);
        }
        let mut task = self.leased_task(context, TaskKind::RegisterPayment);
        command.describe(&mut task);
        if command.respond_async && !context.queue_is_full() {
            task.state = TaskState::Queued;
            task.reason = Some(Reason::RespondAsync);
            task.lease = None;
            self.order.status = OrderStatus::Registering;
            self.tasks.push(task);
            return ConfirmDecision::Queued;
        }
        let refuses =
            |provider: Provider| command.refusals.iter().any(|it| it.system == provider.into());
        let admits = context.policy.providers.iter().find(|provider| !refuses(*provider));
        if admits.is_none() && (!context.policy.queueing || context.queue_is_full()) {
            return ConfirmDecision::Unavailable;
        }
        self.order.status = OrderStatus::Registering;
        self.tasks.push(task);
        let Some(provider) = admits else {
            let run_at = self.postpone(context, &command.refusals);
            return ConfirmDecision::Postponed { retry_after: run_at.since(context.now) };
        };
        match self.arm(context, provider) {
            Next::Call(call) => ConfirmDecision::Call(call),
            Next::Rest | Next::LeaseLost => ConfirmDecision::Queued,
        }
    }

    /// A registration that was taken up again waits for its payer, and nobody knows its form.
    fn lacks_its_form(&self) -> bool {
        let formless = |open: &Registration| {
            let live = open.state == RegistrationState::Live;
            live && open.form_url.is_none() && open.contradiction.is_none()
        };
        self.unfinished(TaskKind::RegisterPayment).is_none()
            && self.open_registration().is_some_and(formless)
    }

    /// To its end with the one whose form was never told to us, before there is another.
    fn form_anew(
        &mut self,
        command: &ConfirmCommand,
        context: &DecisionContext,
    ) -> ConfirmDecision {
        let mut task = self.leased_task(context, TaskKind::RegisterPayment);
        command.describe(&mut task);
        self.order.status = OrderStatus::Registering;
        self.tasks.push(task);
        match self.wind_down(context) {
            Next::Call(call) => ConfirmDecision::Call(call),
            Next::Rest | Next::LeaseLost => ConfirmDecision::Queued,
        }
    }

    fn already_confirmed(&self) -> ConfirmDecision {
        if self.unfinished(TaskKind::RegisterPayment).is_none()
            && let Some(open) = self.open_registration()
            && let Some(form) = OpenForm::of(open)
        {
            return ConfirmDecision::Form(form);
        }
        self.task_at_work()
            .map_or(ConfirmDecision::InReview, |task| ConfirmDecision::Running(task.id))
    }

    /// The same decision once more, after a commit of unknown fate turned out to be done.
    fn confirm_again(&mut self, context: &DecisionContext) -> ConfirmDecision {
        let checkout = self.checkout(context);
        let own = self.unfinished(TaskKind::RegisterPayment).is_some();
        let armed = self.registrations.iter_mut().find(|r| r.state == RegistrationState::Intent);
        match armed {
            Some(armed) if own => {
                let decided_at = armed.sent_at.unwrap_or(context.now);
                ConfirmDecision::Call(armed.call_of(checkout, decided_at))
            }
            Some(_) | None => self.already_confirmed(),
        }
    }

    /// Whether a cancel was accepted and the order does not show yet what came of it.
    #[must_use]
    pub fn cancel_in_progress(&self) -> bool {
        let over = matches!(
            self.order.status,
            OrderStatus::Cancelled | OrderStatus::Paid | OrderStatus::Refunded
        );
        self.cancel_accepted() && !over
    }

    /// Takes the order back: at once while nothing can be paid, else after its registration.
    pub fn cancel(&mut self, trace: Option<&str>, context: &DecisionContext) -> CancelDecision {
        if let Some(cancel) = self.unfinished(TaskKind::CancelPayment) {
            let own = cancel.held_by(context.token);
            return match (own, self.open_registration()) {
                (true, Some(open)) => CancelDecision::Call(ProviderCall::cancel(open, context.now)),
                _ => CancelDecision::Running(cancel.id),
            };
        }
        if !matches!(self.order.status, OrderStatus::Paid | OrderStatus::Refunded) {
            self.accept_cancel(context.now);
        }
        match self.order.status {
            OrderStatus::Cancelled => CancelDecision::Done,
            OrderStatus::New | OrderStatus::PaymentFailed => {
                self.order.status = OrderStatus::Cancelled;
                CancelDecision::Done
            }
            OrderStatus::Registering if self.only_waits() => {
                if let Some(task) = self.unfinished_mut(TaskKind::RegisterPayment) {
                    task.state = TaskState::Cancelled;
                    task.reason = None;
                }
                self.order.status = OrderStatus::Cancelled;
                CancelDecision::Done
            }
            OrderStatus::Registering => self.cancel_after_registration(trace, context),
            OrderStatus::AwaitingPayment => {
                let mut task = self.leased_task(context, TaskKind::CancelPayment);
                task.trace = trace.map(str::to_owned);
                let id = task.id;
                self.tasks.push(task);
                match self.wind_down(context) {
                    Next::Call(call) => CancelDecision::Call(call),
                    Next::Rest | Next::LeaseLost => CancelDecision::Running(id),
                }
            }
            status @ (OrderStatus::Paid | OrderStatus::Refunded) => CancelDecision::Refused(status),
        }
    }

    /// From now on nobody is given a form, whatever comes of the registration that is under way.
    fn accept_cancel(&mut self, now: Timestamp) {
        self.order.cancel_requested_at.get_or_insert(now);
        self.give_up_open(now);
    }

    /// The cancellation follows the resolution of what is under way.
    fn cancel_after_registration(
        &mut self,
        trace: Option<&str>,
        context: &DecisionContext,
    ) -> CancelDecision {
        let mut task = self.leased_task(context, TaskKind::CancelPayment);
        task.trace = trace.map(str::to_owned);
        task.state = TaskState::Queued;
        task.reason = Some(Reason::OutcomeUnknown);
        task.lease = None;
        task.run_at = context.now + context.policy.poll_interval;
        let id = task.id;
        self.tasks.push(task);
        CancelDecision::Running(id)
    }

    /// A registration that is queued, with nothing anywhere that could be alive.
    fn only_waits(&self) -> bool {
        self.open_registration().is_none()
            && self
                .unfinished(TaskKind::RegisterPayment)
                .is_some_and(|task| task.state == TaskState::Queued)
    }

    /// Gives back a part, or all that is left. What was given back so far is asked for first.
    pub fn refund_payment(
        &mut self,
        command: &RefundCommand,
        context: &DecisionContext,
    ) -> RefundDecision {
        let decided_before = self.own_task(context).is_some();
        if let Some(known) = self.known_refund(command).filter(|_| !decided_before) {
            return known;
        }
        let Some(paid) = self.paid_registration().cloned() else {
            return RefundDecision::Refused(self.order.status);
        };
        if decided_before {
            return RefundDecision::Call(ProviderCall::query(&paid, context.now));
        }
        // One that waits for a person about other money does not stand in the way.
        let in_the_way = |refund: &&Refund| {
            refund.state.is_open() && (refund.is_of(&paid) || !self.waits_for_operator(refund))
        };
        if self.refunds.iter().find(in_the_way).is_some() {
            return RefundDecision::InProgress;
        }
        let left = paid.amount.minus(paid.refunded).unwrap_or(Money::zero(paid.amount.currency()));
        if left.is_zero() {
            return RefundDecision::Refused(self.order.status);
        }
        let amount = command.amount.unwrap_or(left);
        if amount.currency() != left.currency() {
            return RefundDecision::OtherCurrency;
        }
        if amount.minor() > left.minor() {
            return RefundDecision::Exceeds;
        }
        let order = self.order.id;
        let key = command.client_key.as_ref();
        let key = key.map(|key| RefundKey::of_client(order, key));
        let key = key.unwrap_or_else(|| RefundKey::of_task(order, context.task));
        let about = (paid.provider, paid.sequence);
        let mut task = self.leased_task(context, TaskKind::RefundPayment);
        task.result = Some(about);
        task.lane = Some(paid.provider);
        task.trace.clone_from(&command.trace);
        let origin = RefundOrigin::Client;
        self.refunds.push(Refund::planned(key, about, amount, origin, task.id, context.now));
        self.tasks.push(task);
        RefundDecision::Call(ProviderCall::query(&paid, context.now))
    }

    /// The refund that the client's key stands for. Its row remembers that for ever, when the request
    /// itself is long forgotten: one key gives money back once.
    fn known_refund(&self, command: &RefundCommand) -> Option<RefundDecision> {
        let key = RefundKey::of_client(self.order.id, command.client_key.as_ref()?);
        let refund = self.refund(&key)?;
        let same = command.amount.is_none_or(|amount| amount == refund.amount);
        let task = refund.task.filter(|_| same);
        Some(task.map_or(RefundDecision::KeyReused, |task| RefundDecision::Known {
            task,
            state: refund.state,
        }))
    }

    /// A new task whose lease the asking request holds.
    fn leased_task(&self, context: &DecisionContext, kind: TaskKind) -> Task {
        let deadline = context.now + context.policy.max_age;
        let mut task = Task::queued(context.task, self.order.id, kind, context.now, deadline);
        task.state = TaskState::Running;
        task.lease = Some(Lease {
            owner: context.policy.instance.clone(),
            token: context.token,
            until: context.lease_until(),
        });
        task.lane = self.open_registration().map(|open| open.provider);
        task
    }
}
