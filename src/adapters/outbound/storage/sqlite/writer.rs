//! The single writer. Callers queue what they want done; the writer takes all that wait, runs them in
//! one transaction, and answers after its one fsync: group commit. Under load a batch is as large as
//! the queue, alone a caller waits for nobody.

use super::file::FileIdentity;
use super::{change, placement};
use crate::adapters::outbound::storage::invariants::violated;
use crate::adapters::outbound::storage::wakeups::{WakeupSet, Wakeups};
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::clock::Clock;
use crate::core::ports::storage_error::StorageError;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Executor, SqliteConnection};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Callers that may wait; one more waits outside until its time is over.
pub const QUEUE: usize = 1024;
/// The largest batch: bounds how long its first caller waits for the rest.
const MAX_BATCH: usize = 256;

/// Why a piece of work did not succeed.
#[derive(Debug)]
pub enum WriteError {
    /// It was wrong: it alone is undone.
    Refused(StorageError),
    /// The database failed: the batch is undone, and a new connection is opened.
    Lost,
}

impl From<StorageError> for WriteError {
    fn from(error: StorageError) -> Self {
        Self::Refused(error)
    }
}

impl From<sqlx::Error> for WriteError {
    fn from(error: sqlx::Error) -> Self {
        violated(&error).map_or_else(
            || {
                tracing::warn!(%error, "the SQLite writer failed");
                Self::Lost
            },
            Self::Refused,
        )
    }
}

/// The open transaction of a batch.
#[derive(Debug)]
pub struct Tx<'c> {
    pub connection: &'c mut SqliteConnection,
    pub now: Timestamp,
    pub wakeups: WakeupSet,
}

/// What a caller wants done inside the transaction. It may run again: when a neighbour is refused,
/// the batch is undone and each runs alone.
#[async_trait::async_trait]
pub trait Work: Send + 'static {
    type Output: Send + 'static;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Self::Output, WriteError>;
}

/// Work with its place to answer.
#[derive(Debug)]
pub struct Request<W, T> {
    pub work: W,
    pub output: Option<T>,
    reply: oneshot::Sender<Result<T, StorageError>>,
}

impl<W, T> Request<W, T> {
    pub fn new(work: W) -> (Self, oneshot::Receiver<Result<T, StorageError>>) {
        let (reply, answer) = oneshot::channel();
        (Self { work, output: None, reply }, answer)
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn answer(self, verdict: Result<(), StorageError>) {
        let output = self.output.ok_or(StorageError::Unavailable);
        // A caller that has gone does not want to know.
        let _ = self.reply.send(verdict.and(output));
    }
}

#[async_trait::async_trait]
pub trait Job: Send {
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), WriteError>;
    fn answer(self: Box<Self>, verdict: Result<(), StorageError>);
    fn is_abandoned(&self) -> bool;
}

#[async_trait::async_trait]
impl<W: Work> Job for Request<W, W::Output> {
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), WriteError> {
        self.output = Some(self.work.run(tx).await?);
        Ok(())
    }

    fn answer(self: Box<Self>, verdict: Result<(), StorageError>) {
        Request::answer(*self, verdict);
    }

    fn is_abandoned(&self) -> bool {
        Self::is_abandoned(self)
    }
}

/// Placements and changes are kept apart: those of a batch share their statements.
pub enum QueuedWork {
    Placement(Box<placement::Request>),
    Change(Box<change::Request>),
    Other(Box<dyn Job>),
}

#[derive(Default)]
struct Batch {
    placements: Vec<placement::Request>,
    changes: Vec<change::Request>,
    others: Vec<Box<dyn Job>>,
}

impl Batch {
    /// Without those whose caller gave up: nothing of theirs has begun.
    fn of(queued: impl Iterator<Item = QueuedWork>) -> Self {
        let mut batch = Self::default();
        for work in queued {
            match work {
                QueuedWork::Placement(request) if !request.is_abandoned() => {
                    batch.placements.push(*request);
                }
                QueuedWork::Change(request) if !request.is_abandoned() => {
                    batch.changes.push(*request);
                }
                QueuedWork::Other(job) if !job.is_abandoned() => batch.others.push(job),
                QueuedWork::Placement(_) | QueuedWork::Change(_) | QueuedWork::Other(_) => {}
            }
        }
        batch
    }

    fn len(&self) -> usize {
        self.placements.len() + self.changes.len() + self.others.len()
    }

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), WriteError> {
        placement::run_all(&mut self.placements, tx).await?;
        change::run_all(&mut self.changes, tx).await?;
        for job in &mut self.others {
            job.run(tx).await?;
        }
        Ok(())
    }

    fn answer(self, verdict: Result<(), StorageError>) {
        for request in self.placements {
            request.answer(verdict.clone());
        }
        for request in self.changes {
            request.answer(verdict.clone());
        }
        for job in self.others {
            job.answer(verdict.clone());
        }
    }

    fn split(self) -> impl Iterator<Item = Self> {
        let placement = |request| Self { placements: vec![request], ..Self::default() };
        let change = |request| Self { changes: vec![request], ..Self::default() };
        let other = |job| Self { others: vec![job], ..Self::default() };
        let placements = self.placements.into_iter().map(placement);
        let changes = self.changes.into_iter().map(change);
        placements.chain(changes).chain(self.others.into_iter().map(other))
    }
}

pub struct Writer {
    pub options: SqliteConnectOptions,
    pub identity: FileIdentity,
    /// Told once.
    pub misplaced: bool,
    /// `None` after a failure, until the next batch opens a new one.
    pub connection: Option<SqliteConnection>,
    pub clock: Arc<dyn Clock>,
    pub wakeups: Arc<Wakeups>,
}

impl Writer {
    /// Until the last caller's end of the queue is dropped.
    pub async fn serve(mut self, mut queue: mpsc::Receiver<QueuedWork>) {
        let mut queued = Vec::with_capacity(MAX_BATCH);
        while queue.recv_many(&mut queued, MAX_BATCH).await > 0 {
            let batch = Batch::of(queued.drain(..));
            if batch.len() > 0 {
                self.commit(batch).await;
            }
        }
    }

    async fn commit(&mut self, mut batch: Batch) {
        match self.attempt(&mut batch).await {
            Err(WriteError::Refused(_)) if batch.len() > 1 => {
                for mut single in batch.split() {
                    let result = self.attempt(&mut single).await;
                    self.answer(single, result);
                }
            }
            result => self.answer(batch, result),
        }
    }

    fn answer(&self, batch: Batch, result: Result<WakeupSet, WriteError>) {
        match result {
            Ok(wakeups) => {
                batch.answer(Ok(()));
                self.wakeups.wake(wakeups);
            }
            Err(WriteError::Refused(error)) => batch.answer(Err(error)),
            Err(WriteError::Lost) => batch.answer(Err(StorageError::Unavailable)),
        }
    }

    /// What is written to a file without a name is gone with the process, so nothing is: not ready,
    /// until a restart opens what is there then.
    fn is_in_place(&mut self) -> bool {
        let in_place = self.identity.is_in_place();
        if !in_place && !self.misplaced {
            tracing::error!(
                "the database's file was deleted or replaced: nothing is written to it"
            );
        }
        self.misplaced = !in_place;
        in_place
    }

    async fn attempt(&mut self, batch: &mut Batch) -> Result<WakeupSet, WriteError> {
        if !self.is_in_place() {
            return Err(WriteError::Lost);
        }
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        connection.execute("BEGIN IMMEDIATE").await?;
        let now = self.clock.now();
        let mut tx = Tx { connection: &mut connection, now, wakeups: WakeupSet::default() };
        let ran = batch.run(&mut tx).await;
        let wakeups = tx.wakeups;
        let ran = match ran {
            Ok(()) => connection.execute("COMMIT").await.map(|_| ()).map_err(WriteError::from),
            Err(error) => {
                connection.execute("ROLLBACK").await.map_err(WriteError::from).and(Err(error))
            }
        };
        if !matches!(ran, Err(WriteError::Lost)) {
            self.connection = Some(connection);
        }
        ran.map(|()| wakeups)
    }
}
