//! Chaos for as long as you like: the real binary, killed, stopped and restarted under load while its
//! partners and its database fail; then what clients were told is held against the ledgers.
//!
//! ```text
//! cargo run --release --example chaos -- --minutes 10 --database postgres --instances 3 --seed 7
//! ```
//!
//! Ends with 1 when anything was lost or doubled. The runs of `cargo test --test chaos` are the same, but short.

#![expect(clippy::unwrap_used, reason = "a tool for developers stops where it cannot go on")]

#[path = "../tests/chaos/run/mod.rs"]
mod run;

use clap::{Parser, ValueEnum};
use run::{Database, Plan};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

#[derive(Debug, Parser)]
struct Args {
    /// How long things break.
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    #[arg(long, value_enum, default_value = "sqlite")]
    database: Sort,
    /// SQLite has one.
    #[arg(long)]
    instances: Option<usize>,
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Chooses what happens; random if not given.
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Sort {
    Sqlite,
    Postgres,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let (database, usual) = match args.database {
        Sort::Sqlite => (Database::Sqlite, 1),
        Sort::Postgres => (Database::Postgres, 3),
    };
    let instances = args.instances.unwrap_or(usual);
    if database == Database::Sqlite && instances != 1 {
        return end("SQLite has one instance", false);
    }
    let plan = Plan {
        seed: args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000)),
        database,
        instances,
        clients: args.clients,
        storm: Duration::from_secs_f64(args.minutes * 60.0),
        binary: service(),
    };
    match run::run(&plan).await {
        Some(report) => end(&report.to_string(), report.is_clean()),
        None => end("there is no PostgreSQL: install it, or set TEST_DATABASE_URL", false),
    }
}

/// The service as it is now, of the same profile as this program, beside whose folder it is built.
fn service() -> PathBuf {
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--quiet", "--bin", "order-service"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    assert!(build.status().unwrap().success(), "the service cannot be built");
    let examples = std::env::current_exe().unwrap();
    examples.parent().unwrap().with_file_name("order-service")
}

fn end(text: &str, well: bool) -> ExitCode {
    std::io::stdout().write_all(format!("{text}\n").as_bytes()).unwrap();
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
