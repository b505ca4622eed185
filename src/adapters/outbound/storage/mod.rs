//! Where orders live: SQLite for one instance, PostgreSQL for many, memory for tests, behind the same
//! ports. The scheme of the URL chooses; a contract suite (tests/storage_contract) holds all to the same.

mod backup;
mod census;
mod decision;
mod diff;
mod filters;
mod invariants;
mod pool;
mod rows;
mod set_aside;
mod wakeups;
mod write_probe;

mod memory;
mod migrations;
mod postgres;
mod sqlite;

pub use backup::{BackupError, backup};
pub use census::payment_systems;
pub use memory::MemoryStore;
pub use migrations::{check_schema, migrate};
pub use postgres::PgStore;
pub use sqlite::{FileLock, SqliteStore};

use crate::adapters::observe::adapter_events::{AdapterEvents, Untold};
use crate::adapters::observe::service_mode::ServiceModes;
use crate::adapters::observe::storage_upkeep::{AuditLog, OrderRecords, StorageUpkeep};
use crate::core::payment::OrderAggregate;
use crate::core::payment::task::{Reason, Task, TaskKind, TaskState};
use crate::core::ports::clock::Clock;
use crate::core::ports::idempotency::IdempotencyStore;
use crate::core::ports::order_repository::OrderRepository;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::TaskQueue;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// All that is asked of a database: what the core needs, and what the operator does.
pub trait Store:
    OrderRepository
    + TaskQueue
    + IdempotencyStore
    + StorageUpkeep
    + AuditLog
    + OrderRecords
    + ServiceModes
{
}

impl<S> Store for S where
    S: OrderRepository
        + TaskQueue
        + IdempotencyStore
        + StorageUpkeep
        + AuditLog
        + OrderRecords
        + ServiceModes
{
}

#[derive(Debug, Clone)]
pub struct Settings {
    pub max_connections: u32,
    /// Of every call: past it the caller hears [`StorageError::Unavailable`].
    pub time_limit: Duration,
    /// Where session state lasts, if that is not where the URL leads: past a pooler.
    pub direct_url: Option<String>,
    /// Whether a statement is prepared once a connection. Not behind a pooler that gives each
    /// transaction another one.
    pub prepared: bool,
    /// That a failover may lose commits is known and accepted.
    pub accept_async: bool,
    /// A test's clock. Otherwise the database's own, which SQLite borrows from the process.
    pub clock: Option<Arc<dyn Clock>>,
    /// Who counts the rows that could not be read.
    pub events: Arc<dyn AdapterEvents>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_connections: 10,
            time_limit: Duration::from_secs(5),
            direct_url: None,
            prepared: true,
            accept_async: false,
            clock: None,
            events: Arc::new(Untold),
        }
    }
}

/// Why there is no store.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("a database URL begins with sqlite: or postgres:")]
    UnknownScheme,
    #[error("cannot connect to the database")]
    Database(#[from] sqlx::Error),
    #[error("cannot migrate the database")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    #[error("the schema lacks migration {0}: `order-service migrate` comes first")]
    Behind(i64),
    #[error("another process serves from {}: {holder}", path.display())]
    Held { path: PathBuf, holder: String },
    #[error("there is no {}: `order-service migrate` makes one", .0.display())]
    NoFile(PathBuf),
    #[error("the database's file cannot be used")]
    File(#[from] std::io::Error),
}

/// What becomes of a SQLite file that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMissing {
    Create,
    /// Whoever expects orders must not go on with an empty file, because of a slip in its name.
    Refuse,
}

/// The databases that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    fn of(url: &str) -> Result<Self, ConnectError> {
        match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => Ok(Self::Sqlite),
            Some("postgres" | "postgresql") => Ok(Self::Postgres),
            Some(_) | None => Err(ConnectError::UnknownScheme),
        }
    }
}

/// OpenTelemetry's word for the database that the URL names.
///
/// # Errors
/// An unknown scheme.
pub fn system_name(url: &str) -> Result<&'static str, ConnectError> {
    Ok(match Dialect::of(url)? {
        Dialect::Sqlite => "sqlite",
        Dialect::Postgres => "postgresql",
    })
}

/// Takes the SQLite file of the URL for this process, until the lock is dropped: its writer, its clock
/// and its wake-ups are one process's. A server is for many, and needs no lock.
///
/// # Errors
/// An unknown scheme, no file, or another process that holds it.
pub fn lock_file(
    url: &str,
    holder: &str,
    missing: OnMissing,
) -> Result<Option<FileLock>, ConnectError> {
    match Dialect::of(url)? {
        Dialect::Sqlite => {
            let options = sqlite::options(url, Settings::default().time_limit)?;
            FileLock::take(options.get_filename(), holder, missing).map(Some)
        }
        Dialect::Postgres => Ok(None),
    }
}

/// The store that the URL names, already migrated (see [`migrate`]).
///
/// # Errors
/// An unknown scheme, or the database cannot be reached.
pub async fn connect(url: &str, settings: Settings) -> Result<Arc<dyn Store>, ConnectError> {
    match Dialect::of(url)? {
        Dialect::Sqlite => Ok(Arc::new(SqliteStore::connect(url, settings).await?)),
        Dialect::Postgres => Ok(Arc::new(PgStore::connect(url, settings).await?)),
    }
}

/// How many rows of a table one pruning removes: a small transaction, so that nobody waits for it.
const PRUNE_BATCH: u16 = 500;

/// The idempotency key was taken by a concurrent request while this one decided. Nothing was done;
/// repeated, the request finds the other's outcome.
const KEY_TAKEN: StorageError = StorageError::Unavailable;

/// How many of an order's own tasks count into the length of the queue.
fn waiting_of(aggregate: &OrderAggregate) -> u64 {
    aggregate.tasks.iter().filter(|task| is_waiting(task)).count() as u64
}

/// Whether it counts into the length of the queue. What waited keeps its place while a worker tries
/// it: it comes back when the partner still does not answer.
fn is_waiting(task: &Task) -> bool {
    let waits = match task.state {
        TaskState::Queued => true,
        TaskState::Running => task.reason.is_some(),
        TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled | TaskState::Review => {
            false
        }
    };
    waits && task.kind == TaskKind::RegisterPayment && task.reason != Some(Reason::OutcomeUnknown)
}
