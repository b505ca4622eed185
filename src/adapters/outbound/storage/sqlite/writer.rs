//! The single writer. Callers queue what they want done; the writer takes all that wait, runs them in
//! one transaction, and answers after its one fsync: group commit. Under load a round is as large as
//! the queue, alone a caller waits for nobody.

use super::{change, place};
use crate::adapters::outbound::storage::invariants::violated;
use crate::adapters::outbound::storage::wakeups::{Hints, News};
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::clock::Clock;
use crate::core::ports::order_repository::StorageError;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Executor, SqliteConnection};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Callers that may wait; one more waits outside until its time is over.
pub const QUEUE: usize = 1024;
/// The largest round: bounds how long its first caller waits for the rest.
const ROUND: usize = 256;

/// Why a piece of work did not succeed.
#[derive(Debug)]
pub enum Fault {
    /// It was wrong: it alone is undone.
    Refused(StorageError),
    /// The database failed: the round is undone, and a new connection is opened.
    Lost,
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Self::Refused(error)
    }
}

impl From<sqlx::Error> for Fault {
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

/// The open transaction of a round.
#[derive(Debug)]
pub struct Tx<'c> {
    pub connection: &'c mut SqliteConnection,
    pub now: Timestamp,
    pub news: News,
}

/// What a caller wants done inside the transaction. It may run again: when a neighbour is refused,
/// the round is undone and each runs alone.
#[async_trait::async_trait]
pub trait Work: Send + 'static {
    type Output: Send + 'static;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Self::Output, Fault>;
}

/// Work with its place to answer.
#[derive(Debug)]
pub struct Request<W, T> {
    pub work: W,
    pub output: Option<T>,
    pub reply: oneshot::Sender<Result<T, StorageError>>,
}

impl<W, T> Request<W, T> {
    fn answer(self, verdict: Result<(), StorageError>) {
        let output = self.output.ok_or(StorageError::Unavailable);
        // A caller that has gone does not want to know.
        let _ = self.reply.send(verdict.and(output));
    }
}

#[async_trait::async_trait]
pub trait Job: Send {
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Fault>;
    fn answer(self: Box<Self>, verdict: Result<(), StorageError>);
    fn abandoned(&self) -> bool;
}

#[async_trait::async_trait]
impl<W: Work> Job for Request<W, W::Output> {
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Fault> {
        self.output = Some(self.work.run(tx).await?);
        Ok(())
    }

    fn answer(self: Box<Self>, verdict: Result<(), StorageError>) {
        Request::answer(*self, verdict);
    }

    fn abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}

/// Placing and changing have their own doors: those of a round share their statements.
pub enum Item {
    Place(Box<place::Request>),
    Change(Box<change::Request>),
    Other(Box<dyn Job>),
}

#[derive(Default)]
struct Round {
    places: Vec<place::Request>,
    changes: Vec<change::Request>,
    others: Vec<Box<dyn Job>>,
}

impl Round {
    /// Without those whose caller gave up: nothing of theirs has begun.
    fn of(items: impl Iterator<Item = Item>) -> Self {
        let mut round = Self::default();
        for item in items {
            match item {
                Item::Place(request) if !request.reply.is_closed() => round.places.push(*request),
                Item::Change(request) if !request.reply.is_closed() => round.changes.push(*request),
                Item::Other(job) if !job.abandoned() => round.others.push(job),
                Item::Place(_) | Item::Change(_) | Item::Other(_) => {}
            }
        }
        round
    }

    fn len(&self) -> usize {
        self.places.len() + self.changes.len() + self.others.len()
    }

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Fault> {
        place::all(&mut self.places, tx).await?;
        change::all(&mut self.changes, tx).await?;
        for job in &mut self.others {
            job.run(tx).await?;
        }
        Ok(())
    }

    fn answer(self, verdict: Result<(), StorageError>) {
        for request in self.places {
            request.answer(verdict);
        }
        for request in self.changes {
            request.answer(verdict);
        }
        for job in self.others {
            job.answer(verdict);
        }
    }

    fn split(self) -> impl Iterator<Item = Self> {
        let place = |request| Self { places: vec![request], ..Self::default() };
        let change = |request| Self { changes: vec![request], ..Self::default() };
        let other = |job| Self { others: vec![job], ..Self::default() };
        let places = self.places.into_iter().map(place);
        let changes = self.changes.into_iter().map(change);
        places.chain(changes).chain(self.others.into_iter().map(other))
    }
}

pub struct Writer {
    pub options: SqliteConnectOptions,
    /// `None` after a failure, until the next round opens a new one.
    pub connection: Option<SqliteConnection>,
    pub clock: Arc<dyn Clock>,
    pub hints: Arc<Hints>,
}

impl Writer {
    /// Until the last caller's end of the queue is dropped.
    pub async fn serve(mut self, mut queue: mpsc::Receiver<Item>) {
        let mut items = Vec::with_capacity(ROUND);
        while queue.recv_many(&mut items, ROUND).await > 0 {
            let round = Round::of(items.drain(..));
            if round.len() > 0 {
                self.commit(round).await;
            }
        }
    }

    async fn commit(&mut self, mut round: Round) {
        match self.attempt(&mut round).await {
            Err(Fault::Refused(_)) if round.len() > 1 => {
                for mut single in round.split() {
                    let result = self.attempt(&mut single).await;
                    self.answer(single, result);
                }
            }
            result => self.answer(round, result),
        }
    }

    fn answer(&self, round: Round, result: Result<News, Fault>) {
        match result {
            Ok(news) => {
                round.answer(Ok(()));
                self.hints.tell(news);
            }
            Err(Fault::Refused(error)) => round.answer(Err(error)),
            Err(Fault::Lost) => round.answer(Err(StorageError::Unavailable)),
        }
    }

    async fn attempt(&mut self, round: &mut Round) -> Result<News, Fault> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        connection.execute("BEGIN IMMEDIATE").await?;
        let now = self.clock.now();
        let mut tx = Tx { connection: &mut connection, now, news: News::default() };
        let ran = round.run(&mut tx).await;
        let news = tx.news;
        let ran = match ran {
            Ok(()) => connection.execute("COMMIT").await.map(|_| ()).map_err(Fault::from),
            Err(fault) => connection.execute("ROLLBACK").await.map_err(Fault::from).and(Err(fault)),
        };
        if !matches!(ran, Err(Fault::Lost)) {
            self.connection = Some(connection);
        }
        ran.map(|()| news)
    }
}
