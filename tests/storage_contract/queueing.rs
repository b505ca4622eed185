//! The bounded queue of payments that nobody could take.

use crate::world::{START, World, lease, task};
use order_service::core::domain::ids::OrderId;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::task::{Reason, TaskKind, TaskState};
use order_service::core::ports::order_repository::{
    LoadOptions, OrderRepository, SideWrites, TxContext, decide,
};
use std::sync::Arc;
use std::time::Duration;

async fn waiting(store: &dyn OrderRepository, id: OrderId, up_to: u64) -> u64 {
    let count =
        |_: &mut OrderAggregate, context: &TxContext| (context.waiting, SideWrites::default());
    decide(store, id, LoadOptions::QueueLength { up_to }, count).await.unwrap().unwrap().unwrap()
}

pub async fn the_queue_counts_what_waits_for_a_provider(world: World) {
    let me = world.queued(None).await.order_id;
    assert_eq!(waiting(&*world.store, me, 100).await, 0, "one's own does not count");
    let (waits, unknown, runs) =
        (world.queued(None).await, world.queued(None).await, world.queued(None).await);
    world.queued(None).await;
    world
        .change(waits.order_id, |d, _| d.tasks[0].reason = Some(Reason::BreakerOpen))
        .await
        .unwrap();
    world
        .change(unknown.order_id, |d, _| d.tasks[0].reason = Some(Reason::OutcomeUnknown))
        .await
        .unwrap();
    world
        .change(runs.order_id, |aggregate, _| {
            aggregate.tasks[0].state = TaskState::Running;
            aggregate.tasks[0].lease = Some(lease("i", START + Duration::from_secs(9)));
        })
        .await
        .unwrap();
    let other = world.placed("c-1").await.id;
    world
        .change(other, move |d, _| d.tasks.push(task(other, TaskKind::CancelPayment, START)))
        .await
        .unwrap();
    assert_eq!(waiting(&*world.store, me, 100).await, 2);
    assert_eq!(waiting(&*world.store, waits.order_id, 100).await, 2, "its own, but mine");
}

pub async fn what_waited_keeps_its_place_while_it_is_tried_again(world: World) {
    let waits = world.queued(None).await.order_id;
    let me = world.placed("c-1").await.id;
    for (reason, counts) in [(Reason::BreakerOpen, 1), (Reason::OutcomeUnknown, 0)] {
        world
            .change(waits, move |aggregate, _| {
                let task = &mut aggregate.tasks[0];
                task.reason = Some(reason);
                task.state = TaskState::Running;
                task.lease = Some(lease("i", START + Duration::from_secs(9)));
            })
            .await
            .unwrap();
        assert_eq!(waiting(&*world.store, me, 100).await, counts, "{reason:?}");
    }
}

pub async fn counting_stops_at_the_limit(world: World) {
    for _ in 0..5 {
        world.queued(None).await;
    }
    let me = world.placed("c-1").await.id;
    assert_eq!(waiting(&*world.store, me, 3).await, 3);
    assert_eq!(waiting(&*world.store, me, 5).await, 5);
    assert_eq!(waiting(&*world.store, me, 9).await, 5);
}

pub async fn a_queue_of_five_takes_five_of_many_at_once(world: World) {
    let mut joining = Vec::new();
    for _ in 0..20 {
        let id = world.placed("c-1").await.id;
        let store = Arc::clone(&world.store);
        joining.push(async move {
            let join = move |aggregate: &mut OrderAggregate, context: &TxContext| {
                let free = context.waiting.unwrap() < 5;
                if free {
                    aggregate.tasks.push(task(id, TaskKind::RegisterPayment, START));
                }
                (free, SideWrites::default())
            };
            decide(&*store, id, LoadOptions::QueueLength { up_to: 5 }, join).await.unwrap().unwrap()
        });
    }
    let joining: Vec<_> = joining.into_iter().map(tokio::spawn).collect();
    let mut joined = 0;
    for join in joining {
        joined += usize::from(join.await.unwrap());
    }
    assert_eq!(joined, 5);
}
