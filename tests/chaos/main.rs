//! A short run of chaos on each database; `examples/chaos.rs` has long ones.
//!
//! `CHAOS_SEED=7` chooses what happens, `CHAOS_SECONDS=60` for how long.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod run;

use run::{Database, Plan};
use std::io::Write;
use std::str::FromStr;
use std::time::Duration;

fn from_env<T: FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

/// Past the test harness, which swallows what a passing test prints.
fn say(text: &str) {
    std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
}

async fn survives(database: Database, instances: usize) {
    let plan = Plan {
        seed: from_env("CHAOS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000)),
        database,
        instances,
        clients: 8,
        storm: Duration::from_secs(from_env("CHAOS_SECONDS").unwrap_or(15)),
        binary: env!("CARGO_BIN_EXE_order-service").into(),
    };
    say(&format!("chaos: CHAOS_SEED={} on {database:?}", plan.seed));
    match run::run(&plan).await {
        Some(report) if report.is_clean() => say(&report.to_string()),
        Some(report) => panic!("CHAOS_SEED={}\n{report}", plan.seed),
        None => say("\n*** chaos on PostgreSQL SKIPPED: there is no PostgreSQL here ***\n"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_on_sqlite() {
    survives(Database::Sqlite, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_doubled_by_three_instances_on_postgres() {
    survives(Database::Postgres, 3).await;
}
