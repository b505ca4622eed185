//! What a run works with: the partners, the database, the addresses, and the tallies that all
//! actors keep.

use super::instance::{Instance, free_port};
use super::postgres;
use super::proxy::{COMMIT, Proxy};
use order_service::adapters::outbound::storage::migrate;
use order_service::sandbox::{PartnerName, Ports, Sandbox, SandboxConfig};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// So many calls at a time may one instance make to one payment partner.
pub const MAX_CONCURRENT: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres,
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub database: Database,
    pub instances: usize,
    pub clients: usize,
    /// How long things break.
    pub storm: Duration,
    /// The service.
    pub binary: PathBuf,
}

#[derive(Debug)]
pub struct Harness {
    pub partners: Sandbox,
    pub database: Store,
    pub http: reqwest::Client,
    /// Of each instance, dead or alive.
    pub apis: Vec<String>,
    /// Cancelled when the storm is over.
    pub storm: CancellationToken,
    /// Forms that payers have in front of them.
    pub forms: Mutex<Vec<String>>,
    pub tally: Tally,
    /// Contradictions that were seen at once.
    pub seen: Mutex<Vec<String>>,
    pub restarts: Mutex<Vec<Duration>>,
}

#[derive(Debug, Default)]
pub struct Tally {
    pub kills: AtomicU64,
    pub terms: AtomicU64,
    /// COMMITs that the server never heard.
    pub cut_before: AtomicU64,
    /// COMMITs that it heard, and whose answers were lost.
    pub cut_after: AtomicU64,
    pub database_restarts: AtomicU64,
    pub faults: AtomicU64,
    pub requests: AtomicU64,
    pub unanswered: AtomicU64,
}

/// Where the orders are kept.
#[derive(Debug)]
pub enum Store {
    Sqlite(TempDir),
    Postgres { base: postgres::Base, proxy: Proxy },
}

impl Harness {
    pub fn bump(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub fn complain(&self, what: String) {
        self.seen.lock().unwrap().push(what);
    }
}

impl Store {
    async fn of(database: Database) -> Option<Self> {
        Some(match database {
            Database::Sqlite => Self::Sqlite(tempfile::tempdir().unwrap()),
            Database::Postgres => {
                let base = postgres::Base::find().await?;
                let proxy = Proxy::start(&base.url, COMMIT).await;
                Self::Postgres { base, proxy }
            }
        })
    }

    fn url(&self) -> String {
        match self {
            Self::Sqlite(folder) => format!("sqlite://{}", folder.path().join("o.db").display()),
            Self::Postgres { base, proxy } => proxy.url(&base.url),
        }
    }

    pub async fn end(&self) {
        match self {
            Self::Sqlite(_) => {}
            Self::Postgres { base, .. } => base.end().await,
        }
    }
}

/// Everything, and the instances, which run already.
pub async fn build(plan: &Plan) -> Option<(Arc<Harness>, Vec<Instance>)> {
    let database = Store::of(plan.database).await?;
    migrate(&database.url()).await.unwrap();
    let partners = PartnerName::ALL.map(|partner| (partner, free_port()));
    let ports = Ports { control: free_port(), partners: partners.into() };
    let seed = Some(plan.seed);
    let config = SandboxConfig { ports, seed, time_scale: 0.002, ..SandboxConfig::default() };
    let partners = Sandbox::start(config).await.unwrap();
    let common = settings(&partners, &database.url());
    let mut instances: Vec<_> = (1..=plan.instances)
        .map(|number| Instance::new(number, plan.binary.clone(), common.clone()))
        .collect();
    for instance in &mut instances {
        instance.start().await;
    }
    let apis: Vec<_> = instances.iter().map(|instance| instance.api.clone()).collect();
    partners.set_callback_url(apis.first().map(String::as_str));
    let http = reqwest::Client::builder().timeout(Duration::from_secs(15)).no_proxy();
    let harness = Harness {
        partners,
        database,
        http: http.build().unwrap(),
        apis,
        storm: CancellationToken::new(),
        forms: Mutex::default(),
        tally: Tally::default(),
        seen: Mutex::default(),
        restarts: Mutex::default(),
    };
    Some((Arc::new(harness), instances))
}

/// Short times, so that a short run sees every one of them run out.
fn settings(partners: &Sandbox, database: &str) -> Vec<(String, String)> {
    let general = [
        ("DATABASE_URL", database),
        ("DATABASE_MAX_CONNECTIONS", "5"),
        ("PAYMENT_RETURN_URL", "https://shop.example/back"),
        ("PAYMENT_UNKNOWN_GRACE", "2s"),
        ("PAYMENT_SYNC_WAIT", "1500ms"),
        ("PAYMENT_POLL_INTERVAL", "500ms"),
        ("TASK_POLL_INTERVAL", "100ms"),
        ("TASK_LEASE", "3s"),
        ("TASK_BACKOFF", "200ms"),
        ("TASK_BACKOFF_MAX", "1s"),
        ("SHUTDOWN_GRACE", "50ms"),
        ("SHUTDOWN_TIMEOUT", "4s"),
        ("LOG_FORMAT", "json"),
        ("RUST_LOG", "warn"),
    ];
    let max_concurrent = MAX_CONCURRENT.to_string();
    let each_system = [
        ("CONNECT_TIMEOUT", "200ms"),
        ("READ_TIMEOUT", "500ms"),
        ("CALL_TIMEOUT", "1700ms"),
        ("SLOW_CALL_THRESHOLD", "400ms"),
        ("CB_OPEN_TIMEOUT", "500ms"),
        ("MAX_CONCURRENT", &max_concurrent),
    ];
    let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut all: Vec<_> = general.iter().map(|(name, value)| named(name, value)).collect();
    all.extend(partners.service_env());
    for partner in PartnerName::payment_systems().chain([PartnerName::Catalog]) {
        let system = partner.as_str().to_uppercase();
        let knobs = each_system.iter();
        all.extend(knobs.map(|(knob, value)| named(&format!("{system}_{knob}"), value)));
    }
    all
}
