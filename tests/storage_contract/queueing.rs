//! The bounded queue of payments that nobody could take.

use crate::world::{START, World, claim, kept_for, lease, task};
use order_service::core::domain::ids::{InstanceId, OrderId};
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::task::{Reason, Task, TaskKind, TaskState};
use order_service::core::ports::order_repository::{
    LoadOptions, OrderRepository, SideWrites, TxContext, decide,
};
use order_service::core::ports::task_queue::TaskQuery;
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

/// The kept number against the plain rule, after whatever may happen to tasks.
pub async fn the_length_of_the_queue_is_true_after_anything(world: World) {
    let me = world.placed("c-1").await.id;
    let mut orders = Vec::new();
    for _ in 0..60 {
        orders.push(world.queued(None).await.order_id);
        let order = orders[fastrand::usize(..orders.len())];
        let reason = fastrand::choice([
            None,
            Some(Reason::BreakerOpen),
            Some(Reason::OutcomeUnknown),
            Some(Reason::RespondAsync),
        ]);
        match fastrand::u8(..5) {
            0 => drop(world.store.claim(&claim("i", &[(None, 3)])).await.unwrap()),
            1 => drop(world.store.release_leases(&InstanceId::new("i")).await.unwrap()),
            2 => {
                world.advance(Duration::from_secs(60));
                world.store.prune(&kept_for(Duration::from_secs(300))).await.unwrap();
            }
            _ => move_task(&world, order, reason.flatten()).await,
        }
        let query = TaskQuery { limit: 100, ..TaskQuery::default() };
        let tasks = world.store.tasks(&query).await.unwrap();
        let waits = |task: &&Task| match task.state {
            TaskState::Queued => task.reason != Some(Reason::OutcomeUnknown),
            TaskState::Running => task.reason.is_some_and(|why| why != Reason::OutcomeUnknown),
            TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled | TaskState::Review => {
                false
            }
        };
        let expected = tasks.iter().filter(waits).count() as u64;
        assert_eq!(waiting(&*world.store, me, u64::MAX).await, expected, "{tasks:#?}");
    }
}

/// Queues it for a reason, or ends it.
async fn move_task(world: &World, order: OrderId, reason: Option<Reason>) {
    let ends = fastrand::bool();
    let change = move |aggregate: &mut OrderAggregate, _: &_| {
        let Some(task) = aggregate.tasks.first_mut() else { return };
        task.state = if ends { TaskState::Failed } else { TaskState::Queued };
        task.reason = reason;
        task.lease = None;
    };
    world.change(order, change).await.unwrap();
}

pub async fn a_queue_of_five_takes_five_of_many_at_once(world: World) {
    joined_together(&world, 5, 20).await;
}

pub async fn a_queue_of_hundreds_takes_no_more_than_that_of_many_at_once(world: World) {
    joined_together(&world, 300, 340).await;
}

async fn joined_together(world: &World, limit: u64, many: usize) {
    let mut joining = Vec::new();
    for _ in 0..many {
        let id = world.placed("c-1").await.id;
        let store = Arc::clone(&world.store);
        joining.push(async move {
            let join = move |aggregate: &mut OrderAggregate, context: &TxContext| {
                let free = context.waiting.unwrap() < limit;
                if free {
                    aggregate.tasks.push(task(id, TaskKind::RegisterPayment, START));
                }
                (free, SideWrites::default())
            };
            let load = LoadOptions::QueueLength { up_to: limit };
            decide(&*store, id, load, join).await.unwrap().unwrap()
        });
    }
    let mut joined = 0;
    let mut joining = joining.into_iter();
    loop {
        // Not all at once: whoever waits too long for a connection is refused one.
        let together: Vec<_> = joining.by_ref().take(20).map(tokio::spawn).collect();
        if together.is_empty() {
            break;
        }
        for join in together {
            joined += u64::from(join.await.unwrap());
        }
    }
    assert_eq!(joined, limit);
}
