//! What only SQLite has to show: one file, and a process that may die at any moment.

use crate::world::{World, claim, order};
use order_service::adapters::outbound::storage::Store;
use order_service::adapters::outbound::storage::{
    BackupError, ConnectError, Settings, backup, check_schema, connect, migrate,
};
use order_service::core::domain::ids::OrderId;
use order_service::core::payment::OrderAggregate;
use order_service::core::ports::order_repository::{LoadOptions, Scope, SideWrites};
use order_service::core::ports::storage_error::StorageError;
use sqlx::{AssertSqlSafe, Connection, Executor, SqliteConnection};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const VICTIM: &str = "STORAGE_TEST_VICTIM";

/// Runs in a process of its own, which the next test kills.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_victim_places_orders_until_it_is_killed() {
    let Ok(url) = std::env::var(VICTIM) else { return };
    let store = connect(&url, Settings::default()).await.unwrap();
    for _ in 0..8 {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            loop {
                let mine = order("c-1");
                store.place(mine.clone()).await.unwrap();
                std::io::stdout().write_all(format!("placed {}\n", mine.id).as_bytes()).unwrap();
            }
        });
    }
    std::future::pending().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_survives_the_death_of_the_process() {
    let world = World::sqlite().await;
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite_alone::the_victim_places_orders_until_it_is_killed"])
        .arg("--nocapture")
        .env(VICTIM, &world.url)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut answered = Vec::new();
    for line in lines {
        // The last line may be cut short by the kill.
        answered.extend(line.split("placed ").nth(1).and_then(OrderId::parse));
        if answered.len() == 300 {
            victim.kill().unwrap();
        }
    }
    victim.wait().unwrap();
    assert!(answered.len() >= 300, "{}", answered.len());
    for id in answered {
        world.aggregate(id).await;
    }
    let mut file = SqliteConnection::connect(&world.url).await.unwrap();
    let sound: String =
        sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut file).await.unwrap();
    assert_eq!(sound, "ok");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_on_one_file_lose_no_update() {
    let world = World::sqlite().await;
    let other = world.another(&world.url, Duration::from_secs(20)).await;
    let id = world.queued(None).await.order_id;
    let many = (0..40).map(|place| {
        let store = if place % 2 == 0 { Arc::clone(&world.store) } else { Arc::clone(&other) };
        tokio::spawn(async move {
            let more = Box::new(|aggregate: &mut OrderAggregate, _: &_| {
                aggregate.tasks[0].attempts += 1;
                SideWrites::default()
            });
            store.change(id, LoadOptions::Aggregate, more).await.unwrap()
        })
    });
    for changing in many.collect::<Vec<_>>() {
        changing.await.unwrap();
    }
    assert_eq!(world.aggregate(id).await.tasks[0].attempts, 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_file_is_unavailable_in_time_and_works_again_by_itself() {
    let world = World::sqlite().await;
    let limit = Duration::from_millis(200);
    let store = world.another(&world.url, limit).await;
    let mut lock = SqliteConnection::connect(&world.url).await.unwrap();
    lock.execute("BEGIN IMMEDIATE").await.unwrap();
    let mine = order("c-1");
    assert_eq!(store.place(mine.clone()).await, Err(StorageError::Unavailable));
    assert_eq!(store.ping().await, Err(StorageError::Unavailable));
    lock.execute("ROLLBACK").await.unwrap();
    while store.ping().await.is_err() {}
    // What was answered with an error is not there, also not later.
    assert_eq!(store.aggregate(mine.id, &Scope::Anyone).await, Ok(None));
    store.place(mine).await.unwrap();
}

#[tokio::test]
async fn a_task_of_a_newer_version_is_left_alone() {
    let world = World::sqlite().await;
    let task = world.queued(None).await;
    let mut file = SqliteConnection::connect(&world.url).await.unwrap();
    file.execute("UPDATE tasks SET kind = 'teleport_payment'").await.unwrap();
    assert_eq!(world.store.claim(&claim("i-1", &[(None, 9)])).await, Ok(vec![]));
    assert_eq!(world.aggregate(task.order_id).await.tasks, vec![]);
    assert_eq!(world.store.task(task.id, &Scope::Anyone).await, Ok(None));
    assert_eq!(world.store.task_stats().await, Ok(vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_migrate_a_new_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("new/orders.db").display());
    let many: Vec<_> = (0..8)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { migrate(&url).await })
        })
        .collect();
    for migrating in many {
        migrating.await.unwrap().unwrap();
    }
    // A newer version has been here, too.
    let mut file = SqliteConnection::connect(&url).await.unwrap();
    let newer = "INSERT INTO _sqlx_migrations VALUES (999, 'newer', 0, true, x'00', 1)";
    file.execute(AssertSqlSafe(newer)).await.unwrap();
    migrate(&url).await.unwrap();
}

/// The store of a file, with the process's own clock.
async fn plain(url: &str) -> Result<Arc<dyn Store>, ConnectError> {
    connect(url, Settings::default()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_not_there_is_no_empty_database() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("typo.db").display());
    assert!(plain(&url).await.is_err());
    assert!(check_schema(&url).await.is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    migrate(&url).await.unwrap();
    check_schema(&url).await.unwrap();
    let mut file = SqliteConnection::connect(&url).await.unwrap();
    file.execute("DELETE FROM _sqlx_migrations WHERE version = 5").await.unwrap();
    let refused = check_schema(&url).await.unwrap_err();
    assert!(matches!(refused, ConnectError::Behind(5)), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_written_to_a_file_that_was_deleted_or_replaced() {
    let world = World::sqlite().await;
    let path = world.url.strip_prefix("sqlite://").unwrap();
    assert_eq!(world.store.ping().await, Ok(()));
    let elsewhere = format!("{path}.moved");
    std::fs::rename(path, &elsewhere).unwrap();
    assert_eq!(world.store.ping().await, Err(StorageError::Unavailable));
    assert_eq!(world.store.place(order("c-1")).await, Err(StorageError::Unavailable));
    std::fs::copy(&elsewhere, path).unwrap();
    assert_eq!(world.store.ping().await, Err(StorageError::Unavailable), "a copy is another file");
    std::fs::rename(&elsewhere, path).unwrap();
    assert_eq!(world.store.ping().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readiness_proves_that_a_write_lasts() {
    let world = World::sqlite().await;
    let mut file = SqliteConnection::connect(&world.url).await.unwrap();
    let full = "CREATE TRIGGER full BEFORE UPDATE ON write_probe \
        BEGIN SELECT raise(ABORT, 'database or disk is full'); END";
    file.execute(full).await.unwrap();
    assert!(world.store.ping().await.is_err());
    file.execute("DROP TRIGGER full").await.unwrap();
    assert_eq!(world.store.ping().await, Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_never_tells_an_earlier_time_than_the_file_holds() {
    let world = World::sqlite().await;
    world.advance(Duration::from_secs(100 * 365 * 86_400));
    let late = world.placed("c-1").await;
    let restarted = plain(&world.url).await.unwrap();
    let next = restarted.place(order("c-1")).await.unwrap();
    assert!(next.created_at >= late.created_at, "{next:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_while_orders_are_placed_holds_all_that_was_answered_before_it() {
    let world = World::sqlite().await;
    let mut before = Vec::new();
    for _ in 0..20 {
        before.push(world.placed("c-1").await);
    }
    let store = Arc::clone(&world.store);
    let placing = tokio::spawn(async move {
        loop {
            store.place(order("c-2")).await.unwrap();
        }
    });
    let target = format!("{}.backup", world.url.strip_prefix("sqlite://").unwrap());
    let bytes = backup(&world.url, target.as_ref()).await.unwrap();
    placing.abort();
    let found = std::fs::metadata(&target).unwrap();
    assert_eq!((found.len(), found.permissions().mode() & 0o777), (bytes, 0o600));
    let refused = backup(&world.url, target.as_ref()).await.unwrap_err();
    assert!(matches!(refused, BackupError::Exists(_)), "{refused}");

    // The restore: the copy takes the place of the lost file, and the service goes on.
    let url = format!("sqlite://{target}");
    migrate(&url).await.unwrap();
    let restored = plain(&url).await.unwrap();
    for order in before {
        let found = restored.aggregate(order.id, &Scope::Anyone).await.unwrap();
        assert_eq!(found.unwrap().order, order);
    }
    restored.place(order("c-3")).await.unwrap();
    assert_eq!(restored.ping().await, Ok(()));
}
