//! Orders that are kept no longer: only those of which nothing is open go, and their money stays on record.

use crate::world::{
    START, World, kept_for, named, refund, registration, request, task, with_state,
};
use order_service::adapters::observe::storage_upkeep::Retention;
use order_service::core::domain::ids::{OrderId, TaskId};
use order_service::core::domain::money::Money;
use order_service::core::domain::order::OrderStatus;
use order_service::core::domain::provider::Provider;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::refund::{Refund, RefundState};
use order_service::core::payment::registration::{Registration, RegistrationState};
use order_service::core::payment::task::{TaskKind, TaskState};
use order_service::core::ports::order_repository::{OrderQuery, Placed, Scope};
use sqlx::Connection;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);
const YEARS: Duration = Duration::from_secs(86_400 * 3_650);

const RETENTION: Retention = Retention { orders: Some(DAY), ..kept_for(YEARS) };

/// A paid order whose money was given back in part, with all that hangs on it.
async fn settled(world: &World) -> OrderId {
    let order = world.store.place_once(named("shop", "A-1"), request("k-1")).await.unwrap();
    let id = match order {
        Placed::New(order) => order.id,
        Placed::Known(_) => unreachable!(),
    };
    let change = move |aggregate: &mut OrderAggregate| {
        let mut paid = with_state(registration(id, Provider::Sber, 1), RegistrationState::Paid);
        paid.refunded = Money::rub(100).unwrap();
        aggregate.registrations.push(paid);
        let done = Refund { state: RefundState::Done, ..refund(id, TaskId::new(1)) };
        aggregate.refunds.push(done);
        aggregate.tasks.push(task(id, TaskKind::RefundPayment, START));
        aggregate.order.status = OrderStatus::Paid;
    };
    world.change(id, move |aggregate, _| change(aggregate)).await.unwrap();
    world.change(id, |aggregate, _| aggregate.tasks[0].state = TaskState::Succeeded).await.unwrap();
    id
}

async fn is_there(world: &World, id: OrderId) -> bool {
    world.store.aggregate(id, &Scope::Anyone).await.unwrap().is_some()
}

pub async fn an_order_of_which_nothing_is_open_goes_with_all_that_hangs_on_it(world: World) {
    let id = settled(&world).await;
    let number = world.aggregate(id).await.registrations[0].number.clone();
    world.advance(DAY);
    assert_eq!(world.store.prune(&RETENTION).await, Ok(0), "a day, and not a moment less");
    world.advance(Duration::from_micros(1));
    let for_ever = Retention { orders: None, ..RETENTION };
    assert_eq!(
        world.store.prune(&for_ever).await,
        Ok(0),
        "unless asked, an order is kept for ever"
    );
    let young = world.placed("c-2").await.id;
    assert_eq!(world.store.prune(&RETENTION).await, Ok(1));
    assert_eq!(world.store.prune(&RETENTION).await, Ok(0));
    assert!(!is_there(&world, id).await && is_there(&world, young).await);
    assert_eq!(world.store.find_order(Provider::Sber, &number).await, Ok(None));
    let query = OrderQuery { limit: 10, ..OrderQuery::default() };
    assert_eq!(world.store.list(&query, &Scope::Anyone).await.unwrap().len(), 1);
    // The shop's number is free again, and nothing stands in the way of another order.
    world.store.place(named("shop", "A-1")).await.unwrap();
}

/// What keeps an order, each alone.
pub async fn what_is_open_keeps_its_order(world: World) {
    type Change = fn(&mut OrderAggregate);
    fn the_registration(aggregate: &mut OrderAggregate) -> &mut Registration {
        &mut aggregate.registrations[0]
    }
    let open: [(&str, Change); 9] = [
        ("the order", |a| a.order.status = OrderStatus::AwaitingPayment),
        ("a registration that may yet be paid", |a| {
            the_registration(a).state = RegistrationState::Live
        }),
        ("one of which nobody knows", |a| the_registration(a).state = RegistrationState::Unknown),
        ("money that is not wanted", |a| the_registration(a).state = RegistrationState::Surplus),
        ("news that nobody followed", |a| the_registration(a).sync_requested_at = Some(START)),
        ("a contradiction", |a| the_registration(a).contradiction = Some("paid, 1.00".into())),
        ("a status that nobody knows", |a| the_registration(a).strange_since = Some(START)),
        ("a refund in doubt", |a| {
            a.refunds
                .push(Refund { state: RefundState::InDoubt, ..refund(a.order.id, TaskId::new(2)) });
        }),
        ("a task", |a| {
            a.tasks.push(task(a.order.id, TaskKind::SyncPayment, START));
        }),
    ];
    for (what, change) in open {
        let id = world.placed("c-1").await.id;
        world
            .change(id, move |aggregate, _| {
                let paid = with_state(registration(id, Provider::Sber, 1), RegistrationState::Paid);
                aggregate.registrations.push(paid);
                aggregate.order.status = OrderStatus::Paid;
                change(aggregate);
            })
            .await
            .unwrap();
        world.advance(2 * DAY);
        assert_eq!(world.store.prune(&RETENTION).await, Ok(0), "{what}");
        assert!(is_there(&world, id).await, "{what}");
    }
}

pub async fn a_review_keeps_its_order_until_a_person_closes_it(world: World) {
    let task = world.queued(None).await;
    let id = task.order_id;
    world.change(id, |aggregate, _| aggregate.tasks[0].state = TaskState::Review).await.unwrap();
    world.advance(2 * DAY);
    assert_eq!(world.store.prune(&RETENTION).await, Ok(0));
    assert!(is_there(&world, id).await);
}

/// What the books still say; of the person nothing is left in the whole database.
#[tokio::test]
async fn the_archive_tells_the_money_and_nothing_of_a_person() {
    const SUMS: &str = "SELECT count(*) FROM archived_orders WHERE json_extract(record, '$.total') > 0 \
        AND json_extract(record, '$.registrations[0].refunded') = 100 \
        AND json_extract(record, '$.refunds[0].state') = 'done'";
    let world = World::sqlite().await;
    settled(&world).await;
    world.advance(2 * DAY);
    assert_eq!(world.store.prune(&RETENTION).await, Ok(1));
    let mut file = sqlx::SqliteConnection::connect(&world.url).await.unwrap();
    let kept: i64 = sqlx::query_scalar(SUMS).fetch_one(&mut file).await.unwrap();
    assert_eq!(kept, 1);
    let record: String = sqlx::query_scalar("SELECT record FROM archived_orders")
        .fetch_one(&mut file)
        .await
        .unwrap();
    for personal in ["shop", "A-1", "c-1", "@", "+7"] {
        assert!(!record.contains(personal), "{personal} in {record}");
    }
}

#[tokio::test]
async fn postgres_archives_the_same() {
    const SUMS: &str = "SELECT count(*) FROM archived_orders WHERE (record ->> 'total')::bigint > 0 \
        AND record #>> '{registrations,0,refunded}' = '100' AND record #>> '{refunds,0,state}' = 'done'";
    let Some(world) = World::postgres().await else { return };
    settled(&world).await;
    world.advance(2 * DAY);
    assert_eq!(world.store.prune(&RETENTION).await, Ok(1));
    let mut server = sqlx::PgConnection::connect(&world.url).await.unwrap();
    let kept: i64 = sqlx::query_scalar(SUMS).fetch_one(&mut server).await.unwrap();
    assert_eq!(kept, 1);
}
