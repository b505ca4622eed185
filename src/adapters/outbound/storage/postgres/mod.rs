//! PostgreSQL: any number of instances on one database. Whoever decides holds the order's row lock,
//! claims skip what others hold, and the time is the server's.

mod batching;
mod change;
mod keys;
mod listen;
mod orders;
mod place;
mod records;
mod session;
mod sql;
mod tasks;
mod upkeep;

use super::pool::CountedPool;
use super::wakeups::Wakeups;
use super::{ConnectError, Settings};
use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::core::ports::clock::Clock;
use crate::core::ports::storage_error::StorageError;
use batching::{PlacementBatcher, QueuedPlacement};
use listen::Channel;
use session::{AttemptError, Sessions, Tx, Work};
use sqlx::postgres::{PgArguments, PgConnectOptions, PgPoolOptions};
use sqlx::{Arguments, ConnectOptions, SqlStr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

#[derive(Debug)]
pub struct PgStore {
    sessions: Sessions,
    placing: mpsc::Sender<QueuedPlacement>,
    clock: Option<Arc<dyn Clock>>,
    wakeups: Arc<Wakeups>,
    channel: Arc<Channel>,
    events: Arc<dyn AdapterEvents>,
    /// Ended when the store is dropped.
    _helpers: JoinSet<()>,
}

impl PgStore {
    /// # Errors
    /// The server cannot be reached.
    pub async fn connect(url: &str, settings: Settings) -> Result<Self, ConnectError> {
        let Settings { max_connections, time_limit, clock, events } = settings;
        let plain = options(url)?;
        let limit = format!("{}ms", time_limit.as_millis());
        let limited = plain.clone().options([
            ("statement_timeout", limit.as_str()),
            ("lock_timeout", &limit),
            ("idle_in_transaction_session_timeout", &limit),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(max_connections)
            .acquire_timeout(time_limit)
            // Work that meets a dead connection is begun again on another: no ping each time.
            .test_before_acquire(false)
            .connect_with(limited)
            .await?;
        let sessions = Sessions { pool: CountedPool::new(pool), time_limit };
        let wakeups = Arc::<Wakeups>::default();
        let channel = Arc::new(Channel::new(Arc::clone(&wakeups)));
        let (placing, queue) = mpsc::channel(batching::QUEUE);
        let batcher = PlacementBatcher { sessions: sessions.clone(), clock: clock.clone() };
        let mut helpers = JoinSet::new();
        helpers.spawn(batcher.serve(queue));
        helpers.spawn(listen::announce(Arc::clone(&channel), sessions.clone()));
        helpers.spawn(listen::listen(Arc::clone(&channel), plain));
        Ok(Self { sessions, placing, clock, wakeups, channel, events, _helpers: helpers })
    }

    fn now(&self) -> Option<i64> {
        self.clock.as_ref().map(|clock| clock.now().micros())
    }

    async fn run<W: Work>(&self, work: W) -> Result<W::Output, StorageError> {
        self.sessions.run(work, self.now()).await
    }

    /// The rows of a statement that answers one text each.
    async fn rows(&self, sql: SqlStr, arguments: PgArguments) -> Result<Vec<String>, StorageError> {
        self.run(Read { sql, arguments }).await
    }
}

struct Read {
    sql: SqlStr,
    arguments: PgArguments,
}

#[async_trait::async_trait]
impl Work for Read {
    type Output = Vec<String>;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Vec<String>, AttemptError> {
        let query = sqlx::query_scalar_with(self.sql.clone(), self.arguments.clone());
        Ok(query.fetch_all(&mut *tx.connection).await?)
    }
}

pub fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    let options = PgConnectOptions::from_str(url)?;
    Ok(options.application_name("order-service").disable_statement_logging())
}

fn bound(texts: impl IntoIterator<Item = Option<String>>) -> PgArguments {
    let mut arguments = PgArguments::default();
    for text in texts {
        bind(&mut arguments, text);
    }
    arguments
}

fn bind<'q, T>(arguments: &mut PgArguments, value: T)
where
    T: sqlx::Encode<'q, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    arguments.add(value).expect("texts and whole numbers can always be encoded");
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
