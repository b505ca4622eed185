//! The operator: lets tasks run, gives them up, and answers what is unknown by looking at the ledgers,
//! as a person would who has called the bank.

use super::audit::all_tasks;
use super::dice::Dice;
use super::faults::Fault;
use super::instance::Instance;
use super::world::World;
use order_service::core::domain::provider::ProviderNumber;
use order_service::core::payment::operator::OperatorFinding;
use order_service::core::payment::registration::RegistrationState;
use order_service::core::payment::task::{Reason, Task, TaskKind};
use order_service::core::ports::order_repository::{OrderRepository, Scope};
use order_service::core::use_cases::operate_tasks::{Deed, Operation};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// A person who says that nothing was executed has waited until nothing can be under way any more: a
/// lease, the longest call, and what a network may keep.
const NOTHING_UNDER_WAY: Duration = Duration::from_secs(300);

/// Through the chaos and some time after it.
pub async fn watch_over(world: Arc<World>) {
    let dice = Dice::new(world.seed, "operator", 0);
    let rounds = if world.destined(Fault::Operator, &dice) { dice.between(1, 12) } else { 0 };
    for _ in 0..rounds {
        sleep(dice.up_to(world.plan.chaos / 4)).await;
        let tasks = all_tasks(&world).await;
        if tasks.is_empty() {
            continue;
        }
        let task = tasks[dice.below(tasks.len())].clone();
        let Some(operation) = intention(&world, &dice, &task).await else { continue };
        if let Some(instance) = world.fleet.any(&dice) {
            operate(&world, &instance, &task, operation).await;
        }
    }
}

/// What a reasonable person does about a task, if anything.
async fn intention(world: &World, dice: &Dice, task: &Task) -> Option<Operation> {
    match dice.below(4) {
        0 => Some(Operation::Cancel),
        1 => Some(Operation::Retry),
        2.. => {
            let (finding, number) = finding(world, dice, task).await?;
            Some(Operation::Resolve { finding, number: Some(number) })
        }
    }
}

/// The truth, that it is seen to, or what is not so.
async fn finding(
    world: &World,
    dice: &Dice,
    task: &Task,
) -> Option<(OperatorFinding, ProviderNumber)> {
    let wrong = world.strikes(Fault::Misjudgement, dice);
    let settled = dice.chance(0.2);
    let (aggregate, refund) = {
        let aggregate = world.store.aggregate(task.order_id, &Scope::Anyone).await.ok()??;
        let refund = aggregate.refund_of(task.id).filter(|r| r.state.is_in_doubt()).cloned();
        (aggregate, refund)
    };
    let Some(refund) = refund.filter(|_| wrong || settled) else { return truth(world, task).await };
    let row = aggregate.registration(refund.provider, refund.sequence)?;
    if settled {
        world.records().settled.insert(refund.key.as_str().to_owned());
        return Some((OperatorFinding::Settled, row.number.clone()));
    }
    let order = world.order_of(&task.order_id.to_base32());
    world.records().misjudged.insert(order);
    Some((OperatorFinding::Executed, row.number.clone()))
}

/// What the ledger says about the order's registration whose outcome is open.
async fn truth(world: &World, task: &Task) -> Option<(OperatorFinding, ProviderNumber)> {
    let aggregate = world.store.aggregate(task.order_id, &Scope::Anyone).await.ok()??;
    if let Some(refund) = aggregate.refund_of(task.id).filter(|r| r.state.is_in_doubt()) {
        let row = aggregate.registration(refund.provider, refund.sequence)?;
        let payment = world.bank(refund.provider).payment(row.number.as_str())?;
        if payment.refunds.iter().any(|(id, _)| id == refund.key.as_str()) {
            return Some((OperatorFinding::Executed, row.number.clone()));
        }
        let old = refund.sent_at.is_none_or(|sent| world.now() > sent + NOTHING_UNDER_WAY);
        return old.then(|| (OperatorFinding::NotExecuted, row.number.clone()));
    }
    let open = aggregate.open_registration()?;
    if world.bank(open.provider).payment(open.number.as_str()).is_some() {
        return Some((OperatorFinding::Executed, open.number.clone()));
    }
    let old = open.sent_at.is_none_or(|sent| world.now() > sent + NOTHING_UNDER_WAY);
    let unknown = open.state == RegistrationState::Unknown;
    (old && unknown).then(|| (OperatorFinding::NotExecuted, open.number.clone()))
}

async fn operate(world: &World, instance: &Arc<Instance>, task: &Task, operation: Operation) {
    if task.kind == TaskKind::RefundPayment && task.reason == Some(Reason::Operator) {
        world.records().own_refunds.insert(task.id);
    }
    let (name, id, wanted) = (world.task_name(task.id), task.id, operation.clone());
    world.chronicle.note(|| format!("the operator says of {name}: {}", shown(world, &wanted)));
    let (reply, answer) = oneshot::channel();
    let server = Arc::clone(instance);
    instance.serve(async move {
        // An operator whose instance has died looks again.
        let (by, reason) = ("operator".to_owned(), "the ledger says so".to_owned());
        let deed = Deed { operation, by, reason };
        let _ = reply.send(server.operate.run(id, deed).await);
    });
    let answer = instance.answer(answer).await;
    world.chronicle.note(|| format!("the operator is told of {name}: {answer:?}"));
    if answer == Some(Ok(())) && task.state.is_final() && !resolves(&wanted) {
        let what = format!("{name} {} {}", task.state.as_str(), shown(world, &wanted));
        world.chronicle.violated("final answers stay", what);
    }
}

/// Without the order's id, which has the clock in it.
fn shown(world: &World, operation: &Operation) -> String {
    match operation {
        Operation::Retry => "retry".to_owned(),
        Operation::Cancel => "cancel".to_owned(),
        Operation::Resolve { finding, number, .. } => {
            let number = number.as_ref().map(|number| world.number(number.as_str()));
            format!("{finding:?} {number:?}")
        }
    }
}

fn resolves(operation: &Operation) -> bool {
    matches!(operation, Operation::Resolve { .. })
}
