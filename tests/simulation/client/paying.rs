//! From a confirm to the form, by whatever way it comes: at once, through a task, or by reading.

use super::Client;
use crate::simulation::bank;
use crate::simulation::instance::Instance;
use crate::simulation::payer;
use crate::simulation::port::{exact, number_of};
use order_service::core::domain::ids::TaskId;
use order_service::core::domain::order::OrderStatus;
use order_service::core::domain::provider::Provider;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::registration::OpenForm;
use order_service::core::payment::task::{Reason, TaskState};
use order_service::core::ports::order_repository::Scope;
use order_service::core::ports::task_queue::TaskQueue;
use order_service::core::use_cases::confirm_order::{ConfirmError, ConfirmRequest, Confirmation};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

impl Client {
    /// `None` when there is no answer that settles anything.
    pub async fn confirm(&self, instance: &Arc<Instance>, hangs_up: bool) -> Option<()> {
        let ask = ConfirmRequest {
            order_id: self.order,
            scope: Scope::Anyone,
            return_url: None,
            form_lifetime: None,
            wait: self.dice.chance(0.2).then(|| self.dice.millis(0, 5_000)),
            respond_async: self.dice.chance(0.15),
            call: self.call(),
        };
        let name = self.world.name(self.order);
        let patience = ask.call.deadline.remaining().min(ask.wait.unwrap_or(Duration::MAX));
        let patience = patience.min(self.world.plan.policy.sync_wait);
        let asked = Instant::now();
        self.world.records().unbounded += 1;
        self.world.chronicle.note(|| format!("{name} is confirmed at {}", instance.life.name));
        let (reply, answer) = oneshot::channel();
        let server = Arc::clone(instance);
        instance.serve(async move {
            // A client that has hung up does not hear it.
            let _ = reply.send(server.confirm.run(ask).await);
        });
        if hangs_up {
            return None;
        }
        let answer = instance.answer(answer).await?;
        let in_time = asked.elapsed() + Duration::from_millis(50) < patience;
        if in_time && !self.may_queue_past_the_limit(&answer).await {
            self.world.records().unbounded -= 1;
        }
        match answer {
            Ok(Confirmation::Registered(OpenForm { provider, form_url, .. })) => {
                self.world.chronicle.note(|| format!("200: {name} at {provider}"));
                self.holds_form(provider, &form_url, asked);
            }
            Ok(Confirmation::Queued { task_id, .. }) => {
                self.is_promised(instance, task_id).await;
            }
            Err(fault) => {
                self.world.chronicle.note(|| format!("confirming {name} fails: {fault}"));
                self.is_refused(&fault);
                let settled = matches!(
                    fault,
                    ConfirmError::NotConfirmable(_)
                        | ConfirmError::CancelInProgress
                        | ConfirmError::Rejected
                );
                return settled.then_some(());
            }
        }
        Some(())
    }

    async fn may_queue_past_the_limit(&self, answer: &Result<Confirmation, ConfirmError>) -> bool {
        let task_id = match answer {
            Ok(Confirmation::Queued { task_id, .. }) => task_id,
            // Nobody knows whether it was accepted.
            Err(ConfirmError::Storage(_)) => return true,
            Ok(Confirmation::Registered(_)) | Err(_) => return false,
        };
        let found = self.world.store.task(*task_id, &Scope::Anyone).await;
        let Ok(Some(view)) = found else { return true };
        let unknown = view.task.reason == Some(Reason::OutcomeUnknown);
        unknown || view.task.state == TaskState::Running
    }

    /// I4: the provider has exactly that registration, for exactly that amount.
    fn holds_form(&self, provider: Provider, form_url: &str, asked: Instant) {
        let number = number_of(form_url);
        self.may_hold(provider, number, asked);
        let total = self.world.records().placed.get(&self.order).copied();
        match self.world.bank(provider).payment(number) {
            Some(payment) => {
                if Some(payment.amount) != total && exact(&payment) {
                    let what = format!("{:?} instead of {total:?}", payment.amount);
                    self.world.chronicle.violated("I4 the amount", what);
                }
                payer::gets_form(&self.world, provider, number);
                bank::one_live(&self.world, payment.order);
            }
            None => {
                let what = format!("{provider} does not know {}", self.world.number(number));
                self.world.chronicle.violated("I4 a form is a registration", what);
            }
        }
    }

    /// I14: after an accepted cancel nobody who asks is given a form, and nobody at all one of a
    /// registration that came to be since.
    fn may_hold(&self, provider: Provider, number: &str, asked: Instant) {
        let accepted = self.world.records().accepted_cancels.get(&self.order).copied();
        let Some(accepted) = accepted else { return };
        let born = self.world.bank(provider).payment(number).map(|payment| payment.born);
        if asked > accepted || born.is_some_and(|born| born > accepted) {
            let what = self.world.number(number);
            self.world.chronicle.violated("I14 no form after an accepted cancel", what);
        }
    }

    /// A 202: the task is there, and is asked about until it ends.
    pub async fn is_promised(&self, instance: &Arc<Instance>, task_id: TaskId) {
        let name = self.world.task_name(task_id);
        self.world.chronicle.note(|| format!("202: {name} of {}", self.world.name(self.order)));
        self.world.records().promised.insert(task_id, self.order);
        let mut instance = Some(Arc::clone(instance));
        for _ in 0..self.dice.between(0, 6) {
            sleep(self.dice.millis(0, 20_000)).await;
            if let Some(server) = instance.take().or_else(|| self.world.fleet.any(&self.dice)) {
                self.ask_about(&server, task_id).await;
            }
        }
    }

    async fn ask_about(&self, instance: &Arc<Instance>, task_id: TaskId) {
        let (reply, answer) = oneshot::channel();
        let (server, wait) = (Arc::clone(instance), self.dice.millis(0, 10_000));
        let asked = Instant::now();
        instance.serve(async move {
            let _ = reply.send(server.poll.run(task_id, &Scope::Anyone, wait).await);
        });
        match instance.answer(answer).await {
            Some(Ok(Some(view))) => {
                self.world.saw(&view.task);
                if let Some(made) = view.registration
                    && let Some(form_url) = made.open_form()
                {
                    self.holds_form(made.provider, form_url, asked);
                }
            }
            Some(Ok(None)) => {
                let what = self.world.task_name(task_id);
                self.world.chronicle.violated("I2 a promised task is readable", what);
            }
            Some(Err(_)) | None => {}
        }
    }

    fn is_refused(&self, fault: &ConfirmError) {
        if matches!(fault, ConfirmError::NotFound) {
            let what = self.world.name(self.order);
            self.world.chronicle.violated("I2 a placed order is readable", what);
        }
    }

    pub async fn read(&self, instance: &Arc<Instance>) -> Option<()> {
        let (reply, answer) = oneshot::channel();
        let (server, order) = (Arc::clone(instance), self.order);
        let asked = Instant::now();
        instance.serve(async move {
            let _ = reply.send(server.show.run(order, &Scope::Anyone).await);
        });
        match instance.answer(answer).await?.ok()? {
            Some(aggregate) => self.sees(&aggregate, asked),
            None => {
                let what = self.world.name(self.order);
                self.world.chronicle.violated("I2 a placed order is readable", what);
            }
        }
        Some(())
    }

    fn sees(&self, aggregate: &OrderAggregate, asked: Instant) {
        let total = self.world.records().placed.get(&self.order).copied();
        if Some(aggregate.order.total) != total {
            let what = format!("{:?} instead of {total:?}", aggregate.order.total);
            self.world.chronicle.violated("I6 amounts are as they were confirmed", what);
        }
        let waits = aggregate.order.status == OrderStatus::AwaitingPayment;
        if let Some(open) = aggregate.open_registration().filter(|_| waits)
            && let Some(form_url) = open.open_form()
        {
            self.holds_form(open.provider, form_url, asked);
        }
    }
}
