//! What a store is opened with, and why it is not: below the stores, which all read it.

use crate::adapters::observe::adapter_events::{AdapterEvents, Untold};
use crate::core::ports::clock::Clock;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a store works with its database.
#[derive(Debug, Clone)]
pub struct Settings {
    pub max_connections: u32,
    /// Of every call: past it the caller hears `StorageError::Unavailable`.
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
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    pub(super) fn of(url: &str) -> Result<Self, ConnectError> {
        match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => Ok(Self::Sqlite),
            Some("postgres" | "postgresql") => Ok(Self::Postgres),
            Some(_) | None => Err(ConnectError::UnknownScheme),
        }
    }
}

/// How many rows of a table one pruning removes: a small transaction, so that nobody waits for it.
pub(super) const PRUNE_BATCH: u16 = 500;
