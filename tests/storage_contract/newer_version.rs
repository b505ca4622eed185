//! A database in which a newer version has left an order at a payment system that this one does not know:
//! it is told of, and left alone until a version that knows it returns.

use crate::world::{World, claim, refund, registration, task};
use order_service::adapters::outbound::storage::payment_systems;
use order_service::core::domain::ids::{OrderId, TaskId};
use order_service::core::domain::provider::Provider;
use order_service::core::payment::task::TaskKind;
use order_service::core::ports::order_repository::{OrderQuery, Scope};
use order_service::core::ports::storage_error::StorageError;
use order_service::core::ports::task_queue::TaskQuery;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection};
use std::time::Duration;

/// An order at Sber, with a task that is due.
async fn at_sber(world: &World) -> OrderId {
    let id = world.placed("c-1").await.id;
    let (made, due) =
        (registration(id, Provider::Sber, 1), task(id, TaskKind::RegisterPayment, world.now()));
    let arm = move |aggregate: &mut order_service::core::payment::OrderAggregate, _: &_| {
        aggregate.registrations.push(made.clone());
        aggregate.tasks.push(due.clone());
    };
    world.change(id, arm).await.unwrap();
    world.advance(Duration::from_secs(1));
    id
}

/// As a newer version might have written it, and back.
async fn moved(world: &World, number: &str, from: &str, to: &str) {
    let sql = format!(
        "UPDATE registrations SET provider = '{to}' WHERE provider = '{from}' AND number = '{number}'"
    );
    run(world, sql).await;
}

async fn run(world: &World, sql: String) {
    let sql = AssertSqlSafe(sql);
    if world.url.starts_with("sqlite") {
        SqliteConnection::connect(&world.url).await.unwrap().execute(sql).await.unwrap();
    } else {
        PgConnection::connect(&world.url).await.unwrap().execute(sql).await.unwrap();
    }
}

async fn an_unknown_payment_system_is_told_of_and_left_alone(world: World) {
    let (ours, theirs) = (at_sber(&world).await, at_sber(&world).await);
    let number = registration(theirs, Provider::Sber, 1).number;
    moved(&world, number.as_str(), "sber", "not-yet").await;
    let unknown = StorageError::UnknownProvider("not-yet".into());

    let read = world.store.aggregate(theirs, &Scope::Anyone).await;
    assert_eq!(read, Err(unknown.clone()));
    assert_eq!(world.change(theirs, |_, _| ()).await, Err(unknown));
    assert!(world.store.aggregate(ours, &Scope::Anyone).await.unwrap().is_some());
    assert_eq!(payment_systems(&world.url).await.unwrap(), ["not-yet", "sber"]);

    // The newest is not known here: a page of one is full all the same.
    let page = OrderQuery { limit: 1, ..OrderQuery::default() };
    let listed = world.store.list(&page, &Scope::Anyone).await.unwrap();
    assert_eq!(listed.iter().map(|found| found.order.id).collect::<Vec<_>>(), [ours]);
    let page = TaskQuery { limit: 1, ..TaskQuery::default() };
    let listed = world.store.tasks(&page).await.unwrap();
    assert_eq!(listed.iter().map(|task| task.order_id).collect::<Vec<_>>(), [ours]);
    for _ in 0..2 {
        let claimed = world.store.claim(&claim("i-1", &[(None, 5)])).await.unwrap();
        assert!(claimed.iter().all(|claim| claim.order_id == ours), "{claimed:?}");
        world.advance(Duration::from_secs(3_600));
    }

    moved(&world, number.as_str(), "not-yet", "sber").await;
    let back = world.aggregate(theirs).await;
    assert_eq!(back.tasks[0].lost_leases, 0, "nobody held it meanwhile");
    let claimed = world.store.claim(&claim("i-1", &[(None, 5)])).await.unwrap();
    assert!(claimed.iter().any(|claim| claim.order_id == theirs));
}

/// Words without a list in the schema: a newer version may write more of them.
const WORDS: [&str; 4] = [
    "UPDATE registrations SET ending = 'not-yet' WHERE number =",
    "UPDATE tasks SET reason = 'not-yet' WHERE order_id IN (SELECT order_id FROM registrations WHERE number =",
    "UPDATE tasks SET error = 'not-yet' WHERE order_id IN (SELECT order_id FROM registrations WHERE number =",
    "UPDATE refunds SET origin = 'not-yet' WHERE order_id IN (SELECT order_id FROM registrations WHERE number =",
];

async fn an_unknown_word_is_told_of_and_stops_no_list_and_no_claim(world: World) {
    for (place, update) in WORDS.into_iter().enumerate() {
        let (older, theirs) = (at_sber(&world).await, at_sber(&world).await);
        let given_back = refund(theirs, TaskId::new(fastrand::u128(..)));
        world.change(theirs, move |d, _| d.refunds.push(given_back.clone())).await.unwrap();
        let newer = at_sber(&world).await;
        let number = registration(theirs, Provider::Sber, 1).number;
        let end = if update.contains('(') { ")" } else { "" };
        run(&world, format!("{update} '{number}'{end}")).await;
        let read = world.store.aggregate(theirs, &Scope::Anyone).await;
        assert_eq!(read, Err(StorageError::UnknownWord("not-yet".into())), "{update}");

        let told = world.set_aside.count();
        let page = OrderQuery { limit: 2, ..OrderQuery::default() };
        let listed = world.store.list(&page, &Scope::Anyone).await.unwrap();
        let listed: Vec<_> = listed.iter().map(|found| found.order.id).collect();
        assert_eq!(listed, [newer, older], "{update}");
        assert!(world.set_aside.count() > told, "{update}");
        let page = TaskQuery { limit: 2, ..TaskQuery::default() };
        let listed = world.store.tasks(&page).await.unwrap();
        assert_eq!(listed.len(), 2, "{update}");
        if place == 0 {
            let claimed = world.store.claim(&claim("i-1", &[(None, 5)])).await.unwrap();
            assert!(claimed.iter().any(|claim| claim.order_id == older));
        }
        // The rest is of another story.
        run(&world, "DELETE FROM tasks".to_owned()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_word_is_told_of_and_stops_no_list_and_no_claim_on_sqlite() {
    an_unknown_word_is_told_of_and_stops_no_list_and_no_claim(World::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_word_is_told_of_and_stops_no_list_and_no_claim_on_postgres() {
    let Some(world) = World::postgres().await else { return };
    let ending = world.ending();
    an_unknown_word_is_told_of_and_stops_no_list_and_no_claim(world).await;
    ending.await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_payment_system_is_told_of_and_left_alone_on_sqlite() {
    an_unknown_payment_system_is_told_of_and_left_alone(World::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_payment_system_is_told_of_and_left_alone_on_postgres() {
    let Some(world) = World::postgres().await else { return };
    let ending = world.ending();
    an_unknown_payment_system_is_told_of_and_left_alone(world).await;
    ending.await;
}
