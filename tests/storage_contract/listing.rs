//! Reading: lists, scopes and gauges.

use crate::world::{START, World, claim, registration};
use order_service::adapters::observe::storage_upkeep::TaskStat;
use order_service::core::domain::ids::{CustomerId, OrderId, TaskId};
use order_service::core::domain::order::OrderStatus;
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::payment::task::{Reason, Task, TaskKind, TaskState};
use order_service::core::ports::order_repository::{OrderQuery, OrderSort, Scope};
use order_service::core::ports::task_queue::TaskQuery;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn customer(name: &str) -> CustomerId {
    CustomerId::parse(name).unwrap()
}

async fn list(world: &World, query: OrderQuery) -> Vec<OrderId> {
    let found = world.store.list(&query, &Scope::Anyone).await.unwrap();
    found.into_iter().map(|aggregate| aggregate.order.id).collect()
}

pub async fn orders_are_listed_newest_first_page_by_page(world: World) {
    let mut placed = Vec::new();
    for place in 0..7 {
        placed.push(world.placed("c-1").await);
        // Some share their moment.
        if place % 3 == 0 {
            world.advance(SECOND);
        }
    }
    placed.sort_by_key(|order| std::cmp::Reverse((order.created_at, order.id)));
    let placed: Vec<_> = placed.into_iter().map(|order| (order.created_at, order.id)).collect();
    let mut seen = Vec::new();
    loop {
        let after = seen.last().copied();
        let query = OrderQuery { limit: 3, after, ..OrderQuery::default() };
        let page = world.store.list(&query, &Scope::Anyone).await.unwrap();
        if page.is_empty() {
            break;
        }
        seen.extend(
            page.into_iter().map(|aggregate| (aggregate.order.created_at, aggregate.order.id)),
        );
    }
    assert_eq!(seen, placed);
}

pub async fn orders_are_listed_by_customer_and_status(world: World) {
    let mine = world.placed("c-1").await.id;
    world.advance(SECOND);
    let theirs = world.placed("c-2").await.id;
    world.advance(SECOND);
    let paid = world.placed("c-1").await.id;
    world
        .change(paid, move |aggregate, _| {
            aggregate.order.status = OrderStatus::Paid;
            aggregate.registrations.push(registration(paid, Provider::Sber, 1));
        })
        .await
        .unwrap();
    let limit = 9;
    let of = |customer_id, status: Option<OrderStatus>| OrderQuery {
        customer_id,
        statuses: status.into_iter().collect(),
        limit,
        ..OrderQuery::default()
    };
    assert_eq!(list(&world, of(None, None)).await, [paid, theirs, mine]);
    assert_eq!(list(&world, of(Some(customer("c-1")), None)).await, [paid, mine]);
    assert_eq!(list(&world, of(None, Some(OrderStatus::New))).await, [theirs, mine]);
    let both = of(Some(customer("c-1")), Some(OrderStatus::Paid));
    assert_eq!(list(&world, both.clone()).await, [paid]);
    let last = OrderQuery { after: Some((START + SECOND, theirs)), ..of(None, None) };
    assert_eq!(list(&world, last).await, [mine]);
    let whole = world.store.list(&both, &Scope::Anyone).await.unwrap();
    assert_eq!(whole, vec![world.aggregate(paid).await]);
}

pub async fn orders_are_listed_by_time_by_id_and_in_another_order(world: World) {
    let first = world.placed("c-1").await.id;
    world.advance(SECOND);
    let second = world.placed("c-1").await.id;
    world.advance(SECOND);
    let third = world.placed("c-1").await.id;
    world.advance(SECOND);
    world.change(first, |d, _| d.order.status = OrderStatus::Cancelled).await.unwrap();
    let all = || OrderQuery { limit: 9, ..OrderQuery::default() };
    let (from, to) = (START + SECOND, START + SECOND * 2);
    let created = |from, to| OrderQuery { created: (from, to), ..all() };
    assert_eq!(list(&world, created(Some(from), None)).await, [third, second]);
    assert_eq!(list(&world, created(None, Some(to))).await, [second, first]);
    assert_eq!(list(&world, created(Some(from), Some(to))).await, [second]);
    let since = |updated_since| OrderQuery { updated_since: Some(updated_since), ..all() };
    assert_eq!(list(&world, since(to)).await, [third, first]);
    let named = OrderQuery { ids: Some(vec![first, third]), ..all() };
    assert_eq!(list(&world, named).await, [third, first]);
    let statuses = vec![OrderStatus::Cancelled, OrderStatus::Paid];
    assert_eq!(list(&world, OrderQuery { statuses, ..all() }).await, [first]);
    for (sort, expected) in [
        (OrderSort::NewestFirst, [third, second, first]),
        (OrderSort::OldestFirst, [first, second, third]),
        (OrderSort::LongestUnchangedFirst, [second, third, first]),
    ] {
        let mut seen: Vec<(_, OrderId)> = Vec::new();
        loop {
            let query = OrderQuery { sort, limit: 1, after: seen.last().copied(), ..all() };
            let page = world.store.list(&query, &Scope::Anyone).await.unwrap();
            let Some(aggregate) = page.first() else { break };
            seen.push(sort.place_of(&aggregate.order));
        }
        assert_eq!(seen.into_iter().map(|(_, id)| id).collect::<Vec<_>>(), expected, "{sort:?}");
    }
}

pub async fn a_scope_hides_what_belongs_to_others(world: World) {
    let task = world.queued(None).await;
    let (own, foreign) = (Scope::Only(customer("c-1")), Scope::Only(customer("c-2")));
    for (scope, visible) in [(&Scope::Anyone, true), (&own, true), (&foreign, false)] {
        let aggregate = world.store.aggregate(task.order_id, scope).await.unwrap();
        let view = world.store.task(task.id, scope).await.unwrap();
        let all = OrderQuery { limit: 9, ..OrderQuery::default() };
        let asked = OrderQuery { customer_id: Some(customer("c-1")), ..all.clone() };
        assert_eq!((aggregate.is_some(), view.is_some()), (visible, visible), "{scope:?}");
        for query in [all, asked] {
            assert_eq!(world.store.list(&query, scope).await.unwrap().len(), usize::from(visible));
        }
    }
    let nobody = TaskId::new(1);
    assert_eq!(world.store.task(nobody, &Scope::Anyone).await, Ok(None));
}

pub async fn tasks_are_listed_by_state_page_by_page(world: World) {
    let mut queued = Vec::new();
    for _ in 0..4 {
        queued.insert(0, world.queued(None).await);
        world.advance(SECOND);
    }
    let failed = queued.remove(1);
    world.change(failed.order_id, |d, _| d.tasks[0].state = TaskState::Failed).await.unwrap();
    let query = TaskQuery { state: Some(TaskState::Queued), limit: 2, ..TaskQuery::default() };
    assert_eq!(world.store.tasks(&query).await.unwrap(), queued[..2]);
    let after = Some((queued[1].created_at, queued[1].id));
    assert_eq!(world.store.tasks(&TaskQuery { after, ..query }).await.unwrap(), queued[2..]);
    let all = TaskQuery { limit: 9, ..TaskQuery::default() };
    assert_eq!(world.store.tasks(&all).await.unwrap()[1].id, failed.id);
    let of_one = TaskQuery { order: Some(queued[2].order_id), ..all };
    assert_eq!(world.store.tasks(&of_one).await.unwrap(), queued[2..]);
    let of_one = TaskQuery { state: Some(TaskState::Review), ..of_one };
    assert_eq!(world.store.tasks(&of_one).await.unwrap(), []);
}

pub async fn a_number_leads_to_its_order(world: World) {
    let id = world.placed("c-1").await.id;
    world
        .change(id, move |d, _| d.registrations.push(registration(id, Provider::Sber, 1)))
        .await
        .unwrap();
    let number = registration(id, Provider::Sber, 1).number;
    assert_eq!(world.store.find_order(Provider::Sber, &number).await, Ok(Some(id)));
    assert_eq!(world.store.find_order(Provider::OdnaKassa, &number).await, Ok(None));
    let told = ProviderNumber::told("' OR 1=1 --");
    assert_eq!(world.store.find_order(Provider::Sber, &told).await, Ok(None));
}

pub async fn stats_count_what_is_unfinished_and_what_waits_for_a_person(world: World) {
    let (_, review, failed) =
        (world.queued(None).await, world.queued(None).await, world.queued(None).await);
    let (held, running) = (world.queued(None).await, world.queued(Some(Provider::Sber)).await);
    world.store.claim(&claim("i-1", &[(Some(Provider::Sber), 1)])).await.unwrap();
    world.change(failed.order_id, |d, _| d.tasks[0].state = TaskState::Failed).await.unwrap();
    world.advance(SECOND);
    world.change(review.order_id, |d, _| d.tasks[0].state = TaskState::Review).await.unwrap();
    world
        .change(held.order_id, |d, _| {
            d.tasks[0].reason = Some(Reason::Operator);
            d.tasks[0].run_at = Task::NEVER;
        })
        .await
        .unwrap();
    world.advance(SECOND);
    let stat = |state, count, oldest_due, for_operator| TaskStat {
        kind: TaskKind::RegisterPayment,
        state,
        count,
        oldest_due,
        for_operator,
        oldest_for_operator: (for_operator > 0).then_some(SECOND),
    };
    let mut stats = world.store.task_stats().await.unwrap();
    stats.sort_by_key(|stat| stat.state.as_str());
    let expected = [
        stat(TaskState::Queued, 2, Some(2 * SECOND), 1),
        stat(TaskState::Review, 1, None, 1),
        stat(TaskState::Running, 1, None, 0),
    ];
    assert_eq!(stats, expected);
    assert_eq!(running.lane, Some(Provider::Sber));
}
