//! SQLite: one instance, one file. Every write goes through the single [`writer`]; reads have their
//! own connections beside it and see the last commit.

mod change;
mod place;
mod sql;
mod work;
mod writer;

use super::filters::{OrderFilter, TaskFilter};
use super::pool::CountedPool;
use super::rows::{AggregateRow, TaskRow, TaskViewRow, read};
use super::wakeups::Hints;
use super::{ConnectError, Settings};
use crate::core::domain::ids::{InstanceId, OrderId, TaskId};
use crate::core::domain::order::Order;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::task::{Task, TaskKind, TaskState};
use crate::core::ports::clock::Clock;
use crate::core::ports::order_repository::{
    ClaimRequest, Claimed, Connections, Decide, Hint, IdempotencyKey, InboxEntry, KeptReply,
    KeyedOrder, LoadOptions, OrderQuery, OrderStore, Placed, Scope, StorageError, TaskQuery,
    TaskStat, TaskView,
};
use change::Change;
use place::Place;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Sqlite};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use work::{Ping, Prune, Release, bytes, order_id_of, reply_of, restore_reply};
use writer::{Item, QUEUE, Request, Work, Writer};

#[derive(Debug)]
pub struct SqliteStore {
    queue: mpsc::Sender<Item>,
    readers: CountedPool<Sqlite>,
    clock: Arc<dyn Clock>,
    hints: Arc<Hints>,
    time_limit: Duration,
}

/// How every connection is opened. WAL lets readers go on while the writer writes; FULL makes each
/// commit an fsync, so that an answer means that the disk has it.
pub fn options(url: &str, time_limit: Duration) -> Result<SqliteConnectOptions, sqlx::Error> {
    let options = SqliteConnectOptions::from_str(url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(time_limit)
        .disable_statement_logging();
    if let Some(folder) = options.get_filename().parent() {
        std::fs::create_dir_all(folder).map_err(sqlx::Error::Io)?;
    }
    Ok(options)
}

impl SqliteStore {
    /// The writer lives on a thread of its own: on the runtime it would queue behind the very
    /// requests that wait for it.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub async fn connect(url: &str, settings: Settings) -> Result<Self, ConnectError> {
        let Settings { max_connections, time_limit, clock } = settings;
        let clock = clock.unwrap_or_else(|| Arc::new(ProcessClock));
        let options = options(url, time_limit)?;
        let connection = Some(options.connect().await?);
        let readers = SqlitePoolOptions::new()
            .max_connections(max_connections)
            .acquire_timeout(time_limit)
            .test_before_acquire(false)
            .connect_lazy_with(options.clone().pragma("query_only", "ON"));
        let readers = CountedPool::new(readers);
        let (queue, requests) = mpsc::channel(QUEUE);
        let hints = Arc::<Hints>::default();
        let writer =
            Writer { options, connection, clock: Arc::clone(&clock), hints: Arc::clone(&hints) };
        let runtime = Handle::current();
        std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || runtime.block_on(writer.serve(requests)))
            .map_err(sqlx::Error::Io)?;
        Ok(Self { queue, readers, clock, hints, time_limit })
    }

    /// Queues the work and waits for its commit. Work whose caller is gone before its round begins
    /// is skipped, so a time-out while queueing leaves nothing behind.
    async fn write<W: Work>(&self, work: W) -> Result<W::Output, StorageError> {
        let (reply, answer) = oneshot::channel();
        let request = Request { work, output: None, reply };
        self.submit(Item::Other(Box::new(request)), answer).await
    }

    async fn submit<T>(
        &self,
        item: Item,
        answer: oneshot::Receiver<Result<T, StorageError>>,
    ) -> Result<T, StorageError> {
        let done = async {
            self.queue.send(item).await.map_err(|_| StorageError::Unavailable)?;
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

#[async_trait::async_trait]
impl OrderStore for SqliteStore {
    async fn place(&self, order: Order, key: Option<KeyedOrder>) -> Result<Placed, StorageError> {
        let (reply, answer) = oneshot::channel();
        let request = Request { work: Place { order, key }, output: None, reply };
        self.submit(Item::Place(Box::new(request)), answer).await
    }

    async fn change(
        &self,
        id: OrderId,
        reads: LoadOptions,
        decide: Decide,
    ) -> Result<bool, StorageError> {
        let (reply, answer) = oneshot::channel();
        let request = Request { work: Change { id, reads, decide }, output: None, reply };
        self.submit(Item::Change(Box::new(request)), answer).await
    }

    async fn aggregate(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError> {
        let row =
            sqlx::query_scalar::<_, String>(sql::AGGREGATE).bind(bytes(id)).bind(customer(scope));
        let found = self.read(async |mut reader| row.fetch_optional(&mut *reader).await).await?;
        found.map(|json| read::<AggregateRow>(&json)?.restore()).transpose()
    }

    async fn list(
        &self,
        query: &OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<OrderAggregate>, StorageError> {
        let Some(filter) = OrderFilter::new(query, scope) else { return Ok(Vec::new()) };
        let sql = filter.sql(sql::SELECT_AGGREGATE, "$4");
        let rows = sqlx::query_scalar::<_, String>(AssertSqlSafe(sql))
            .bind(filter.customer)
            .bind(filter.status)
            .bind(filter.after.map(|(at, _)| at))
            .bind(filter.after.map(|(_, id)| id.as_bytes().to_vec()))
            .bind(filter.limit);
        let found = self.read(async |mut reader| rows.fetch_all(&mut *reader).await).await?;
        found.iter().map(|json| read::<AggregateRow>(json)?.restore()).collect()
    }

    async fn task(&self, id: TaskId, scope: &Scope) -> Result<Option<TaskView>, StorageError> {
        let row = sqlx::query_scalar::<_, String>(sql::TASK).bind(id.get()).bind(customer(scope));
        let found = self.read(async |mut reader| row.fetch_optional(&mut *reader).await).await?;
        found.map(|json| read::<TaskViewRow>(&json)?.restore()).transpose()
    }

    async fn tasks(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError> {
        let filter = TaskFilter::new(query);
        let sql = filter.sql(sql::SELECT_TASK, "$5");
        let rows = sqlx::query_scalar::<_, String>(AssertSqlSafe(sql))
            .bind(filter.state)
            .bind(filter.after.map(|(at, _)| at))
            .bind(filter.after.map(|(_, id)| id))
            .bind(filter.limit)
            .bind(filter.order.map(|id| id.as_bytes().to_vec()));
        let found = self.read(async |mut reader| rows.fetch_all(&mut *reader).await).await?;
        found.iter().map(|json| read::<TaskRow>(json)?.restore()).collect()
    }

    async fn find_order(
        &self,
        provider: Provider,
        number: &ProviderNumber,
    ) -> Result<Option<OrderId>, StorageError> {
        let row = sqlx::query_scalar::<_, Vec<u8>>(sql::FIND_ORDER)
            .bind(provider.as_str())
            .bind(number.as_str());
        Ok(self
            .read(async |mut reader| row.fetch_optional(&mut *reader).await)
            .await?
            .and_then(|id| order_id_of(&id)))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StorageError> {
        self.write(request.clone()).await
    }

    async fn release_leases(&self, owner: &InstanceId) -> Result<u64, StorageError> {
        self.write(Release(owner.clone())).await
    }

    async fn keep_orphan(&self, entry: InboxEntry) -> Result<bool, StorageError> {
        self.write(entry).await
    }

    async fn find_reply(&self, key: &IdempotencyKey) -> Result<Option<KeptReply>, StorageError> {
        self.read(async |mut reader| reply_of(&mut *reader, key).await)
            .await?
            .map(restore_reply)
            .transpose()
    }

    async fn keep_reply(
        &self,
        key: IdempotencyKey,
        reply: KeptReply,
    ) -> Result<bool, StorageError> {
        self.write((key, reply)).await
    }

    async fn task_stats(&self) -> Result<Vec<TaskStat>, StorageError> {
        let now = self.clock.now();
        let rows =
            sqlx::query_as::<_, (String, String, i64, Option<i64>)>(sql::STATS).bind(now.micros());
        let stat = |(kind, state, count, oldest): (String, String, i64, Option<i64>)| {
            Some(TaskStat {
                kind: TaskKind::parse(&kind)?,
                state: TaskState::parse(&state)?,
                count: u64::try_from(count).ok()?,
                oldest_due: oldest.map(|due_at| now.since(Timestamp::from_micros(due_at))),
            })
        };
        Ok(self
            .read(async |mut reader| rows.fetch_all(&mut *reader).await)
            .await?
            .into_iter()
            .filter_map(stat)
            .collect())
    }

    async fn prune(&self, tasks: Duration, keys: Duration) -> Result<u64, StorageError> {
        self.write(Prune { tasks, keys }).await
    }

    async fn ping(&self) -> Result<(), StorageError> {
        self.write(Ping).await
    }

    /// Of the readers. The writer has one connection, and a queue before it is how it gathers its
    /// commits: no shortage.
    fn connections(&self) -> Connections {
        self.readers.connections()
    }

    async fn sync_requested(&self, hint: Hint, seen: u64) -> u64 {
        self.hints.wait(hint, seen).await
    }
}

/// The database's clock, where the database has none.
#[derive(Debug)]
struct ProcessClock;

impl Clock for ProcessClock {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Timestamp::default() + since
    }
}

fn customer(scope: &Scope) -> Option<String> {
    match scope {
        Scope::Anyone => None,
        Scope::Only(customer) => Some(customer.as_str().to_owned()),
    }
}
