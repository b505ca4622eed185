//! Decisions on an aggregate.

use crate::world::{START, World, lease, order, registration, task, with_state};
use order_service::core::domain::ids::TaskId;
use order_service::core::domain::money::Money;
use order_service::core::domain::order::{Order, OrderStatus};
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::dispute::{Dispute, Side};
use order_service::core::payment::registration::{
    Decline, Ending, Registration, RegistrationState,
};
use order_service::core::payment::task::{Reason, Task, TaskError, TaskKind, TaskState};
use order_service::core::ports::order_repository::{LoadOptions, Scope, SideWrites, TxContext};
use std::sync::Arc;
use std::time::Duration;

const LATER: Duration = Duration::from_secs(5);

pub async fn no_order_no_decision(world: World) {
    let nobody = order("c-1").id;
    let decided = world.change(nobody, |_, _| panic!("there is nothing to decide on")).await;
    assert_eq!(decided, Ok(None));
}

pub async fn a_decision_that_changes_nothing_writes_nothing(world: World) {
    let placed = world.placed("c-1").await;
    world.advance(LATER);
    let touched = |aggregate: &mut OrderAggregate, context: &TxContext| {
        aggregate.order.updated_at = context.now
    };
    assert_eq!(world.change(placed.id, touched).await, Ok(Some(())));
    assert_eq!(world.aggregate(placed.id).await.order, placed);
}

pub async fn only_what_differs_is_raised(world: World) {
    let placed = world.placed("c-1").await;
    let id = placed.id;
    world
        .change(id, move |aggregate, context| {
            assert_eq!((context.now, context.waiting), (START, None));
            aggregate.registrations.push(registration(id, Provider::Sber, 1));
            aggregate.tasks.push(task(id, TaskKind::RegisterPayment, context.now));
            aggregate.tasks.push(task(id, TaskKind::SyncPayment, context.now));
        })
        .await
        .unwrap();
    let before = world.aggregate(id).await;
    assert_eq!((before.order.version, before.order.updated_at), (2, START));
    world.advance(LATER);
    world
        .change(id, |aggregate, _| {
            let sync = aggregate.tasks.iter_mut().find(|task| task.kind == TaskKind::SyncPayment);
            sync.unwrap().attempts = 1;
        })
        .await
        .unwrap();
    let after = world.aggregate(id).await;
    let now = START + LATER;
    assert_eq!(after.order, Order { version: 3, updated_at: now, ..before.order });
    assert_eq!(after.registrations, before.registrations);
    for (after, before) in after.tasks.into_iter().zip(before.tasks) {
        if before.kind == TaskKind::SyncPayment {
            assert_eq!(after, Task { attempts: 1, version: 2, updated_at: now, ..before });
        } else {
            assert_eq!(after, before);
        }
    }
}

fn full_registration(intent: Registration) -> Registration {
    Registration {
        state: RegistrationState::Dead,
        ending: Some(Ending::Declined),
        decline: Some(Decline::LimitExceeded),
        return_url: Some("https://shop.example/?a=«2»".into()),
        external_id: Some("ext \"1\"".into()),
        form_url: Some("https://pay.example/?a=1&b=«2»".into()),
        sent_at: Some(START),
        not_found: 2,
        cancel_sent_at: Some(START + LATER),
        given_up_at: Some(START),
        sync_requested_at: Some(START + LATER),
        paid_late: true,
        ended_at: Some(START),
        looks: 3,
        strange_since: Some(START + LATER),
        contradiction: Some("N-1, 100 RUB, «paid»".into()),
        registered_at: Some(START),
        paid_at: Some(START + LATER),
        expires_at: Some(START + LATER),
        refunded: Money::rub(5).unwrap(),
        evidence: "declined".into(),
        ..intent
    }
}

fn full_task(task: Task) -> Task {
    Task {
        state: TaskState::Running,
        reason: Some(Reason::OutcomeUnknown),
        lane: Some(Provider::OdnaKassa),
        attempts: 3,
        lost_leases: 1,
        lease: Some(lease("i-1", START + LATER)),
        result: Some((Provider::Sber, 1)),
        error: Some(TaskError::Mismatch),
        dispute: Some(Dispute {
            theirs: Side { sum: None, record: "number «T'1\"».".into() },
            ours: Side { sum: Some(Money::rub(5).unwrap()), record: "number T-1".into() },
        }),
        trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
        return_url: Some("https://shop.example/back".into()),
        form_lifetime: Some(Duration::from_secs(3_600)),
        ..task
    }
}

pub async fn everything_of_a_registration_and_a_task_reads_back(world: World) {
    let id = world.placed("c-1").await.id;
    let dead = full_registration(registration(id, Provider::Sber, 1));
    let intent = registration(id, Provider::OdnaKassa, 2);
    let running = full_task(task(id, TaskKind::RefundPayment, START));
    let plain = task(id, TaskKind::SyncPayment, START);
    let mut expected = vec![running.clone(), plain.clone()];
    expected.sort_by_key(|task| task.id);
    let new = (vec![intent.clone(), dead.clone()], expected.clone());
    world
        .change(id, move |aggregate, _| {
            aggregate.registrations.clone_from(&new.0);
            aggregate.tasks.clone_from(&new.1);
            aggregate.order.status = OrderStatus::Refunded;
        })
        .await
        .unwrap();
    let stored = world.aggregate(id).await;
    assert_eq!(stored.order.status, OrderStatus::Refunded);
    assert_eq!(stored.registrations, vec![dead.clone(), intent.clone()]);
    assert_eq!(stored.tasks, expected);
    // And the other way: everything is emptied again, but what never changes.
    let bare = Registration { number: dead.number.clone(), ..registration(id, Provider::Sber, 1) };
    let bare = with_state(bare, RegistrationState::Absent);
    let idle = Task { id: running.id, ..task(id, TaskKind::RefundPayment, START) };
    let (new_bare, new_idle) = (bare.clone(), idle.clone());
    world
        .change(id, move |aggregate, _| {
            aggregate.registrations[0] = new_bare.clone();
            let old = aggregate.tasks.iter_mut().find(|task| task.id == new_idle.id).unwrap();
            *old = new_idle.clone();
        })
        .await
        .unwrap();
    let stored = world.aggregate(id).await;
    assert_eq!(stored.registrations, vec![bare, intent]);
    assert!(stored.tasks.contains(&Task { version: 2, ..idle }), "{:?}", stored.tasks);
}

pub async fn a_finished_task_leaves_the_aggregate_and_stays_readable(world: World) {
    let task = world.queued(None).await;
    let id = task.order_id;
    world
        .change(id, move |aggregate, _| {
            aggregate.registrations.push(registration(id, Provider::Sber, 1));
            aggregate.tasks[0].state = TaskState::Succeeded;
            aggregate.tasks[0].result = Some((Provider::Sber, 1));
        })
        .await
        .unwrap();
    let aggregate = world.aggregate(id).await;
    assert_eq!(aggregate.tasks, vec![]);
    let view = world.store.task(task.id, &Scope::Anyone).await.unwrap().unwrap();
    assert_eq!(view.task.state, TaskState::Succeeded);
    assert_eq!(view.registration.as_ref(), Some(&aggregate.registrations[0]));
}

pub async fn a_live_registration_may_give_way_to_another_in_one_decision(world: World) {
    let id = world.placed("c-1").await.id;
    let live = with_state(registration(id, Provider::Sber, 1), RegistrationState::Live);
    world.change(id, move |d, _| d.registrations.push(live.clone())).await.unwrap();
    world
        .change(id, move |aggregate, _| {
            // The new one stands before the old one, as it would after sorting by provider.
            aggregate.registrations.insert(0, registration(id, Provider::OdnaKassa, 2));
            aggregate.registrations[1].state = RegistrationState::Dead;
        })
        .await
        .unwrap();
    world
        .change(id, move |aggregate, _| {
            // And back: an old row is armed again while the present one ends.
            aggregate.registrations[0].state = RegistrationState::Unknown;
            aggregate.registrations[1].state = RegistrationState::Absent;
        })
        .await
        .unwrap();
    let states: Vec<_> = world.aggregate(id).await.registrations.iter().map(|r| r.state).collect();
    assert_eq!(states, [RegistrationState::Unknown, RegistrationState::Absent]);
}

pub async fn a_task_may_give_way_to_another_of_its_kind_in_one_decision(world: World) {
    let first = world.queued(None).await;
    let second = task(first.order_id, first.kind, START);
    let new = second.clone();
    world
        .change(first.order_id, move |aggregate, _| {
            aggregate.tasks.insert(0, new.clone());
            aggregate.tasks[1].state = TaskState::Cancelled;
        })
        .await
        .unwrap();
    assert_eq!(world.aggregate(first.order_id).await.tasks, vec![second]);
}

pub async fn no_update_is_lost_when_many_change_one_order(world: World) {
    let id = world.queued(None).await.order_id;
    let many = (0..50).map(|_| {
        let store = Arc::clone(&world.store);
        tokio::spawn(async move {
            let more = Box::new(|aggregate: &mut OrderAggregate, _: &_| {
                aggregate.tasks[0].attempts += 1;
                SideWrites::default()
            });
            store.change(id, LoadOptions::Aggregate, more).await.unwrap()
        })
    });
    for changing in many.collect::<Vec<_>>() {
        assert!(changing.await.unwrap());
    }
    let aggregate = world.aggregate(id).await;
    assert_eq!((aggregate.tasks[0].attempts, aggregate.tasks[0].version), (50, 51));
    assert_eq!(aggregate.order.version, 52);
}

pub async fn a_caller_that_goes_away_leaves_all_or_nothing(world: World) {
    let id = world.queued(None).await.order_id;
    for _ in 0..50 {
        let more = |aggregate: &mut OrderAggregate, _: &_| {
            aggregate.tasks[0].attempts += 1;
            aggregate.tasks[0].lost_leases += 1;
        };
        let mut leaving = Box::pin(world.change(id, more));
        // Polled once or a few times, then dropped at whatever point it is.
        for _ in 0..fastrand::u8(1..4) {
            tokio::select! { biased; _ = &mut leaving => break, () = tokio::task::yield_now() => {} }
        }
    }
    world.change(id, |aggregate, _| aggregate.tasks[0].reason = Some(Reason::Retry)).await.unwrap();
    let aggregate = world.aggregate(id).await;
    assert_eq!(aggregate.tasks[0].attempts, aggregate.tasks[0].lost_leases);
    assert_eq!(aggregate.order.version, aggregate.tasks[0].version + 1);
}

/// Of the registrations that may be alive an order has one, also when another is found again.
pub async fn a_registration_that_was_forgotten_is_adopted_beside_the_index_or_in_it(world: World) {
    let id = world.placed("c-1").await.id;
    for (provider, state) in [
        (Provider::OdnaKassa, RegistrationState::Unknown),
        (Provider::Sber, RegistrationState::Absent),
    ] {
        let number = ProviderNumber::new("", id, 1);
        assert_eq!(world.store.find_order(provider, &number).await, Ok(None));
        let told = number.clone();
        let adopt = move |aggregate: &mut OrderAggregate, tx: &TxContext| {
            aggregate.adopt(provider, (&told, 1), tx.now);
            let spare = TaskId::new(fastrand::u128(..));
            let about = (provider, &told);
            assert!(aggregate.request_sync(about, tx.now, tx.now, spare, Duration::from_secs(60)));
        };
        assert_eq!(world.change(id, adopt).await, Ok(Some(())));
        assert_eq!(world.store.find_order(provider, &number).await, Ok(Some(id)));
        let aggregate = world.aggregate(id).await;
        let adopted = aggregate.registration(provider, 1).unwrap();
        assert_eq!((adopted.state, adopted.amount), (state, aggregate.order.total));
        assert_eq!(adopted.sync_requested_at, Some(world.now()));
        assert_eq!(aggregate.order.status, OrderStatus::Registering);
    }
}
