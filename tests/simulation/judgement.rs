//! The end of a run: time passes until nothing is left to do, then ledgers, rows and promises are laid
//! side by side.

use super::audit::{all_tasks, shown};
use super::bank::{Bank, Payment, Standing};
use super::port::exact;
use super::world::World;
use order_service::core::domain::ids::OrderId;
use order_service::core::domain::provider::Provider;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::refund::{Refund, RefundOrigin, RefundState};
use order_service::core::payment::registration::{Registration, RegistrationState};
use order_service::core::payment::task::{Reason, Task, TaskError, TaskKind, TaskState};
use order_service::core::ports::order_repository::{OrderQuery, OrderRepository, Scope};
use order_service::core::ports::task_queue::TaskQueue;
use std::time::Duration;
use tokio::time::sleep;

/// When every promise is to be kept, counted from the healing: the longest pause between two
/// questions is five minutes, and three answers may be needed.
const PROMISES_KEPT: Duration = Duration::from_secs(40 * 60);

/// When at the latest nothing is left to do.
const QUIET: Duration = Duration::from_secs(3 * 3600);

/// So many lost leases make a task a person's matter.
const POISON: u32 = 10;

/// Lets time pass until nothing is left to do. I3: promises are kept within bounded time.
pub async fn until_quiet(world: &World) {
    let healed = world.elapsed();
    let mut asked = false;
    loop {
        let (open, passed) = (unfinished(world).await, world.elapsed() - healed);
        if open.is_empty() && !payers_may_act(world) {
            return;
        }
        if passed > PROMISES_KEPT && !asked {
            asked = true;
            let late: Vec<_> = open.iter().filter(|task| is_promised(world, task)).collect();
            if !late.is_empty() {
                let names: Vec<_> = late.iter().map(|task| world.task_name(task.id)).collect();
                world.chronicle.violated("I3 every 202 ends", names.join(", "));
                return;
            }
        }
        if passed > QUIET {
            let names: Vec<_> = open.iter().map(|task| world.task_name(task.id)).collect();
            world.chronicle.violated("I3 it becomes quiet", names.join(", "));
            return;
        }
        sleep(Duration::from_secs(30)).await;
    }
}

fn is_promised(world: &World, task: &Task) -> bool {
    world.records().promised.contains_key(&task.id)
}

fn payers_may_act(world: &World) -> bool {
    let pending = |payment: &Payment| payment.standing == Standing::Pending;
    world.banks().iter().any(|bank| bank.ledger().values().any(pending))
}

/// Tasks that nobody but time can end: not those that wait for a person.
async fn unfinished(world: &World) -> Vec<Task> {
    let tasks = all_tasks(world).await;
    let in_review = |order: OrderId| {
        tasks.iter().any(|task| task.order_id == order && task.state == TaskState::Review)
    };
    let open = |task: &&Task| {
        let polls_on = task.kind == TaskKind::SyncPayment && in_review(task.order_id);
        !task.state.is_final() && task.reason != Some(Reason::Operator) && !polls_on
    };
    tasks.iter().filter(open).cloned().collect()
}

/// The last judgement.
pub async fn judge(world: &World) {
    let placed: Vec<_> = world.records().placed.clone().into_iter().collect();
    for (id, total) in placed {
        match world.store.aggregate(id, &Scope::Anyone).await {
            Ok(Some(aggregate)) => {
                if aggregate.order.total != total {
                    let what = format!("{:?} instead of {total:?}", aggregate.order.total);
                    world.chronicle.violated("I6 amounts are as they were confirmed", what);
                }
            }
            Ok(None) | Err(_) => {
                world.chronicle.violated("I2 a placed order is readable", world.name(id));
            }
        }
    }
    let promised: Vec<_> = world.records().promised.keys().copied().collect();
    for id in promised {
        if !matches!(world.store.task(id, &Scope::Anyone).await, Ok(Some(_))) {
            world.chronicle.violated("I2 a promised task is readable", world.task_name(id));
        }
    }
    let tasks = all_tasks(world).await;
    for task in &tasks {
        world.saw(task);
        if !task.state.is_final() && world.records().finals.contains_key(&task.id) {
            let what = format!("{} was final and is not", world.task_name(task.id));
            world.chronicle.violated("final answers stay", what);
        }
        judge_task(world, task);
    }
    a_person_was_told(world, &tasks);
    let everything = OrderQuery { limit: usize::MAX, ..OrderQuery::default() };
    let aggregates = world.store.list(&everything, &Scope::Anyone).await.unwrap_or_default();
    if aggregates.len() > world.plan.orders {
        let what = format!("{} orders by {} keys", aggregates.len(), world.plan.orders);
        world.chronicle.violated("I9 one key, one effect", what);
    }
    for aggregate in &aggregates {
        let own = |task: &&Task| task.order_id == aggregate.order.id;
        let tasks: Vec<&Task> = tasks.iter().filter(own).collect();
        judge_order(world, aggregate, &tasks);
    }
}

fn judge_task(world: &World, task: &Task) {
    if task.state == TaskState::Review {
        let name = world.task_name(task.id);
        world.records().tally.reviews += 1;
        let order = world.order_of(&task.order_id.to_base32());
        let by_hand = |p: &Payment| p.refunds.iter().any(|(id, _)| is_by_hand(id));
        // What a person was wrong about contradicts the bank, and what they called settled may yet land.
        let by_word = world.records().misjudged.contains(&order) || settled_some(world, task);
        let odd = payments_of(world, order)
            .iter()
            .any(|p| !exact(p) || p.slipped || p.held || by_hand(p));
        let old = task.updated_at >= task.deadline;
        let justified = match task.error {
            Some(TaskError::LeaseLost) => task.lost_leases >= POISON,
            Some(TaskError::OutcomeUnknown) => old || keyless_refund(world, task),
            Some(TaskError::Mismatch) => odd || by_word,
            Some(_) | None => false,
        };
        if !justified {
            let what = format!("{name} ({:?}) for {:?}", task.kind, task.error);
            world.chronicle.violated("a person is asked for a reason", what);
        }
    }
}

/// I12: what waits for a person was told, unless the one who should have told it died or never learnt
/// that it was committed: then the gauges tell.
fn a_person_was_told(world: &World, tasks: &[Task]) {
    let records = world.records();
    if records.muted {
        return;
    }
    for kind in TaskKind::ALL {
        let waits = tasks.iter().filter(|t| t.kind == kind && t.state == TaskState::Review).count();
        let told = records.told.get(kind.as_str()).copied().unwrap_or(0);
        if told < u64::try_from(waits).unwrap_or(u64::MAX) {
            let what = format!("{waits} of {} wait, {told} were told", kind.as_str());
            world.chronicle.violated("I12 a person is told", what);
        }
    }
}

/// A refund in doubt at a bank that knows no keys for them: nothing but a person can tell.
fn keyless_refund(world: &World, task: &Task) -> bool {
    let sber = task.result.is_some_and(|(provider, _)| provider == Provider::Sber);
    task.kind == TaskKind::RefundPayment && sber && !world.plan.refund_key
}

/// Whether a person called a refund of the task's order settled.
fn settled_some(world: &World, task: &Task) -> bool {
    let records = world.records();
    let of_it = |bank: &Bank| {
        let ledger = bank.ledger();
        let mut refunds = ledger.values().flat_map(|payment| payment.refunds.iter());
        refunds.any(|(id, _)| records.settled.contains(id))
    };
    task.kind == TaskKind::RefundPayment && world.banks().iter().any(of_it)
}

fn is_by_hand(refund_id: &str) -> bool {
    refund_id.starts_with("cabinet")
}

/// What was given back of an order at one provider.
fn refunds_about(world: &World, order: usize, provider: Provider) -> Vec<(String, i64)> {
    let ledger = world.bank(provider).ledger();
    ledger.values().filter(|p| p.order == order).flat_map(|p| p.refunds.clone()).collect()
}

/// A refund has the effect that its row and its task tell of.
fn judge_refund(world: &World, order: usize, refund: &Refund, task: Option<&Task>) {
    if refund.origin == RefundOrigin::Elsewhere || world.records().misjudged.contains(&order) {
        return;
    }
    let key = refund.key.as_str();
    let (wanted, refunds) = (refund.amount.minor(), refunds_about(world, order, refund.provider));
    let given: Vec<i64> =
        refunds.iter().filter(|(id, _)| id == key).map(|(_, minor)| *minor).collect();
    let by_hand = refunds.iter().any(|(id, minor)| is_by_hand(id) && *minor == wanted);
    let agrees = match refund.state {
        // Made by hand for just the sum in doubt: no report can tell it from ours (rule 11).
        RefundState::Done => given == [wanted] || (given.is_empty() && by_hand),
        // What a person called settled is theirs to answer for.
        RefundState::Cancelled if world.records().settled.contains(key) => given.len() <= 1,
        RefundState::Planned
        | RefundState::Refused
        | RefundState::Cancelled
        | RefundState::Expired => given.is_empty(),
        RefundState::Sent | RefundState::InDoubt | RefundState::Review => given.len() <= 1,
    };
    let told = match task.map(|task| task.state) {
        Some(TaskState::Succeeded) => refund.state == RefundState::Done,
        Some(TaskState::Failed | TaskState::Cancelled) => {
            matches!(
                refund.state,
                RefundState::Refused | RefundState::Cancelled | RefundState::Expired
            )
        }
        Some(TaskState::Review | TaskState::Queued | TaskState::Running) | None => true,
    };
    if !agrees || !told {
        let task = task.map(|task| task.state.as_str());
        let what = format!("{} of {wanted} ({task:?}), in truth {given:?}", refund.state.as_str());
        world.chronicle.violated("a refund is what its row says", what);
    }
}

fn payments_of(world: &World, order: usize) -> Vec<Payment> {
    let of_it = |bank: &Bank| {
        bank.ledger().values().filter(|p| p.order == order).cloned().collect::<Vec<_>>()
    };
    world.banks().iter().flat_map(of_it).collect()
}

/// Refunds that a client asked for: those for late money, and for a cancel that came too late, are the
/// service's own.
fn asked_refunds(world: &World, aggregate: &OrderAggregate, tasks: &[&Task]) -> usize {
    let mut own = world.records().own_refunds.clone();
    let promised = aggregate.refunds.iter().filter(|it| it.origin == RefundOrigin::Cancel);
    own.extend(promised.filter_map(|refund| refund.task));
    let asked = |task: &&&Task| {
        task.kind == TaskKind::RefundPayment
            && task.reason != Some(Reason::Operator)
            && !own.contains(&task.id)
    };
    tasks.iter().filter(asked).count()
}

fn judge_order(world: &World, aggregate: &OrderAggregate, tasks: &[&Task]) {
    let order = world.order_of(&aggregate.order.id.to_base32());
    let keys = world.records().refund_keys.values().filter(|id| **id == aggregate.order.id).count();
    let asked = asked_refunds(world, aggregate, tasks);
    if asked > keys {
        let what = format!("{asked} refunds by {keys} keys");
        world.chronicle.violated("I9 one key, one effect", what);
    }
    for refund in &aggregate.refunds {
        let task = tasks.iter().find(|task| Some(task.id) == refund.task);
        judge_refund(world, order, refund, task.copied());
    }
    let reviewed = tasks.iter().any(|task| task.state == TaskState::Review);
    for row in &aggregate.registrations {
        late_money_has_its_refund(world, aggregate, row);
        a_cancel_is_kept(world, aggregate, row);
        refunds_are_explained(world, aggregate, row);
        if !reviewed {
            doubt_has_ended(world, aggregate, row);
        }
    }
    for bank in world.banks() {
        let payments: Vec<Payment> =
            bank.ledger().values().filter(|p| p.order == order).cloned().collect();
        for payment in payments {
            let row = aggregate
                .registrations
                .iter()
                .find(|r| r.provider == bank.provider && r.number.as_str() == payment.number);
            match row {
                None => {
                    let what = world.number(&payment.number);
                    world.chronicle.violated("a row before a byte", what);
                }
                // A person's matter, or news that no question can find.
                Some(_) if reviewed || !exact(&payment) => {}
                Some(row) => judge_registration(world, aggregate, &payment, row),
            }
        }
    }
}

/// I10: what a provider gave back is what our rows say.
fn refunds_are_explained(world: &World, aggregate: &OrderAggregate, row: &Registration) {
    let Some(payment) = world.bank(row.provider).payment(row.number.as_str()) else { return };
    let open = aggregate.refunds.iter().any(|refund| refund.is_of(row) && refund.state.is_open());
    let (given, explained) = (payment.refunded(), aggregate.explained(row).minor());
    let known = matches!(row.state, RegistrationState::Paid | RegistrationState::Surplus);
    let misjudged = world.records().misjudged.contains(&payment.order);
    if known && !misjudged && !open && exact(&payment) && given != explained {
        let what = format!("{given} given back, {explained} explained");
        world.chronicle.violated("I10 what was given back is explained", what);
    }
}

/// I12: of a registration that nobody was asked about it is known in the end what became of it.
fn doubt_has_ended(world: &World, aggregate: &OrderAggregate, row: &Registration) {
    let open = match row.state {
        RegistrationState::Intent | RegistrationState::Unknown | RegistrationState::Live => true,
        RegistrationState::Paid
        | RegistrationState::Dead
        | RegistrationState::Absent
        | RegistrationState::Surplus => false,
    };
    let mut refunds = aggregate.refunds.iter().filter(|refund| refund.is_of(row));
    if open || refunds.any(|refund| refund.state.is_in_doubt()) {
        world.chronicle.violated("I12 every doubt ends", shown(world, aggregate));
    }
}

/// I10: money that nobody wanted any more has its refund, or a person's word against it.
fn late_money_has_its_refund(world: &World, aggregate: &OrderAggregate, row: &Registration) {
    if row.unwanted().is_some() && !aggregate.refunds.iter().any(|refund| refund.is_of(row)) {
        let what = shown(world, aggregate);
        world.chronicle.violated("I10 late money has its refund", what);
    }
}

/// I15: an accepted cancel whose order turned out to be paid has its refund.
fn a_cancel_is_kept(world: &World, aggregate: &OrderAggregate, row: &Registration) {
    let heard = world.records().accepted_cancels.contains_key(&aggregate.order.id);
    let held = row.state == RegistrationState::Paid && row.refunded.minor() < row.amount.minor();
    if heard && held && !aggregate.refunds.iter().any(|refund| refund.is_of(row)) {
        let what = shown(world, aggregate);
        world.chronicle.violated("I15 an accepted cancel gives back", what);
    }
}

fn judge_registration(
    world: &World,
    aggregate: &OrderAggregate,
    payment: &Payment,
    row: &Registration,
) {
    let agrees = match payment.standing {
        Standing::Pending => false,
        // Paid after it was called over: the looks find it, and it is to be given back.
        Standing::Paid if payment.revived => {
            matches!(row.state, RegistrationState::Paid | RegistrationState::Surplus)
        }
        Standing::Paid => row.state == RegistrationState::Paid,
        Standing::Over(_) => row.state == RegistrationState::Dead,
    };
    if !agrees {
        let what = format!("{:?}, stored {}", payment.standing, shown(world, aggregate));
        world.chronicle.violated("in the end the truth is stored", what);
    }
}
