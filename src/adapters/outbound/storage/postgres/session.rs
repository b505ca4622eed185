//! How a piece of work meets the server: on a task that no client can cancel, within a time limit, on
//! a connection that returns to the pool only in good order, and again when that is safe.

use super::abandoned::{AbandonedConnections, Slot};
use super::server::Witness;
use crate::adapters::outbound::storage::invariants::violated;
use crate::adapters::outbound::storage::pool::CountedPool;
use crate::core::ports::storage_error::StorageError;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgDatabaseError, PgSeverity};
use sqlx::{AssertSqlSafe, Executor, PgConnection, Postgres};
use std::sync::Arc;
use std::time::Duration;

/// How often work is begun before the database counts as unavailable.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Why an attempt did not succeed.
#[derive(Debug)]
pub enum AttemptError {
    /// The answer is final; the transaction is rolled back.
    Refused(StorageError),
    /// Rolled back for another's sake (a deadlock, a serialization failure): worth repeating.
    Again,
    /// The connection is gone. What it was just committing may or may not be there.
    Lost,
}

impl From<StorageError> for AttemptError {
    fn from(error: StorageError) -> Self {
        Self::Refused(error)
    }
}

impl From<sqlx::Error> for AttemptError {
    fn from(error: sqlx::Error) -> Self {
        if let Some(rule) = violated(&error) {
            return Self::Refused(rule);
        }
        tracing::warn!(%error, "PostgreSQL failed");
        let sqlx::Error::Database(told) = &error else {
            let cut = matches!(
                error,
                sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_)
            );
            return if cut { Self::Lost } else { Self::Refused(StorageError::Unavailable) };
        };
        match told.code().as_deref() {
            Some("40001" | "40P01") => Self::Again,
            // A standby, a plan that a migration made invalid, or a COMMIT whose end nobody knows.
            Some("25006" | "0A000" | "40003") => Self::Lost,
            // Shut down, or a time limit of the server on the connection itself.
            Some("57P01" | "57P02" | "57P03" | "57P05" | "25P03") => Self::Lost,
            Some(code) if code.starts_with("08") => Self::Lost,
            Some(_) | None if is_fatal(&**told) => Self::Lost,
            // Among them our own time limits: 57014, 55P03.
            Some(_) | None => Self::Refused(StorageError::Unavailable),
        }
    }
}

/// Whether the server has closed the connection along with its answer.
fn is_fatal(told: &dyn sqlx::error::DatabaseError) -> bool {
    told.try_downcast_ref::<PgDatabaseError>()
        .is_some_and(|told| matches!(told.severity(), PgSeverity::Fatal | PgSeverity::Panic))
}

/// What one attempt works with.
#[derive(Debug)]
pub struct Tx<'c> {
    pub connection: &'c mut PgConnection,
    /// Of a test's clock; the database takes its own where this is `None`.
    pub now: Option<i64>,
    /// Above 0 when an earlier attempt may have been committed without our knowing.
    pub attempt: u32,
}

#[async_trait::async_trait]
pub trait Work: Send + 'static {
    type Output: Send + 'static;
    /// Whether it needs a transaction round it; a single statement is one already.
    const TRANSACTION: bool;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Self::Output, AttemptError>;
}

/// A connection at work. Dropped before its work ended well, it is closed, not returned: nobody else
/// may find its open transaction or the answer to somebody else's question.
struct Session(Option<(PoolConnection<Postgres>, Slot)>);

impl Session {
    fn connection(&mut self) -> &mut PgConnection {
        let (connection, _) = self.0.as_mut().expect("it is there until it is returned or dropped");
        connection
    }

    fn give_back(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some((connection, slot)) = self.0.take() {
            slot.abandon(connection.detach());
        }
    }
}

#[derive(Debug, Clone)]
pub struct Sessions {
    pub pool: CountedPool<Postgres>,
    pub abandoned: AbandonedConnections,
    pub witness: Arc<Witness>,
    pub time_limit: Duration,
    /// How a transaction begins.
    pub begin: Arc<str>,
    /// Each transaction may meet another session of the server: what was prepared or set in one is not
    /// there in the next.
    pub pooled: bool,
}

impl Sessions {
    /// Runs the work to its end whatever becomes of the caller.
    pub async fn run<W: Work>(&self, work: W, now: Option<i64>) -> Result<W::Output, StorageError> {
        self.run_holding(work, now, ()).await
    }

    /// The same, and holds on to something until the end.
    pub async fn run_holding<W: Work>(
        &self,
        work: W,
        now: Option<i64>,
        held: impl Send + 'static,
    ) -> Result<W::Output, StorageError> {
        let (sessions, limit) = (self.clone(), self.time_limit);
        let detached = tokio::spawn(tokio::time::timeout(limit, async move {
            let _held = held;
            sessions.attempts(work, now).await
        }));
        match detached.await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => {
                tracing::warn!("PostgreSQL did not answer in time");
                Err(StorageError::Unavailable)
            }
            Err(error) => {
                tracing::error!(%error, "work on the database panicked");
                Err(StorageError::Unavailable)
            }
        }
    }

    async fn attempts<W: Work>(
        &self,
        mut work: W,
        now: Option<i64>,
    ) -> Result<W::Output, StorageError> {
        for attempt in 0..ATTEMPTS {
            match self.attempt(&mut work, now, attempt).await {
                Ok(output) => return Ok(output),
                Err(AttemptError::Refused(error)) => return Err(error),
                Err(AttemptError::Again | AttemptError::Lost) => {
                    tokio::time::sleep(PAUSE.mul_f64(fastrand::f64() * f64::from(attempt))).await;
                }
            }
        }
        Err(StorageError::Unavailable)
    }

    async fn attempt<W: Work>(
        &self,
        work: &mut W,
        now: Option<i64>,
        attempt: u32,
    ) -> Result<W::Output, AttemptError> {
        let slot = self.abandoned.slot(&self.pool, &self.witness).await?;
        let mut session = Session(Some((self.pool.acquire().await?, slot)));
        let connection = session.connection();
        let transaction = W::TRANSACTION || self.pooled;
        if transaction {
            connection.execute(AssertSqlSafe(&*self.begin)).await?;
        }
        let ran = work.run(&mut Tx { connection, now, attempt }).await;
        let ended = match (&ran, transaction) {
            // A COMMIT whose answer is lost is never sent again: the next attempt looks first.
            (Ok(_), true) => connection.execute("COMMIT").await.map(|_| ()),
            (Err(AttemptError::Refused(_) | AttemptError::Again), true) => {
                connection.execute("ROLLBACK").await.map(|_| ())
            }
            (Ok(_) | Err(AttemptError::Refused(_) | AttemptError::Again), false) => Ok(()),
            (Err(AttemptError::Lost), _) => return ran,
        };
        match (ended, ran) {
            (Ok(()), ran) => {
                session.give_back();
                ran
            }
            (Err(error), Ok(_)) => Err(error.into()),
            // It could not be rolled back, so it is closed, which is as good.
            (Err(_), Err(error)) => Err(error),
        }
    }
}
