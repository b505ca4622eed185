//! SQLite: one instance, one file. Every write goes through the single [`writer`]; reads have their
//! own connections beside it and see the last commit.

mod archive;
mod change;
mod clock;
mod events;
mod file;
mod keys;
mod orders;
mod placement;
#[cfg(test)]
mod plans;
mod records;
mod service_mode;
mod sql;
mod tasks;
mod upkeep;
mod webhook_sql;
mod webhooks;
mod writer;

use super::pool::CountedPool;
use super::settings::{ConnectError, Settings};
use super::wakeups::Wakeups;
use super::write_probe::WriteProbe;
use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::clock::Clock;
use crate::core::ports::storage_error::StorageError;
use clock::{ForwardClock, ProcessClock};
use file::FileIdentity;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Sqlite, SqliteConnection};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;
use writer::{QUEUE, QueuedWork, Request, Work, Writer};

pub use file::{FileLock, create};

const OPEN_ATTEMPTS: u32 = 100;
const OPEN_PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct SqliteStore {
    queue: mpsc::Sender<QueuedWork>,
    readers: CountedPool<Sqlite>,
    clock: Arc<dyn Clock>,
    wakeups: Arc<Wakeups>,
    probe: WriteProbe,
    time_limit: Duration,
    events: Arc<dyn AdapterEvents>,
}

/// How every connection is opened. WAL lets readers go on while the writer writes; FULL makes each
/// commit an fsync, so that an answer means that the disk has it. No file is made in passing.
pub fn options(url: &str, time_limit: Duration) -> Result<SqliteConnectOptions, sqlx::Error> {
    let options = SqliteConnectOptions::from_str(url)?
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(time_limit)
        .disable_statement_logging();
    Ok(options)
}

/// Opens the file. Of those who open a new one together all but one may find it locked: turning it into a WAL
/// file is the one thing for which SQLite does not wait.
///
/// # Errors
/// It cannot be opened, or stays locked.
pub async fn connect_patiently(
    options: &SqliteConnectOptions,
) -> Result<SqliteConnection, sqlx::Error> {
    for _ in 0..OPEN_ATTEMPTS {
        match options.connect().await {
            Err(error) if is_busy(&error) => tokio::time::sleep(OPEN_PAUSE).await,
            opened => return opened,
        }
    }
    options.connect().await
}

fn is_busy(error: &sqlx::Error) -> bool {
    // SQLITE_BUSY
    error.as_database_error().and_then(|told| told.code()).is_some_and(|code| code == "5")
}

impl SqliteStore {
    /// The writer lives on a thread of its own: on the runtime it would queue behind the very
    /// requests that wait for it.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub async fn connect(url: &str, settings: Settings) -> Result<Self, ConnectError> {
        let Settings { max_connections, time_limit, clock, events, .. } = settings;
        let options = options(url, time_limit)?;
        let identity = FileIdentity::of(options.get_filename())?;
        let mut connection = options.connect().await?;
        let clock = match clock {
            Some(clock) => clock,
            None => {
                Arc::new(ForwardClock::since(last(&mut connection).await?, Arc::new(ProcessClock)))
            }
        };
        let readers = SqlitePoolOptions::new()
            .max_connections(max_connections)
            .acquire_timeout(time_limit)
            .test_before_acquire(false)
            .connect_lazy_with(options.clone().pragma("query_only", "ON"));
        let readers = CountedPool::new(readers);
        let (queue, requests) = mpsc::channel(QUEUE);
        let wakeups = Arc::<Wakeups>::default();
        let writer = Writer {
            options,
            identity,
            misplaced: false,
            connection: Some(connection),
            clock: Arc::clone(&clock),
            wakeups: Arc::clone(&wakeups),
        };
        let runtime = Handle::current();
        std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || runtime.block_on(writer.serve(requests)))
            .map_err(sqlx::Error::Io)?;
        let probe = WriteProbe::default();
        Ok(Self { queue, readers, clock, wakeups, probe, time_limit, events })
    }

    /// Queues the work and waits for its commit. Work whose caller is gone before its batch begins
    /// is skipped, so a time-out while queueing leaves nothing behind.
    async fn write<W: Work>(&self, work: W) -> Result<W::Output, StorageError> {
        let (request, answer) = Request::new(work);
        self.submit(QueuedWork::Other(Box::new(request)), answer).await
    }

    async fn submit<T>(
        &self,
        work: QueuedWork,
        answer: oneshot::Receiver<Result<T, StorageError>>,
    ) -> Result<T, StorageError> {
        let done = async {
            self.queue.send(work).await.map_err(|_| StorageError::Unavailable)?;
            answer.await.map_err(|_| StorageError::Unavailable)?
        };
        tokio::time::timeout(self.time_limit, done).await.map_err(|_| StorageError::Unavailable)?
    }

    async fn read<T, F: Future<Output = sqlx::Result<T>>>(
        &self,
        ask: impl FnOnce(PoolConnection<Sqlite>) -> F,
    ) -> Result<T, StorageError> {
        let rows = async { ask(self.readers.acquire().await?).await };
        let rows = tokio::time::timeout(self.time_limit, rows).await;
        rows.map_err(|_| StorageError::Unavailable)?.map_err(|error| {
            tracing::warn!(%error, "a SQLite reader failed");
            StorageError::Unavailable
        })
    }
}

/// How far the database's time has come, as far as indexes tell.
async fn last(connection: &mut SqliteConnection) -> sqlx::Result<Timestamp> {
    let last = sqlx::query_scalar(sql::LAST_TIME).fetch_one(connection).await?;
    Ok(Timestamp::from_micros(last))
}

fn blob(id: Uuid) -> Vec<u8> {
    id.as_bytes().to_vec()
}
