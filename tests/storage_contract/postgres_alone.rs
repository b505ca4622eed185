//! What only PostgreSQL has to show: several instances, a server that goes away, a wire that is cut.

use crate::proxy::{COMMIT, Cut, Proxy};
use crate::world::{World, claim, order, request};
use order_service::adapters::outbound::storage::{Settings, connect, migrate};
use order_service::core::domain::ids::OrderId;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::task::TaskState;
use order_service::core::ports::order_repository::{
    Decide, LoadOptions, Placed, Scope, SideWrites,
};
use order_service::core::ports::outbox::After;
use order_service::core::ports::storage_error::StorageError;
use order_service::core::ports::task_queue::Wakeup;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(10);

/// Gives the fact a database of its own, where there is a server.
macro_rules! facts {
    ($($fact:ident),+ $(,)?) => {
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)] async fn $fact() {
                let Some(world) = crate::world::World::postgres().await else { return };
                let ending = world.ending();
                super::$fact(world).await;
                ending.await;
            })+
        }
    };
}

facts! {
    the_proxy_cuts_the_commit_itself,
    a_lost_commit_is_found_out_and_never_repeated,
    a_placed_order_whose_answer_is_lost_is_placed_once,
    a_claim_whose_answer_is_lost_is_not_lost,
    killed_connections_are_replaced,
    a_held_lock_is_unavailable_in_time_and_leaves_nothing_open,
    callers_without_a_connection_are_counted,
    a_held_order_takes_only_a_part_of_the_pool,
    a_wrong_decision_of_a_batch_spoils_no_other,
    a_held_order_or_task_keeps_no_other_of_its_batch_waiting,
    a_server_made_read_only_is_not_ready,
    what_must_last_is_not_left_to_the_servers_default,
    callers_that_go_away_leave_no_transaction_open,
    instances_wake_each_other,
    a_task_of_a_newer_version_is_left_alone,
    many_may_migrate_a_new_database_at_once,
    an_event_that_is_committed_late_is_not_skipped,
}

async fn admin(world: &World) -> PgConnection {
    PgConnection::connect(&world.url).await.unwrap()
}

/// Transactions that somebody left open.
async fn open_transactions(world: &World) -> i64 {
    let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
        AND pid <> pg_backend_pid() AND xact_start IS NOT NULL";
    sqlx::query_scalar(open).fetch_one(&mut admin(world).await).await.unwrap()
}

fn one_more() -> Decide {
    Box::new(|aggregate, _| {
        aggregate.tasks[0].attempts += 1;
        SideWrites::default()
    })
}

/// Else the proof below would be one of a lost BEGIN, which costs nothing.
async fn the_proxy_cuts_the_commit_itself(world: World) {
    let proxy = Proxy::start(&world.url, COMMIT).await;
    for (cut, kept) in [(Cut::Before, false), (Cut::After, true)] {
        let id = world.queued(None).await.order_id.to_string();
        let mut cut_off = PgConnection::connect(&proxy.url(&world.url)).await.unwrap();
        proxy.cut(cut);
        cut_off.execute("BEGIN ISOLATION LEVEL READ COMMITTED").await.unwrap();
        let mark = sqlx::query("UPDATE orders SET status = 'cancelled' WHERE id = $1::uuid");
        mark.bind(&id).execute(&mut cut_off).await.unwrap();
        assert!(!proxy.has_cut(), "{cut:?}: not yet");
        assert!(cut_off.execute("COMMIT").await.is_err(), "{cut:?}");
        assert!(proxy.has_cut());
        while open_transactions(&world).await > 0 {}
        let status = sqlx::query_scalar("SELECT status FROM orders WHERE id = $1::uuid").bind(&id);
        let status: String = status.fetch_one(&mut admin(&world).await).await.unwrap();
        assert_eq!(status == "cancelled", kept, "{cut:?}");
    }
}

async fn a_lost_commit_is_found_out_and_never_repeated(world: World) {
    let proxy = Proxy::start(&world.url, COMMIT).await;
    let store = world.another(&proxy.url(&world.url), LONG).await;
    let id = world.queued(None).await.order_id;
    for (done, cut) in [Cut::After, Cut::Before, Cut::After, Cut::Before].into_iter().enumerate() {
        proxy.cut(cut);
        assert_eq!(store.change(id, LoadOptions::Aggregate, one_more()).await, Ok(true), "{cut:?}");
        assert!(proxy.has_cut());
        let attempts = usize::try_from(world.aggregate(id).await.tasks[0].attempts).unwrap();
        assert_eq!(attempts, done + 1, "{cut:?}");
    }
}

async fn a_placed_order_whose_answer_is_lost_is_placed_once(world: World) {
    let plain = Proxy::start(&world.url, "\"customer_id\"").await;
    let store = world.another(&plain.url(&world.url), LONG).await;
    let once = Proxy::start(&world.url, "\"fingerprint\"").await;
    let keyed_store = world.another(&once.url(&world.url), LONG).await;
    for cut in [Cut::After, Cut::Before] {
        let mine = order("c-1");
        plain.cut(cut);
        let placed = store.place(mine.clone()).await.unwrap();
        assert!(plain.has_cut());
        assert_eq!(placed, world.aggregate(mine.id).await.order, "{cut:?}");
        let mine = order("c-1");
        once.cut(cut);
        let placed = keyed_store.place_once(mine.clone(), request(&format!("{cut:?}"))).await;
        assert_eq!(placed, Ok(Placed::New(world.aggregate(mine.id).await.order)), "{cut:?}");
        assert!(once.has_cut());
    }
}

async fn a_claim_whose_answer_is_lost_is_not_lost(world: World) {
    let proxy = Proxy::start(&world.url, "i-lost").await;
    let store = world.another(&proxy.url(&world.url), LONG).await;
    for cut in [Cut::After, Cut::Before] {
        let task = world.queued(None).await;
        proxy.cut(cut);
        let claimed = store.claim(&claim("i-lost", &[(None, 1)])).await.unwrap();
        assert!(proxy.has_cut());
        assert_eq!(claimed.len(), 1, "{cut:?}");
        assert_eq!(claimed[0].task_id, task.id);
    }
}

async fn killed_connections_are_replaced(world: World) {
    let id = world.queued(None).await.order_id;
    for _ in 0..5 {
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        admin(&world).await.execute(kill).await.unwrap();
        let many: Vec<_> = (0..10)
            .map(|_| {
                let store = Arc::clone(&world.store);
                tokio::spawn(
                    async move { store.change(id, LoadOptions::Aggregate, one_more()).await },
                )
            })
            .collect();
        for changing in many {
            assert_eq!(changing.await.unwrap(), Ok(true));
        }
    }
    assert_eq!(world.aggregate(id).await.tasks[0].attempts, 50);
}

async fn a_held_lock_is_unavailable_in_time_and_leaves_nothing_open(world: World) {
    let id = world.queued(None).await.order_id;
    let store = world.another(&world.url, Duration::from_millis(300)).await;
    let mut holder = admin(&world).await;
    holder.execute("BEGIN; SELECT * FROM orders FOR UPDATE").await.unwrap();
    let refused = store.change(id, LoadOptions::Aggregate, one_more()).await;
    assert_eq!(refused, Err(StorageError::Unavailable));
    assert!(store.aggregate(id, &Scope::Anyone).await.unwrap().is_some(), "reads go on");
    holder.execute("ROLLBACK").await.unwrap();
    while open_transactions(&world).await > 0 {}
    assert_eq!(store.change(id, LoadOptions::Aggregate, one_more()).await, Ok(true));
    assert_eq!(world.aggregate(id).await.tasks[0].attempts, 1);
}

async fn callers_without_a_connection_are_counted(world: World) {
    let mut orders = Vec::new();
    for _ in 0..5 {
        orders.push(world.queued(None).await.order_id);
    }
    let mut holder = admin(&world).await;
    holder.execute("BEGIN; SELECT * FROM orders FOR UPDATE").await.unwrap();
    let store = world.another(&world.url, LONG).await;
    let change = |order| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.change(order, LoadOptions::Aggregate, one_more()).await })
    };
    let callers: Vec<_> = orders.into_iter().map(change).collect();
    let seen = || (store.connections().used, store.connections().waiting);
    while seen() != (3, 2) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    holder.execute("ROLLBACK").await.unwrap();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), Ok(true));
    }
    assert_eq!(seen().1, 0);
}

/// An operator's psql holds one order's row: the others do not queue behind it.
async fn a_held_order_takes_only_a_part_of_the_pool(world: World) {
    let (held, free) = (world.queued(None).await.order_id, world.queued(None).await.order_id);
    let mut holder = admin(&world).await;
    let row = format!("BEGIN; SELECT * FROM orders WHERE id = '{held}' FOR UPDATE");
    holder.execute(AssertSqlSafe(row)).await.unwrap();
    let store = world.another(&world.url, LONG).await;
    let change = |order| {
        let store = Arc::clone(&store);
        async move { store.change(order, LoadOptions::Aggregate, one_more()).await }
    };
    let waiting: Vec<_> = (0..12).map(|_| tokio::spawn(change(held))).collect();
    while store.connections().used == 0 {
        tokio::task::yield_now().await;
    }
    for _ in 0..20 {
        let quick = Duration::from_secs(2);
        let changed = tokio::time::timeout(quick, change(free)).await;
        assert_eq!(changed.unwrap(), Ok(true));
        assert!(store.place(order("c-1")).await.is_ok());
    }
    holder.execute("ROLLBACK").await.unwrap();
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap(), Ok(true));
    }
}

/// Decisions on so many orders that most of them share their transactions.
async fn many(world: &World) -> Vec<OrderId> {
    let mut orders = Vec::new();
    for _ in 0..40 {
        orders.push(world.queued(None).await.order_id);
    }
    orders
}

async fn a_wrong_decision_of_a_batch_spoils_no_other(world: World) {
    let orders = many(&world).await;
    let wrong = orders[17];
    let change = |id| {
        let store = Arc::clone(&world.store);
        tokio::spawn(async move {
            let decide: Decide = Box::new(move |aggregate, _| {
                aggregate.tasks[0].attempts += 1;
                if id == wrong {
                    aggregate.tasks.clear();
                }
                SideWrites::default()
            });
            (id, store.change(id, LoadOptions::Aggregate, decide).await)
        })
    };
    for changing in orders.iter().copied().map(change).collect::<Vec<_>>() {
        let (id, changed) = changing.await.unwrap();
        assert_eq!(changed.is_ok(), id != wrong);
        assert_eq!(world.aggregate(id).await.tasks[0].attempts, u32::from(id != wrong));
    }
}

async fn a_held_order_or_task_keeps_no_other_of_its_batch_waiting(world: World) {
    let orders = many(&world).await;
    let (order, task) = (orders[3], world.aggregate(orders[23]).await.tasks[0].id);
    let mut holder = admin(&world).await;
    let rows = format!(
        "BEGIN; SELECT * FROM orders WHERE id = '{order}' FOR UPDATE; \
         SELECT * FROM tasks WHERE id = {task} FOR UPDATE"
    );
    holder.execute(AssertSqlSafe(rows)).await.unwrap();
    let change = |id| {
        let store = Arc::clone(&world.store);
        tokio::spawn(async move { store.change(id, LoadOptions::Aggregate, one_more()).await })
    };
    let changing: Vec<_> = orders.iter().copied().map(change).collect();
    let mut held = Vec::new();
    for (id, changing) in orders.iter().zip(changing) {
        if [order, orders[23]].contains(id) {
            held.push(changing);
        } else {
            assert_eq!(changing.await.unwrap(), Ok(true), "it waits for nobody");
        }
    }
    assert!(held.iter().all(|changing| !changing.is_finished()));
    holder.execute("ROLLBACK").await.unwrap();
    for changing in held {
        assert_eq!(changing.await.unwrap(), Ok(true));
    }
    for id in orders {
        assert_eq!(world.aggregate(id).await.tasks[0].attempts, 1);
    }
}

async fn a_server_made_read_only_is_not_ready(world: World) {
    let store = world.another(&world.url, LONG).await;
    assert_eq!(store.ping().await, Ok(()));
    let name: String = sqlx::query_scalar("SELECT current_database()")
        .fetch_one(&mut admin(&world).await)
        .await
        .unwrap();
    for (setting, ready) in [("on", false), ("off", true)] {
        let mut admin = admin(&world).await;
        // Each by itself: several at once are one transaction, which has begun read-only.
        admin.execute("SET default_transaction_read_only = off").await.unwrap();
        let set = format!("ALTER DATABASE {name} SET default_transaction_read_only = {setting}");
        admin.execute(AssertSqlSafe(set)).await.unwrap();
        let store = world.another(&world.url, LONG).await;
        assert_eq!(store.ping().await.is_ok(), ready, "{setting}");
    }
}

async fn what_must_last_is_not_left_to_the_servers_default(world: World) {
    let name: String = sqlx::query_scalar("SELECT current_database()")
        .fetch_one(&mut admin(&world).await)
        .await
        .unwrap();
    let set = format!("ALTER DATABASE {name} SET synchronous_commit = off");
    admin(&world).await.execute(AssertSqlSafe(set)).await.unwrap();
    let proof = "CREATE TABLE proof (said text); \
        CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
        INSERT INTO proof VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$; \
        CREATE TRIGGER say BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION say()";
    admin(&world).await.execute(proof).await.unwrap();
    for prepared in [true, false] {
        let settings = Settings { prepared, ..Settings::default() };
        connect(&world.url, settings).await.unwrap().place(order("c-1")).await.unwrap();
    }
    let said: Vec<String> = sqlx::query_scalar("SELECT said FROM proof")
        .fetch_all(&mut admin(&world).await)
        .await
        .unwrap();
    assert_eq!(said, ["on", "on"]);
}

async fn callers_that_go_away_leave_no_transaction_open(world: World) {
    let id = world.queued(None).await.order_id;
    for _ in 0..100 {
        let mut leaving = Box::pin(world.store.change(id, LoadOptions::Aggregate, one_more()));
        for _ in 0..fastrand::u8(1..9) {
            tokio::select! { biased; _ = &mut leaving => break, () = tokio::task::yield_now() => {} }
        }
    }
    while open_transactions(&world).await > 0 {}
    // What had begun was finished, caller or not.
    let aggregate = world.aggregate(id).await;
    assert_eq!(i64::from(aggregate.tasks[0].attempts) + 2, aggregate.order.version);
}

async fn instances_wake_each_other(world: World) {
    let other = world.another(&world.url, LONG).await;
    let heard = |wakeup, seen| {
        let other = Arc::clone(&other);
        async move { tokio::time::timeout(LONG, other.wakeup(wakeup, seen)).await.unwrap() }
    };
    // It may not be listening yet: until it hears, say it again.
    let mut hearing = Box::pin(heard(Wakeup::TaskDue, 0));
    let task = loop {
        let task = world.queued(None).await;
        let pause = Duration::from_millis(20);
        if tokio::time::timeout(pause, &mut hearing).await.is_ok() {
            break task;
        }
    };
    let finish =
        |aggregate: &mut OrderAggregate, _: &_| aggregate.tasks[0].state = TaskState::Failed;
    world.change(task.order_id, finish).await.unwrap();
    assert!(heard(Wakeup::TaskFinished, 0).await > 0);
}

async fn a_task_of_a_newer_version_is_left_alone(world: World) {
    let task = world.queued(None).await;
    let newer = "UPDATE tasks SET kind = 'teleport_payment'";
    admin(&world).await.execute(newer).await.unwrap();
    assert_eq!(world.store.claim(&claim("i-1", &[(None, 9)])).await, Ok(vec![]));
    assert_eq!(world.aggregate(task.order_id).await.tasks, vec![]);
    assert_eq!(world.store.task(task.id, &Scope::Anyone).await, Ok(None));
    assert_eq!(world.store.task_stats().await, Ok(vec![]));
}

async fn many_may_migrate_a_new_database_at_once(world: World) {
    admin(&world).await.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public").await.unwrap();
    let many: Vec<_> = (0..8)
        .map(|_| {
            let url = world.url.clone();
            tokio::spawn(async move { migrate(&url).await })
        })
        .collect();
    for migrating in many {
        migrating.await.unwrap().unwrap();
    }
}

/// The trap of outboxes: a transaction numbers its row, another one numbers and commits after it, a reader goes on
/// after the second, and then the first commits.
async fn an_event_that_is_committed_late_is_not_skipped(world: World) {
    let (slow, quick) = (world.placed("c-1").await, world.placed("c-1").await);
    let tell = |id: OrderId| {
        format!(
            "INSERT INTO events (order_id, sequence, kind, at) VALUES ('{id}', 2, 'order.cancelled', 1)"
        )
    };
    let all = async |after| world.store.events(after, 10, &Scope::Anyone).await.unwrap().unwrap();
    let placed = all(After::Position(0)).await;
    let mut late = admin(&world).await;
    late.execute("BEGIN").await.unwrap();
    late.execute(AssertSqlSafe(tell(slow.id))).await.unwrap();
    admin(&world).await.execute(AssertSqlSafe(tell(quick.id))).await.unwrap();
    let first = all(After::Position(placed.last().unwrap().position)).await;
    assert_eq!(first.iter().map(|event| event.aggregate.order.id).collect::<Vec<_>>(), [quick.id]);
    late.execute("COMMIT").await.unwrap();
    let then = all(After::Position(first[0].position)).await;
    assert_eq!(then.iter().map(|event| event.aggregate.order.id).collect::<Vec<_>>(), [slow.id]);
}
