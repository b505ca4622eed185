//! What is measured: the service as it is deployed, the bare stack beside it, and the partner of both.

use crate::client::{Connection, send};
use crate::process::{OTHER_CORE, Process, SERVER_CORE, run};
use anyhow::{Result, ensure};
use std::time::Duration;
use tempfile::TempDir;

/// Ports that a test run does not use.
const PARTNER: &str = "127.0.0.1:18901";
const BARE: &str = "127.0.0.1:18902";
const OURS: &str = "127.0.0.1:18903";
const ADMIN: &str = "127.0.0.1:18904";

pub const PAYMENT_SYSTEMS: [&str; 2] = ["sber", "odnakassa"];

#[derive(Debug)]
pub struct Stack {
    pub process: Process,
    pub address: &'static str,
    /// Until it took connections.
    pub ready_after: Duration,
}

/// Both, with databases of their own that go with them.
#[derive(Debug)]
pub struct Stacks {
    pub ours: Stack,
    pub bare: Stack,
    _partner: Process,
    _folder: TempDir,
}

#[derive(Debug, Clone)]
pub enum Database {
    Sqlite,
    /// An empty one for each of the two, on this server.
    Postgres(String),
}

impl Database {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    /// SQLite, and PostgreSQL where a server is named.
    pub fn all() -> Vec<Self> {
        let server = std::env::var("TEST_DATABASE_URL").ok();
        std::iter::once(Self::Sqlite).chain(server.map(Self::Postgres)).collect()
    }

    async fn url(&self, folder: &TempDir, name: &str) -> Result<String> {
        match self {
            Self::Sqlite => Ok(format!("sqlite://{}", folder.path().join(name).display())),
            Self::Postgres(server) => {
                use sqlx::{AssertSqlSafe, ConnectOptions, Executor};
                let options: sqlx::postgres::PgConnectOptions = server.parse()?;
                let mut connection = options.connect().await?;
                let name = format!("bench_{name}");
                let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                connection.execute(AssertSqlSafe(drop)).await?;
                connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await?;
                let (server, _) = server.rsplit_once('/').unwrap_or((server, ""));
                Ok(format!("{server}/{name}"))
            }
        }
    }
}

impl Stacks {
    /// `variables` are the service's beside those that it must have.
    pub async fn start(database: &Database, variables: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let here = std::env::current_exe()?.display().to_string();
        let (partner, _) =
            Process::start(OTHER_CORE, &here, &["role", "partner", PARTNER], &[], PARTNER).await?;
        let url = database.url(&folder, "bare").await?;
        let role = ["role", "bare", BARE, PARTNER, &url];
        let (process, ready_after) = Process::start(SERVER_CORE, &here, &role, &[], BARE).await?;
        let bare = Stack { process, address: BARE, ready_after };
        let url = database.url(&folder, "ours").await?;
        let mut all = environment(&url);
        all.extend(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let other = std::env::var("BENCH_SERVICE").ok();
        let service = other.as_deref().unwrap_or(env!("CARGO_BIN_EXE_order-service"));
        // Only this makes a database: a start that made one would hide a wrong path.
        run(service, "migrate", &all)?;
        let (process, ready_after) = Process::start(SERVER_CORE, service, &[], &all, OURS).await?;
        let ours = Stack { process, address: OURS, ready_after };
        Ok(Self { ours, bare, _partner: partner, _folder: folder })
    }
}

impl Stack {
    /// By the operator's hand.
    pub async fn set_breakers(&self, systems: &[&str], mode: &str) -> Result<()> {
        let mut admin = Connection::new(ADMIN);
        for system in systems {
            let path = format!("/admin/systems/{system}/breaker");
            let body = format!(r#"{{"mode":"{mode}","reason":"bench"}}"#);
            let status = admin.ask(&send("PUT", &path, "", &body)).await?;
            ensure!(status == 200, "{path}: {status}");
        }
        Ok(())
    }

    /// Tasks that wait for a payment system, as the metrics tell.
    pub async fn queued(&self) -> Result<u64> {
        let mut admin = Connection::new(ADMIN);
        admin.ask(&crate::client::get("/metrics")).await?;
        let text = String::from_utf8_lossy(admin.body()).into_owned();
        let unfinished = |line: &&str| line.contains("queued") || line.contains("running");
        let lines = text.lines().filter(|line| line.starts_with("tasks{kind=\"register_payment\""));
        let lines = lines.filter(unfinished);
        let counts = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        Ok(counts.sum())
    }
}

/// No limit of the service's own shall be what is measured.
fn environment(database: &str) -> Vec<(String, String)> {
    let partner = format!("http://{PARTNER}/");
    [
        ("HTTP_ADDR", OURS),
        ("ADMIN_ADDR", ADMIN),
        ("DATABASE_URL", database),
        ("RUST_LOG", "warn"),
        ("AUTH_MODE", "none"),
        ("PAYMENT_RETURN_URL", "http://localhost/return"),
        ("TASK_QUEUE_MAX", "1000000"),
        ("SBER_BASE_URL", &partner),
        ("SBER_USERNAME", "bench"),
        ("SBER_PASSWORD", "bench"),
        ("SBER_MAX_CONCURRENT", "200"),
        ("ODNAKASSA_BASE_URL", &partner),
        ("ODNAKASSA_API_KEY", "bench"),
        ("CATALOG_BASE_URL", &partner),
        ("RECOMMENDATIONS_BASE_URL", &partner),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}
