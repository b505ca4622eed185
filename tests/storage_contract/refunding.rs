//! Refunds: rows of their own, kept with their order for ever.

use crate::world::{START, World, kept_for, refund, registration, task, with_state};
use order_service::core::domain::ids::{OrderId, TaskId};
use order_service::core::domain::money::Money;
use order_service::core::domain::provider::Provider;
use order_service::core::payment::refund::{Refund, RefundKey, RefundOrigin, RefundState};
use order_service::core::payment::registration::RegistrationState;
use order_service::core::payment::task::{TaskKind, TaskState};
use order_service::core::ports::order_repository::Scope;
use std::time::Duration;

const LATER: Duration = Duration::from_secs(5);

async fn paid(world: &World) -> OrderId {
    let id = world.placed("c-1").await.id;
    let paid = with_state(registration(id, Provider::Sber, 1), RegistrationState::Paid);
    world.change(id, move |d, _| d.registrations.push(paid.clone())).await.unwrap();
    id
}

fn full(order: OrderId) -> Refund {
    let rub = |minor| Money::rub(minor).unwrap();
    let key = RefundKey::of_sighting(order, Provider::Sber, 1, rub(700));
    Refund {
        key,
        amount: rub(700),
        state: RefundState::InDoubt,
        origin: RefundOrigin::LateMoney,
        told_before: Some(rub(0)),
        sent_at: Some(START),
        sends: 2,
        acknowledged: true,
        unchanged: 4,
        ..refund(order, TaskId::new(9))
    }
}

pub async fn a_refund_is_committed_with_its_task_and_reads_back(world: World) {
    let id = paid(&world).await;
    let planned = task(id, TaskKind::RefundPayment, START);
    let elsewhere =
        Refund { origin: RefundOrigin::Elsewhere, task: None, ..refund(id, TaskId::new(1)) };
    let mut expected = vec![refund(id, planned.id), full(id), elsewhere];
    let (new, newer) = (expected.clone(), planned.clone());
    world
        .change(id, move |aggregate, _| {
            aggregate.refunds.clone_from(&new);
            aggregate.tasks.push(newer.clone());
        })
        .await
        .unwrap();
    expected.sort_by_key(|refund| (refund.created_at, refund.key.clone()));
    let stored = world.aggregate(id).await;
    assert_eq!((stored.refunds, stored.tasks), (expected, vec![planned]));
}

pub async fn a_refund_moves_on_and_its_neighbours_stay_as_they_are(world: World) {
    let id = paid(&world).await;
    let (moves, stays) = (full(id), refund(id, TaskId::new(1)));
    let new = [moves.clone(), stays.clone()];
    world.change(id, move |d, _| d.refunds.extend(new.clone())).await.unwrap();
    world.advance(LATER);
    let key = moves.key.clone();
    world
        .change(id, move |aggregate, _| {
            let refund = aggregate.refunds.iter_mut().find(|refund| refund.key == key).unwrap();
            refund.state = RefundState::Done;
            refund.task = None;
            refund.told_before = None;
            refund.sent_at = None;
            (refund.sends, refund.acknowledged, refund.unchanged) = (3, false, 0);
        })
        .await
        .unwrap();
    let after = world.aggregate(id).await.refunds;
    let done = Refund {
        state: RefundState::Done,
        task: None,
        told_before: None,
        sent_at: None,
        sends: 3,
        acknowledged: false,
        unchanged: 0,
        updated_at: START + LATER,
        ..moves
    };
    assert_eq!(after.len(), 2);
    assert!(after.contains(&done) && after.contains(&stays), "{after:?}");
}

pub async fn every_word_about_a_refund_is_one_of_the_schema(world: World) {
    let id = paid(&world).await;
    let states = RefundState::ALL.into_iter().map(|state| (state, RefundOrigin::Client));
    let origins = RefundOrigin::ALL.into_iter().map(|origin| (RefundState::Done, origin));
    for (place, (state, origin)) in states.chain(origins).enumerate() {
        let task = TaskId::new(u128::try_from(place).unwrap() + 1);
        let new = Refund { state, origin, ..refund(id, task) };
        world.change(id, move |d, _| d.refunds.push(new.clone())).await.unwrap();
    }
    let stored = world.aggregate(id).await.refunds;
    assert_eq!(stored.len(), RefundState::ALL.len() + RefundOrigin::ALL.len());
}

pub async fn a_refund_outlives_its_task(world: World) {
    let id = paid(&world).await;
    let gone = task(id, TaskKind::RefundPayment, START);
    let (kept, made) = (refund(id, gone.id), gone.clone());
    let new = kept.clone();
    world
        .change(id, move |aggregate, _| {
            aggregate.refunds.push(new.clone());
            aggregate.tasks.push(made.clone());
        })
        .await
        .unwrap();
    world.change(id, |d, _| d.tasks[0].state = TaskState::Succeeded).await.unwrap();
    world.advance(LATER);
    assert_eq!(world.store.prune(&kept_for(Duration::ZERO)).await, Ok(1));
    assert_eq!(world.aggregate(id).await.refunds, [kept]);
}

pub async fn an_accepted_cancel_is_kept_and_its_task_tells_of_the_refund(world: World) {
    let id = paid(&world).await;
    let mut cancel = task(id, TaskKind::CancelPayment, START);
    cancel.result = Some((Provider::Sber, 1));
    let giving_back = task(id, TaskKind::RefundPayment, START);
    let promised = Refund { origin: RefundOrigin::Cancel, ..refund(id, giving_back.id) };
    let poll = task(id, TaskKind::SyncPayment, START);
    let tasks = vec![cancel.clone(), giving_back.clone(), poll.clone()];
    let new = promised.clone();
    world
        .change(id, move |aggregate, context| {
            aggregate.order.cancel_requested_at = Some(context.now);
            aggregate.tasks.clone_from(&tasks);
            aggregate.refunds.push(new.clone());
        })
        .await
        .unwrap();
    assert_eq!(world.aggregate(id).await.order.cancel_requested_at, Some(START));
    for (task, told) in [(cancel.id, true), (giving_back.id, true), (poll.id, false)] {
        let view = world.store.task(task, &Scope::Anyone).await.unwrap().unwrap();
        let about = |refund: Refund| (refund.key, refund.amount);
        let expected = told.then(|| about(promised.clone()));
        assert_eq!(view.refund.map(about), expected, "{:?}", view.task.kind);
    }
}
