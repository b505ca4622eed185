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
mod settings;
mod waiting;
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
pub use settings::{ConnectError, OnMissing, Settings};
pub use sqlite::{FileLock, SqliteStore};

use crate::adapters::observe::service_mode::ServiceModes;
use crate::adapters::observe::storage_upkeep::{AuditLog, OrderRecords, StorageUpkeep};
use crate::core::ports::idempotency::IdempotencyStore;
use crate::core::ports::order_repository::OrderRepository;
use crate::core::ports::outbox::Outbox;
use crate::core::ports::task_queue::TaskQueue;
use crate::core::ports::webhook_endpoints::{WebhookEndpoints, WebhookQueue};
use settings::Dialect;
use std::sync::Arc;

/// All that is asked of a database: what the core needs, and what the operator does.
pub trait Store:
    OrderRepository
    + TaskQueue
    + IdempotencyStore
    + StorageUpkeep
    + AuditLog
    + OrderRecords
    + ServiceModes
    + Outbox
    + WebhookEndpoints
    + WebhookQueue
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
        + Outbox
        + WebhookEndpoints
        + WebhookQueue
{
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
