//! PostgreSQL: any number of instances on one database. Whoever decides holds the order's row lock,
//! claims skip what others hold, and the time is the server's.

mod abandoned;
mod archive;
mod batching;
mod change;
mod change_batch;
mod events;
mod keys;
mod listen;
mod order_limit;
mod orders;
mod placement;
#[cfg(test)]
mod plans;
mod records;
mod server;
mod service_mode;
mod session;
mod setup;
mod sql;
mod tasks;
mod upkeep;
mod webhook_sql;
mod webhooks;

use super::pool::CountedPool;
use super::settings::{ConnectError, Settings};
use super::wakeups::Wakeups;
use super::write_probe::WriteProbe;
use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::core::ports::clock::Clock;
use crate::core::ports::storage_error::StorageError;
use abandoned::AbandonedConnections;
use batching::{PlacementBatcher, QueuedPlacement};
use change_batch::{ChangeBatcher, QueuedChange};
use listen::Channel;
use order_limit::OrderLimit;
use server::Witness;
use session::{AttemptError, Sessions, Tx, Work};
use sqlx::postgres::PgArguments;
use sqlx::{Arguments, SqlStr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub use setup::options;

#[derive(Debug)]
pub struct PgStore {
    sessions: Sessions,
    placing: mpsc::Sender<QueuedPlacement>,
    changing: mpsc::Sender<QueuedChange>,
    clock: Option<Arc<dyn Clock>>,
    wakeups: Arc<Wakeups>,
    channel: Arc<Channel>,
    events: Arc<dyn AdapterEvents>,
    probe: WriteProbe,
    order_limit: Arc<OrderLimit>,
    accept_async: bool,
    /// Ended when the store is dropped.
    _helpers: JoinSet<()>,
}

impl PgStore {
    /// # Errors
    /// The server cannot be reached.
    pub async fn connect(url: &str, settings: Settings) -> Result<Self, ConnectError> {
        let witness = Arc::new(Witness::default());
        let pool = setup::pool(url, &settings, &witness).await?;
        let direct = setup::listening(url, &settings)?;
        let (begin, pooled) = (setup::begin(&settings), !settings.prepared);
        let Settings { max_connections, time_limit, accept_async, clock, events, .. } = settings;
        let sessions = Sessions {
            pool: CountedPool::new(pool),
            abandoned: AbandonedConnections::new(max_connections),
            witness: Arc::clone(&witness),
            time_limit,
            begin,
            pooled,
        };
        let wakeups = Arc::<Wakeups>::default();
        let channel = Arc::new(Channel::new(Arc::clone(&wakeups)));
        let (placing, queue) = mpsc::channel(batching::QUEUE);
        let batcher = PlacementBatcher { sessions: sessions.clone(), clock: clock.clone() };
        let mut helpers = JoinSet::new();
        helpers.spawn(batcher.serve(queue));
        let (changing, queue) = mpsc::channel(change_batch::QUEUE);
        let batcher = ChangeBatcher {
            sessions: sessions.clone(),
            clock: clock.clone(),
            channel: Arc::clone(&channel),
        };
        helpers.spawn(batcher.serve(queue));
        helpers.spawn(listen::announce(Arc::clone(&channel), sessions.clone()));
        if let Some(direct) = direct {
            helpers.spawn(listen::listen(Arc::clone(&channel), direct, witness));
        }
        Ok(Self {
            sessions,
            placing,
            changing,
            clock,
            wakeups,
            channel,
            events,
            probe: WriteProbe::default(),
            order_limit: Arc::new(OrderLimit::of_pool(max_connections)),
            accept_async,
            _helpers: helpers,
        })
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
