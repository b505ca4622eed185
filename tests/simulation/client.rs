//! A client with one order: it places, confirms, asks, cancels and refunds, often more than once and
//! at the same time, and it remembers every answer.

use super::bank;
use super::dice::Dice;
use super::faults::Fault;
use super::fleet::Instance;
use super::payer;
use super::port::{exact, number_of};
use super::world::World;
use order_service::core::domain::dossier::Dossier;
use order_service::core::domain::ids::{CustomerId, OrderId, ProductId, TaskId};
use order_service::core::domain::money::Money;
use order_service::core::domain::order::OrderStatus;
use order_service::core::domain::registration::Provider;
use order_service::core::domain::task::{Reason, TaskState};
use order_service::core::ports::call::Call;
use order_service::core::ports::deadline::Deadline;
use order_service::core::ports::orders::{IdempotencyKey, KeyedOrder, OrderStore, Placed, Scope};
use order_service::core::use_cases::cancel_order::{Cancel, CancelError, Cancellation};
use order_service::core::use_cases::confirm_order::{Confirm, ConfirmError, Confirmation};
use order_service::core::use_cases::place_order::NewOrder;
use order_service::core::use_cases::refund_order::{KeyedRefund, Refund, RefundError, Refunding};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

struct Client {
    world: Arc<World>,
    dice: Dice,
    place: usize,
    order: OrderId,
}

/// What a client does at some moment.
#[derive(Debug, Clone, Copy)]
enum Act {
    Confirm,
    Read,
    Cancel,
    Refund,
}

/// The script of one order.
pub async fn shop(world: Arc<World>, place: usize) {
    let dice = Dice::new(world.seed, "client", place);
    sleep(dice.up_to(world.plan.chaos / 2)).await;
    let Some(order) = place_order(&world, &dice, place).await else { return };
    let client = Arc::new(Client { world, dice, place, order });
    let acts: Vec<_> = client
        .script()
        .into_iter()
        .map(|(after, act)| tokio::spawn(Arc::clone(&client).act(after, act)))
        .collect();
    for act in acts {
        // A panic is told by the panic hook.
        let _ = act.await;
    }
}

/// Places with one key until there is an answer.
async fn place_order(world: &Arc<World>, dice: &Dice, place: usize) -> Option<OrderId> {
    let mut order = None;
    for again in 0..8 {
        if let Some(instance) = world.fleet.any(dice)
            && let Some(id) = place_once(world, &instance, place).await
        {
            world.records().placed.insert(id, total_of(place));
            world.chronicle.note(|| format!("201: {}", world.name(id)));
            let known = *world.records().keys.entry(key_of(place)).or_insert(id);
            if known != id {
                let what = format!("{} and {}", world.name(known), world.name(id));
                world.chronicle.violated("I9 one key, one effect", what);
            }
            order = Some(id);
            // A client that did not hear the answer asks once more.
            if again > 0 || !world.strikes(Fault::Repeat, dice) {
                break;
            }
        }
        sleep(dice.millis(100, 15_000)).await;
    }
    order
}

/// No two orders cost the same.
fn quantity_of(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(0) + 1
}

fn total_of(place: usize) -> Money {
    let price = Money::rub(super::fleet::PRICE).expect("a small price");
    price.times(quantity_of(place)).expect("a small sum")
}

fn key_of(place: usize) -> String {
    format!("key-{place}")
}

async fn place_once(world: &World, instance: &Arc<Instance>, place: usize) -> Option<OrderId> {
    let key = IdempotencyKey { owner: "shop".to_owned(), route: "orders", key: key_of(place) };
    let render = |order: &order_service::core::domain::order::Order| {
        (201, order.id.to_string().into_bytes())
    };
    let keyed = KeyedOrder { key, fingerprint: [7; 32], render: Box::new(render) };
    let product = ProductId::parse("p-1").expect("a name");
    let wanted = NewOrder {
        customer_id: CustomerId::parse("c-1").expect("a name"),
        lines: vec![(product, quantity_of(place))],
        key: Some(keyed),
        call: Call::new(Deadline::after(Duration::from_secs(20)), None),
    };
    let (reply, answer) = oneshot::channel();
    let server = Arc::clone(instance);
    instance.serve(async move {
        let _ = reply.send(server.place.run(wanted).await);
    });
    match instance.answer(answer).await? {
        Ok(Placed::New(order)) => Some(order.id),
        Ok(Placed::Known(reply)) => {
            String::from_utf8(reply.body).ok().as_deref().and_then(OrderId::parse)
        }
        Err(fault) => {
            world.chronicle.note(|| format!("placing fails: {fault}"));
            None
        }
    }
}

impl Client {
    fn script(&self) -> Vec<(Duration, Act)> {
        let (dice, world) = (&self.dice, &self.world);
        let mut acts = vec![(dice.millis(0, 20_000), Act::Confirm)];
        if world.plan.backlog {
            return acts;
        }
        for _ in 0..4 {
            let (now, later) = (dice.millis(0, 2_000), dice.up_to(world.plan.chaos));
            if world.strikes(Fault::Repeat, dice) {
                // At the same moment, or some time later.
                let first = acts[0].0;
                acts.push((if dice.chance(0.5) { first + now / 20 } else { later }, Act::Confirm));
            }
        }
        for _ in 0..5 {
            acts.push((dice.up_to(world.plan.chaos), Act::Read));
        }
        acts.push((world.plan.chaos + dice.millis(0, 120_000), Act::Read));
        for _ in 0..2 {
            if world.strikes(Fault::Cancel, dice) {
                acts.push((dice.up_to(world.plan.chaos), Act::Cancel));
            }
        }
        for _ in 0..4 {
            if world.strikes(Fault::Refund, dice) {
                acts.push((dice.up_to(world.plan.chaos + Duration::from_secs(60)), Act::Refund));
            }
        }
        acts
    }

    async fn act(self: Arc<Self>, after: Duration, act: Act) {
        sleep(after).await;
        if let Act::Refund = act {
            self.money_is_there().await;
        }
        for _ in 0..5 {
            let hangs_up = self.world.strikes(Fault::HangUp, &self.dice);
            if let Some(instance) = self.world.fleet.any(&self.dice) {
                let answered = match act {
                    Act::Confirm => self.confirm(&instance, hangs_up).await,
                    Act::Read => self.read(&instance).await,
                    Act::Cancel => self.cancel(&instance, hangs_up).await,
                    Act::Refund => self.refund(&instance, hangs_up).await,
                };
                if answered.is_some() || hangs_up {
                    return;
                }
            }
            sleep(self.dice.millis(100, 20_000)).await;
        }
    }

    fn call(&self) -> Call {
        Call::new(Deadline::after(self.dice.millis(100, 30_000)), None)
    }

    /// `None` when there is no answer that settles anything.
    async fn confirm(&self, instance: &Arc<Instance>, hangs_up: bool) -> Option<()> {
        let ask = Confirm {
            order_id: self.order,
            scope: Scope::Anyone,
            return_url: None,
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
        instance.serve(async move { server.confirm.run(ask, reply).await });
        if hangs_up {
            return None;
        }
        let answer = instance.answer(answer).await?;
        let in_time = asked.elapsed() + Duration::from_millis(50) < patience;
        if in_time && !self.may_queue_past_the_limit(&answer).await {
            self.world.records().unbounded -= 1;
        }
        match answer {
            Ok(Confirmation::Registered { provider, form_url }) => {
                self.world.chronicle.note(|| format!("200: {name} at {provider}"));
                self.holds_form(provider, &form_url);
            }
            Ok(Confirmation::Queued { task_id, .. }) => {
                self.is_promised(instance, task_id).await;
            }
            Err(fault) => {
                self.world.chronicle.note(|| format!("confirming {name} fails: {fault}"));
                self.is_refused(&fault);
                let settled =
                    matches!(fault, ConfirmError::NotConfirmable(_) | ConfirmError::Rejected);
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
            Ok(Confirmation::Registered { .. }) | Err(_) => return false,
        };
        let found = self.world.store.task(*task_id, &Scope::Anyone).await;
        let Ok(Some(view)) = found else { return true };
        let unknown = view.task.reason == Some(Reason::OutcomeUnknown);
        unknown || view.task.state == TaskState::Running
    }

    /// I4: the provider has exactly that registration, for exactly that amount.
    fn holds_form(&self, provider: Provider, form_url: &str) {
        let number = number_of(form_url);
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

    /// A 202: the task is there, and is asked about until it ends.
    async fn is_promised(&self, instance: &Arc<Instance>, task_id: TaskId) {
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
        instance.serve(async move {
            let _ = reply.send(server.poll.run(task_id, &Scope::Anyone, wait).await);
        });
        match instance.answer(answer).await {
            Some(Ok(Some(view))) => {
                self.world.saw(&view.task);
                if let Some(made) = view.registration
                    && let Some(form_url) = made.open_form()
                {
                    self.holds_form(made.provider, form_url);
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

    async fn read(&self, instance: &Arc<Instance>) -> Option<()> {
        let (reply, answer) = oneshot::channel();
        let (server, order) = (Arc::clone(instance), self.order);
        instance.serve(async move {
            let _ = reply.send(server.show.run(order, &Scope::Anyone).await);
        });
        match instance.answer(answer).await?.ok()? {
            Some(dossier) => self.sees(&dossier),
            None => {
                let what = self.world.name(self.order);
                self.world.chronicle.violated("I2 a placed order is readable", what);
            }
        }
        Some(())
    }

    fn sees(&self, dossier: &Dossier) {
        let total = self.world.records().placed.get(&self.order).copied();
        if Some(dossier.order.total) != total {
            let what = format!("{:?} instead of {total:?}", dossier.order.total);
            self.world.chronicle.violated("I6 amounts are as they were confirmed", what);
        }
        let waits = dossier.order.status == OrderStatus::AwaitingPayment;
        if let Some(open) = dossier.open_registration().filter(|_| waits)
            && let Some(form_url) = open.open_form()
        {
            self.holds_form(open.provider, form_url);
        }
    }

    async fn cancel(&self, instance: &Arc<Instance>, hangs_up: bool) -> Option<()> {
        let ask = Cancel { order_id: self.order, scope: Scope::Anyone, call: self.call() };
        self.world.chronicle.note(|| format!("{} is cancelled", self.world.name(self.order)));
        let (reply, answer) = oneshot::channel();
        let server = Arc::clone(instance);
        instance.serve(async move { server.cancel.run(ask, reply).await });
        if hangs_up {
            return None;
        }
        match instance.answer(answer).await? {
            Ok(Cancellation::Queued { task_id, .. }) => self.is_promised(instance, task_id).await,
            Ok(Cancellation::Done) | Err(CancelError::NotCancellable(_)) => {}
            Err(CancelError::NotFound | CancelError::Storage(_)) => return None,
        }
        Some(())
    }

    /// Nobody asks for money back that was not paid, at least not often.
    async fn money_is_there(&self) {
        let order = self.world.order_of(&self.order.to_base32());
        for _ in 0..self.dice.between(0, 20) {
            let paid = |payment: &bank::Payment| {
                payment.order == order && payment.standing == bank::Standing::Paid
            };
            if self.world.banks().iter().any(|bank| bank.ledger().values().any(paid)) {
                return;
            }
            sleep(self.dice.millis(1_000, 15_000)).await;
        }
    }

    /// One of three keys, so that some asks are repeats.
    fn refund_key(&self) -> KeyedRefund {
        let key = format!("refund-{}-{}", self.place, self.dice.below(3));
        self.world.records().refund_keys.insert(key.clone(), self.order);
        KeyedRefund {
            key: IdempotencyKey { owner: "shop".to_owned(), route: "refunds", key },
            fingerprint: [7; 32],
            render: Box::new(|task| (202, task.to_string().into_bytes())),
        }
    }

    async fn refund(&self, instance: &Arc<Instance>, hangs_up: bool) -> Option<()> {
        let part = Money::rub(self.dice.pick(&[1, 5_000, 15_000])).expect("a small sum");
        let ask = Refund {
            order_id: self.order,
            scope: Scope::Anyone,
            amount: self.dice.chance(0.6).then_some(part),
            keyed: Some(self.refund_key()),
            call: self.call(),
        };
        self.world.chronicle.note(|| {
            format!(
                "{} asks for {:?} back, #{}",
                self.world.name(self.order),
                ask.amount,
                self.place
            )
        });
        let (reply, answer) = oneshot::channel();
        let server = Arc::clone(instance);
        instance.serve(async move { server.refund.run(ask, reply).await });
        if hangs_up {
            return None;
        }
        match instance.answer(answer).await? {
            Ok(Refunding::Queued { task_id, .. }) => self.is_promised(instance, task_id).await,
            Ok(Refunding::Done) => {}
            Err(RefundError::Storage(_)) => return None,
            Err(_) => {}
        }
        Some(())
    }
}
