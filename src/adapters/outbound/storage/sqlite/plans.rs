//! How SQLite goes about what is asked most: by an index, however old the database is.

use super::{options, sql};
use crate::adapters::outbound::storage::migrate;
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, Row, SqliteConnection};
use std::time::Duration;

/// Orders with a task that waits and one that is done, as many as make every wrong way a long one.
const OLD: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) \
    INSERT INTO orders (id, customer_id, status, items, total, currency, created_at, updated_at, version) \
    SELECT randomblob(16), 'c-' || i, 'new', '[]', 1, 'RUB', i, i, 1 FROM n; \
    INSERT INTO tasks (id, order_id, kind, state, run_at, lane, attempts, lost_leases, deadline, \
    created_at, updated_at, version) \
    SELECT rowid, id, 'register_payment', iif(created_at % 2, 'queued', 'succeeded'), created_at, 'any', 0, \
    0, 0, created_at, created_at, 1 FROM (SELECT row_number() OVER () AS rowid, id, created_at FROM orders); \
    ANALYZE";

const HOT: [(&str, &str); 6] = [
    ("LOAD", sql::LOAD),
    ("AGGREGATE", sql::AGGREGATE),
    ("TASK", sql::TASK),
    ("CLAIM", sql::CLAIM),
    ("FIND_ORDER", sql::FIND_ORDER),
    ("FIND_RECORD", sql::FIND_RECORD),
];

async fn database(folder: &tempfile::TempDir) -> SqliteConnection {
    let url = format!("sqlite://{}", folder.path().join("orders.db").display());
    migrate(&url).await.unwrap();
    options(&url, Duration::from_secs(5)).unwrap().connect().await.unwrap()
}

async fn plan(database: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let explained = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
    let steps = database.fetch_all(explained).await.unwrap();
    steps.iter().map(|step| step.get("detail")).collect()
}

/// Steps that read a whole table, or all tasks that are in one state.
fn long_ways(plan: &[String]) -> Vec<&String> {
    let short = ["json_each", "(subquery", "queue_length"];
    let is_long = |step: &&String| {
        let scans = step.starts_with("SCAN ") && !short.iter().any(|name| step.contains(name));
        scans || step.contains("tasks_newest_of_state") || step.contains("AUTOMATIC")
    };
    plan.iter().filter(is_long).collect()
}

#[tokio::test]
async fn what_is_asked_most_never_walks_what_all_orders_have() {
    let folder = tempfile::tempdir().unwrap();
    let mut database = database(&folder).await;
    for (age, filled_by) in [("new", "SELECT 1"), ("old", OLD)] {
        database.execute(filled_by).await.unwrap();
        for (name, statement) in HOT {
            let plan = plan(&mut database, statement).await;
            assert!(!plan.is_empty(), "{name}");
            assert_eq!(long_ways(&plan), Vec::<&String>::new(), "{name}, {age}: {plan:#?}");
        }
    }
}
