//! The partners' ledgers beside what is stored, after every commit. The truth may be ahead of what is
//! stored, never behind.

use super::bank::{Payment, Standing};
use super::port::exact;
use super::world::World;
use order_service::core::domain::ids::OrderId;
use order_service::core::domain::order::OrderStatus;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::registration::{Ending, Registration, RegistrationState};
use order_service::core::payment::task::{Reason, Task, TaskKind, TaskState};
use order_service::core::ports::order_repository::{OrderRepository, Scope};
use order_service::core::ports::task_queue::{TaskQuery, TaskQueue};

/// What is stored about an order, after a commit.
pub async fn look_at(world: &World, who: &str, id: OrderId) {
    let Ok(Some(aggregate)) = world.store.aggregate(id, &Scope::Anyone).await else { return };
    world.chronicle.note(|| format!("{who} has committed {}", shown(world, &aggregate)));
    for registration in &aggregate.registrations {
        compare(world, registration);
    }
    let paid = matches!(aggregate.order.status, OrderStatus::Paid | OrderStatus::Refunded);
    let money = |r: &Registration| r.state == RegistrationState::Paid;
    if paid != aggregate.registrations.iter().any(money) {
        let what = shown(world, &aggregate);
        world.chronicle.violated("I5 paid is what a provider says", what);
    }
    if world.plan.policy.queue_max < 100 {
        queue_is_bounded(world).await;
    }
}

pub fn shown(world: &World, aggregate: &OrderAggregate) -> String {
    let registrations: Vec<String> = aggregate
        .registrations
        .iter()
        .map(|r| format!("{} {:02} {}{}", r.provider, r.sequence, r.state.as_str(), sync_mark(r)))
        .collect();
    let tasks: Vec<String> = aggregate
        .tasks
        .iter()
        .map(|t| {
            let (name, kind) = (world.task_name(t.id), t.kind.as_str());
            let wait = t.run_at.since(world.now()).as_secs_f64();
            format!("{name} {kind} {} {:?} in {wait:.1}s", t.state.as_str(), t.reason)
        })
        .collect();
    let (name, status) = (world.name(aggregate.order.id), aggregate.order.status.as_str());
    format!("{name} {status} [{}] [{}]", registrations.join(", "), tasks.join(", "))
}

fn sync_mark(registration: &Registration) -> &'static str {
    if registration.sync_requested() { " (sync_requested)" } else { "" }
}

/// A stored fact beside the truth.
fn compare(world: &World, registration: &Registration) {
    let truth = world.bank(registration.provider).payment(registration.number.as_str());
    let standing = truth.as_ref().map(|payment| payment.standing);
    let agrees = match registration.state {
        RegistrationState::Intent | RegistrationState::Unknown => true,
        RegistrationState::Live => standing.is_some(),
        RegistrationState::Paid | RegistrationState::Surplus => {
            standing == Some(Standing::Paid) && truth.as_ref().is_some_and(exact)
        }
        RegistrationState::Absent => standing.is_none(),
        RegistrationState::Dead if registration.ending == Some(Ending::Refused) => {
            standing.is_none()
        }
        RegistrationState::Dead => truth.as_ref().is_some_and(|payment| !payment.live()),
    };
    let refunded = truth.as_ref().map_or(0, Payment::refunded);
    let number = world.number(registration.number.as_str());
    if !agrees {
        let state = registration.state.as_str();
        let what =
            format!("{number} at {} is {state}, in truth {standing:?}", registration.provider);
        world.chronicle.violated("facts are true", what);
    }
    let misjudged = world.order_of(registration.number.as_str());
    let misjudged = world.records().misjudged.contains(&misjudged);
    if registration.refunded.minor() > refunded && !misjudged {
        let what = format!("{number}: {:?}, in truth {refunded}", registration.refunded);
        world.chronicle.violated("I6 no amount that nobody confirmed", what);
    }
}

/// I8. Who was answered 202 before anything was known has to be queued, full or not; and a task that a
/// worker holds leaves a place that others may take before it comes back.
async fn queue_is_bounded(world: &World) {
    let waits = |task: &&Task| {
        task.state == TaskState::Queued
            && task.kind == TaskKind::RegisterPayment
            && task.reason != Some(Reason::OutcomeUnknown)
    };
    let waiting = all_tasks(world).await.iter().filter(waits).count();
    let waiting = u64::try_from(waiting).unwrap_or(u64::MAX);
    let held = u64::try_from(world.plan.instances * world.plan.workers).unwrap_or(u64::MAX);
    let most = world.plan.policy.queue_max + world.records().unbounded + held;
    if waiting > most {
        let what = format!("{waiting} tasks wait, {most} may");
        world.chronicle.violated("I8 the queue is bounded", what);
    }
}

pub async fn all_tasks(world: &World) -> Vec<Task> {
    let all = TaskQuery { limit: usize::MAX, ..TaskQuery::default() };
    world.store.tasks(&all).await.unwrap_or_default()
}
