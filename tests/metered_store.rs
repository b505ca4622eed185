//! The storage as the metrics see it: every operation timed, the tasks counted, nothing in the way.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use order_service::adapters::observe::metrics::{BuildInfo, MeteredStore, Metrics};
use order_service::adapters::observe::storage_upkeep::StorageUpkeep;
use order_service::adapters::outbound::storage::{MemoryStore, Settings, connect, migrate};
use order_service::core::domain::ids::OrderId;
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::ports::clock::Clock;
use order_service::core::ports::order_repository::{OrderRepository, Scope};
use order_service::core::ports::task_queue::{TaskQueue, Wakeup};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_764_500_000_000_000)
    }
}

fn metered() -> (MeteredStore<MemoryStore>, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::new(BuildInfo::CURRENT));
    let store = Arc::new(MemoryStore::new(Arc::new(StoppedClock)));
    (MeteredStore::new(store, Arc::clone(&metrics), "sqlite"), metrics)
}

fn count(page: &str, operation: &str) -> u64 {
    let name = format!(r#"db_operation_name="{operation}""#);
    let mut lines = page.lines().filter(|line| {
        line.starts_with("db_client_operation_duration_seconds_count") && line.contains(&name)
    });
    lines.next().and_then(|line| line.rsplit(' ').next()).unwrap().parse().unwrap()
}

#[tokio::test]
async fn every_operation_is_timed_under_its_name() {
    let (store, metrics) = metered();
    let id = OrderId::new(Timestamp::from_micros(1), 1);
    assert_eq!(store.aggregate(id, &Scope::Anyone).await, Ok(None));
    let page = metrics.render();
    assert_eq!((count(&page, "aggregate"), count(&page, "place")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_tasks_are_asked_for_once_in_five_seconds_however_many_scrape() {
    let (store, metrics) = metered();
    for _ in 0..3 {
        metrics.refresh_tasks(&store).await;
    }
    assert_eq!(count(&metrics.render(), "task_stats"), 1);
    tokio::time::advance(Duration::from_secs(5)).await;
    metrics.refresh_tasks(&store).await;
    assert_eq!(count(&metrics.render(), "task_stats"), 2);
}

#[tokio::test(start_paused = true)]
async fn wakeups_pass_through() {
    let (store, _) = metered();
    let wakeup = store.wakeup(Wakeup::TaskDue, 1);
    assert_eq!(tokio::time::timeout(Duration::from_secs(1), wakeup).await, Ok(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connections_of_the_store_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("orders.db").display());
    migrate(&url).await.unwrap();
    let metrics = Arc::new(Metrics::new(BuildInfo::CURRENT));
    let store = connect(&url, Settings::default()).await.unwrap();
    let store = Arc::new(MeteredStore::new(store, Arc::clone(&metrics), "sqlite"));
    metrics.watch_connections(store.clone());
    let shown = |series: &str| {
        let page = metrics.render();
        let line = page.lines().find_map(|line| line.strip_prefix(series)).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    let count = |state| shown(&format!(r#"db_client_connection_count{{state="{state}"}}"#));
    assert_eq!(
        (count("idle"), count("used")),
        (0, 0),
        "readers are connected when they are needed"
    );
    store.task_stats().await.unwrap();
    while count("idle") != 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!((count("used"), shown("db_client_connection_pending_requests ")), (0, 0));
}
