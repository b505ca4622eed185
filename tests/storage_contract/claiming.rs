//! Taking leases on due tasks.

use crate::world::{START, World, claim};
use order_service::core::domain::ids::{InstanceId, TaskId};
use order_service::core::domain::provider::Provider;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::task::{Lease, Reason, Task, TaskKind, TaskState};
use order_service::core::ports::order_repository::{Scope, TxContext};
use order_service::core::ports::task_queue::{Claimed, Wakeup};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

async fn stored(world: &World, id: TaskId) -> Task {
    world.store.task(id, &Scope::Anyone).await.unwrap().unwrap().task
}

fn ids(claimed: &[Claimed]) -> Vec<TaskId> {
    claimed.iter().map(|claim| claim.task_id).collect()
}

pub async fn the_longest_due_of_each_lane_are_taken(world: World) {
    let (sber, kassa) = (Some(Provider::Sber), Some(Provider::OdnaKassa));
    let mut queued = Vec::new();
    for lane in [sber, None, sber, kassa, sber] {
        queued.push(world.queued(lane).await);
        world.advance(SECOND);
    }
    let request = claim("i-1", &[(None, 5), (sber, 2)]);
    let claimed = world.store.claim(&request).await.unwrap();
    assert_eq!(ids(&claimed), [queued[0].id, queued[1].id, queued[2].id]);
    let first = Claimed {
        order_id: queued[0].order_id,
        task_id: queued[0].id,
        kind: queued[0].kind,
        token: request.token,
        attempts: 0,
        trace: None,
    };
    assert_eq!(claimed[0], first);
    let until = world.now() + MINUTE;
    let lease = Lease { owner: request.owner, token: request.token, until };
    let expected = Task {
        state: TaskState::Running,
        lease: Some(lease),
        version: 2,
        updated_at: world.now(),
        ..queued[0].clone()
    };
    assert_eq!(stored(&world, queued[0].id).await, expected);
    assert_eq!(stored(&world, queued[3].id).await, queued[3]);
    assert_eq!(stored(&world, queued[4].id).await, queued[4]);
}

pub async fn what_only_a_breaker_holds_back_is_brought_forward_a_few_at_a_time(world: World) {
    let sber = Some(Provider::Sber);
    let mut held = Vec::new();
    for (lane, reason) in [
        (sber, Reason::BreakerOpen),
        (sber, Reason::Retry),
        (None, Reason::BreakerOpen),
        (sber, Reason::BreakerOpen),
        (sber, Reason::BreakerOpen),
    ] {
        let task = world.queued(lane).await;
        let run_at = world.now() + MINUTE;
        let later = move |d: &mut OrderAggregate, _: &TxContext| {
            (d.tasks[0].run_at, d.tasks[0].reason) = (run_at, Some(reason));
        };
        world.change(task.order_id, later).await.unwrap();
        held.push(task.id);
        world.advance(SECOND);
    }
    let claimed = async || ids(&world.store.claim(&claim("i-1", &[(sber, 9)])).await.unwrap());
    assert_eq!(claimed().await, []);
    assert_eq!(world.store.bring_forward(sber, 2).await, Ok(2));
    assert_eq!(stored(&world, held[0]).await.run_at, world.now());
    let longest: HashSet<_> = claimed().await.into_iter().collect();
    assert_eq!(longest, HashSet::from([held[0], held[3]]), "the longest waiting first");
    assert_eq!(world.store.bring_forward(sber, 9).await, Ok(1));
    assert_eq!(
        world.store.bring_forward(sber, 9).await,
        Ok(0),
        "nor what runs or waits for another reason"
    );
    assert_eq!(claimed().await, [held[4]]);
}

pub async fn routine_polls_are_taken_last_however_long_they_are_due(world: World) {
    let sber = Some(Provider::Sber);
    let mut queued = Vec::new();
    for (id, routine) in [(1, true), (2, true), (3, false), (4, false)] {
        let order = world.queued(sber).await.order_id;
        let kind = TaskKind::SyncPayment;
        let poll = Task {
            reason: routine.then_some(Reason::Retry),
            lane: sber,
            ..Task::queued(TaskId::new(id), order, kind, world.now(), world.now())
        };
        queued.push(poll.id);
        let change = move |d: &mut OrderAggregate, _: &TxContext| {
            d.tasks[0].run_at = Task::NEVER;
            d.tasks.push(poll.clone());
        };
        world.change(order, change).await.unwrap();
        world.advance(SECOND);
    }
    let take = async |name: &str, size: usize| {
        ids(&world.store.claim(&claim(name, &[(sber, size)])).await.unwrap())
    };
    assert_eq!(take("i-1", 1).await, [queued[2]]);
    assert_eq!(take("i-2", 2).await, [queued[0], queued[3]], "told in the order of being due");
    assert_eq!(take("i-3", 9).await, [queued[1]]);
}

pub async fn what_is_not_due_is_left_alone(world: World) {
    let task = world.queued(None).await;
    let later = world.now() + SECOND;
    world.change(task.order_id, move |d, _| d.tasks[0].run_at = later).await.unwrap();
    let everything = [(None, 9), (Some(Provider::Sber), 9), (Some(Provider::OdnaKassa), 9)];
    assert_eq!(world.store.claim(&claim("i-1", &everything)).await, Ok(vec![]));
    world.advance(SECOND);
    assert_eq!(world.store.claim(&claim("i-1", &[])).await, Ok(vec![]));
    assert_eq!(ids(&world.store.claim(&claim("i-1", &everything)).await.unwrap()), [task.id]);
    assert_eq!(world.store.claim(&claim("i-2", &everything)).await, Ok(vec![]));
}

pub async fn a_lease_that_ran_out_is_taken_over_and_counted(world: World) {
    let task = world.queued(None).await;
    let (mine, theirs) = (claim("i-1", &[(None, 1)]), claim("i-2", &[(None, 1)]));
    world.store.claim(&mine).await.unwrap();
    world.advance(MINUTE - Duration::from_micros(1));
    assert_eq!(world.store.claim(&theirs).await, Ok(vec![]));
    world.advance(Duration::from_micros(1));
    assert_eq!(ids(&world.store.claim(&theirs).await.unwrap()), [task.id]);
    let task = stored(&world, task.id).await;
    assert_eq!((task.lost_leases, task.version), (1, 3));
    assert!(task.held_by(theirs.token) && !task.held_by(mine.token));
}

pub async fn no_task_is_ever_claimed_twice(world: World) {
    let mut queued = HashSet::new();
    for _ in 0..40 {
        queued.insert(world.queued(Some(Provider::Sber)).await.id);
    }
    let many = (0..10).map(|place| {
        let store = Arc::clone(&world.store);
        tokio::spawn(async move {
            let request = claim(&format!("i-{place}"), &[(Some(Provider::Sber), 7)]);
            store.claim(&request).await.unwrap()
        })
    });
    let mut claimed = Vec::new();
    for claiming in many.collect::<Vec<_>>() {
        claimed.extend(ids(&claiming.await.unwrap()));
    }
    assert_eq!(claimed.len(), queued.len());
    assert_eq!(claimed.into_iter().collect::<HashSet<_>>(), queued);
}

pub async fn leases_are_handed_back_due_and_free_of_charge(world: World) {
    let (mine, theirs) = (world.queued(None).await, world.queued(Some(Provider::Sber)).await);
    world.store.claim(&claim("i-1", &[(None, 1)])).await.unwrap();
    world.store.claim(&claim("i-2", &[(Some(Provider::Sber), 1)])).await.unwrap();
    world.advance(SECOND);
    assert_eq!(world.store.release_leases(&InstanceId::new("i-1")).await, Ok(1));
    let expected =
        Task { run_at: world.now(), version: 3, updated_at: world.now(), ..mine.clone() };
    assert_eq!(stored(&world, mine.id).await, expected);
    assert_eq!(stored(&world, theirs.id).await.state, TaskState::Running);
    let again = world.store.claim(&claim("i-3", &[(None, 1)])).await.unwrap();
    assert_eq!(ids(&again), [mine.id]);
    assert_eq!(stored(&world, mine.id).await.lost_leases, 0);
}

pub async fn a_due_task_and_a_finished_one_wake_who_waits(world: World) {
    let soon = Duration::from_secs(10);
    let woken = |wakeup, seen| {
        let store = Arc::clone(&world.store);
        async move { tokio::time::timeout(soon, store.wakeup(wakeup, seen)).await.unwrap() }
    };
    let task = world.queued(None).await;
    assert!(woken(Wakeup::TaskDue, 0).await > 0);
    let finish =
        |aggregate: &mut OrderAggregate, _: &_| aggregate.tasks[0].state = TaskState::Failed;
    world.change(task.order_id, finish).await.unwrap();
    assert!(woken(Wakeup::TaskFinished, 0).await > 0);
    assert_eq!(task.created_at, START);
}
