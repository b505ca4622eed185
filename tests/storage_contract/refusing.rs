//! Wrong decisions: the database names the rule and nothing of them holds.

use crate::world::{START, World, refund, registration, task, with_state};
use order_service::core::domain::ids::{OrderId, TaskId};
use order_service::core::domain::money::Money;
use order_service::core::domain::order::OrderStatus;
use order_service::core::domain::provider::Provider;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::refund::{Refund, RefundOrigin};
use order_service::core::payment::registration::{Registration, RegistrationState};
use order_service::core::payment::task::{TaskKind, TaskState};
use order_service::core::ports::order_repository::{LoadOptions, SideWrites};
use order_service::core::ports::storage_error::StorageError;
use std::sync::Arc;

/// Nothing of the decision holds, also not the part that would have been allowed.
async fn refused(
    world: &World,
    id: OrderId,
    rule: &'static str,
    mut wrong: impl FnMut(&mut OrderAggregate) + Send + 'static,
) {
    let before = world.aggregate(id).await;
    let decision = move |aggregate: &mut OrderAggregate, _: &_| {
        aggregate.order.status = OrderStatus::Cancelled;
        wrong(aggregate);
    };
    assert_eq!(world.change(id, decision).await, Err(StorageError::Corrupt(rule)));
    assert_eq!(world.aggregate(id).await, before);
}

pub async fn a_second_registration_that_may_be_alive_is_refused(world: World) {
    let id = world.placed("c-1").await.id;
    world
        .change(id, move |d, _| d.registrations.push(registration(id, Provider::Sber, 1)))
        .await
        .unwrap();
    refused(&world, id, "registrations_one_alive", move |aggregate| {
        aggregate.registrations.push(registration(id, Provider::OdnaKassa, 2));
    })
    .await;
}

pub async fn a_number_is_never_given_twice(world: World) {
    let first = world.placed("c-1").await.id;
    let second = world.placed("c-1").await.id;
    world
        .change(first, move |d, _| d.registrations.push(registration(first, Provider::Sber, 1)))
        .await
        .unwrap();
    refused(&world, second, "registrations_one_number", move |aggregate| {
        aggregate.registrations.push(registration(first, Provider::Sber, 1));
    })
    .await;
}

/// What a provider told is then not about this registration: the caller hears so, and nothing is kept.
pub async fn an_id_of_the_provider_names_one_registration(world: World) {
    let with_id = |order| {
        let registration = registration(order, Provider::Sber, 1);
        Registration { external_id: Some("ext-1".into()), ..registration }
    };
    let first = world.placed("c-1").await.id;
    let second = world.placed("c-1").await.id;
    let kept = with_id(first);
    world.change(first, move |d, _| d.registrations.push(kept.clone())).await.unwrap();
    world.change(first, |d, _| d.registrations[0].not_found = 1).await.unwrap();
    let foreign = with_id(second);
    let refused = world.change(second, move |d, _| d.registrations.push(foreign.clone())).await;
    assert_eq!(refused, Err(StorageError::ForeignExternalId));
    assert_eq!(world.aggregate(second).await.registrations, []);
}

pub async fn refunds_of_an_order_may_each_have_their_task(world: World) {
    let id = world.placed("c-1").await.id;
    let tasks = [(); 2].map(|()| task(id, TaskKind::RefundPayment, START));
    world.change(id, move |d, _| d.tasks.extend(tasks.clone())).await.unwrap();
    assert_eq!(world.aggregate(id).await.tasks.len(), 2);
}

pub async fn a_second_unfinished_task_of_a_kind_is_refused(world: World) {
    let first = world.queued(None).await;
    refused(&world, first.order_id, "tasks_one_unfinished", move |aggregate| {
        aggregate.tasks.push(task(first.order_id, first.kind, START));
    })
    .await;
}

pub async fn a_running_task_without_a_lease_is_refused(world: World) {
    let id = world.queued(None).await.order_id;
    refused(&world, id, "tasks_lease", |aggregate| aggregate.tasks[0].state = TaskState::Running)
        .await;
}

pub async fn a_refund_of_no_registration_is_refused(world: World) {
    let id = world.placed("c-1").await.id;
    refused(&world, id, "schema", move |d| d.refunds.push(refund(id, TaskId::new(1)))).await;
}

pub async fn nothing_is_ever_taken_away(world: World) {
    let id = world.queued(None).await.order_id;
    refused(&world, id, "append_only", |aggregate| aggregate.tasks.clear()).await;
    world
        .change(id, move |d, _| d.registrations.push(registration(id, Provider::Sber, 1)))
        .await
        .unwrap();
    refused(&world, id, "append_only", |aggregate| aggregate.registrations.clear()).await;
    world.change(id, move |d, _| d.refunds.push(refund(id, TaskId::new(1)))).await.unwrap();
    refused(&world, id, "append_only", |aggregate| aggregate.refunds.clear()).await;
}

pub async fn what_a_refund_gives_back_never_changes(world: World) {
    let id = world.placed("c-1").await.id;
    world
        .change(id, move |aggregate, _| {
            aggregate.registrations.push(registration(id, Provider::Sber, 1));
            aggregate.registrations.push(with_state(
                registration(id, Provider::OdnaKassa, 2),
                RegistrationState::Dead,
            ));
            aggregate.refunds.push(refund(id, TaskId::new(1)));
        })
        .await
        .unwrap();
    let changes: [fn(&mut Refund); 3] = [
        |refund| refund.amount = Money::rub(99).unwrap(),
        |refund| (refund.provider, refund.sequence) = (Provider::OdnaKassa, 2),
        |refund| refund.origin = RefundOrigin::LateMoney,
    ];
    for change in changes {
        refused(&world, id, "append_only", move |d| change(&mut d.refunds[0])).await;
    }
}

pub async fn what_was_bought_never_changes(world: World) {
    let id = world.placed("c-1").await.id;
    world
        .change(id, move |d, _| d.registrations.push(registration(id, Provider::Sber, 1)))
        .await
        .unwrap();
    refused(&world, id, "append_only", |d| d.order.total = Money::rub(1).unwrap()).await;
    refused(&world, id, "append_only", |d| d.order.items[0].quantity = 1).await;
    refused(&world, id, "append_only", |d| d.registrations[0].amount = Money::rub(1).unwrap())
        .await;
}

pub async fn a_wrong_decision_harms_no_neighbour(world: World) {
    let mut deciding = Vec::new();
    for place in 0..30 {
        let id = world.placed("c-1").await.id;
        let store = Arc::clone(&world.store);
        deciding.push((id, place % 10 == 3, async move {
            let wrong = place % 10 == 3;
            let decision = Box::new(move |aggregate: &mut OrderAggregate, _: &_| {
                aggregate.tasks.push(task(id, TaskKind::SyncPayment, START));
                if wrong {
                    aggregate.tasks.push(task(id, TaskKind::SyncPayment, START));
                }
                SideWrites::default()
            });
            store.change(id, LoadOptions::Aggregate, decision).await
        }));
    }
    let deciding: Vec<_> =
        deciding.into_iter().map(|(id, wrong, run)| (id, wrong, tokio::spawn(run))).collect();
    for (id, wrong, run) in deciding {
        let tasks = world.aggregate(id).await.tasks.len();
        let expected =
            if wrong { Err(StorageError::Corrupt("tasks_one_unfinished")) } else { Ok(true) };
        assert_eq!(run.await.unwrap(), expected, "{tasks}");
        assert_eq!(world.aggregate(id).await.tasks.len(), usize::from(!wrong));
    }
}
