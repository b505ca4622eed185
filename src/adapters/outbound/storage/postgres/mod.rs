//! PostgreSQL: any number of instances on one database. Whoever decides holds the order's row lock,
//! claims skip what others hold, and the time is the server's.

mod change;
mod gather;
mod listen;
mod place;
mod session;
mod sql;
mod work;

use super::filters::{OrderFilter, TaskFilter};
use super::pool::CountedPool;
use super::rows::{AggregateRow, TaskRow, TaskViewRow, read};
use super::wakeups::{Hints, News};
use super::{ConnectError, Settings};
use crate::adapters::outbound::storage::invariants::READABLE;
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
use gather::Gatherer;
use listen::Channel;
use place::PlaceKeyed;
use session::{Sessions, Work};
use sqlx::postgres::{PgArguments, PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::{Arguments, AssertSqlSafe, ConnectOptions, Row, SqlSafeStr, SqlStr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use work::{Prune, Read, Release};

#[derive(Debug)]
pub struct PgStore {
    sessions: Sessions,
    placing: mpsc::Sender<gather::Request>,
    clock: Option<Arc<dyn Clock>>,
    hints: Arc<Hints>,
    channel: Arc<Channel>,
    /// Ended when the store is dropped.
    _helpers: JoinSet<()>,
}

impl PgStore {
    /// # Errors
    /// The server cannot be reached.
    pub async fn connect(url: &str, settings: Settings) -> Result<Self, ConnectError> {
        let Settings { max_connections, time_limit, clock } = settings;
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
        let hints = Arc::<Hints>::default();
        let channel = Arc::new(Channel::new(Arc::clone(&hints)));
        let (placing, queue) = mpsc::channel(gather::QUEUE);
        let gatherer = Gatherer { sessions: sessions.clone(), clock: clock.clone() };
        let mut helpers = JoinSet::new();
        helpers.spawn(gatherer.serve(queue));
        helpers.spawn(listen::announce(Arc::clone(&channel), sessions.clone()));
        helpers.spawn(listen::listen(Arc::clone(&channel), plain));
        Ok(Self { sessions, placing, clock, hints, channel, _helpers: helpers })
    }

    fn now(&self) -> Option<i64> {
        self.clock.as_ref().map(|clock| clock.now().micros())
    }

    async fn run<W: Work>(&self, work: W) -> Result<W::Output, StorageError> {
        self.sessions.run(work, self.now()).await
    }

    async fn rows(&self, sql: SqlStr, arguments: PgArguments) -> Result<Vec<PgRow>, StorageError> {
        self.run(Read { sql, arguments }).await
    }
}

pub fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    let options = PgConnectOptions::from_str(url)?;
    Ok(options.application_name("order-service").disable_statement_logging())
}

#[async_trait::async_trait]
impl OrderStore for PgStore {
    async fn place(&self, order: Order, key: Option<KeyedOrder>) -> Result<Placed, StorageError> {
        if let Some(key) = key {
            return self.run(PlaceKeyed(order, key)).await;
        }
        let (reply, answer) = oneshot::channel();
        let placed = async {
            let request = gather::Request { order, reply };
            self.placing.send(request).await.map_err(|_| StorageError::Unavailable)?;
            answer.await.map_err(|_| StorageError::Unavailable)?
        };
        let limited = tokio::time::timeout(self.sessions.time_limit, placed);
        limited.await.map_err(|_| StorageError::Unavailable)?
    }

    async fn change(
        &self,
        id: OrderId,
        reads: LoadOptions,
        decide: Decide,
    ) -> Result<bool, StorageError> {
        let channel = Arc::clone(&self.channel);
        let change = Change { id, reads, decide, channel, attempted: None };
        let news = self.run(change).await?;
        self.channel.tell(news.unwrap_or_default());
        Ok(news.is_some())
    }

    async fn aggregate(
        &self,
        id: OrderId,
        scope: &Scope,
    ) -> Result<Option<OrderAggregate>, StorageError> {
        let arguments = bound([Some(id.to_string()), customer(scope)]);
        let rows = self.rows(sql::AGGREGATE.into_sql_str(), arguments).await?;
        rows.first().map(|row| read::<AggregateRow>(json(row)?)?.restore()).transpose()
    }

    async fn list(
        &self,
        query: &OrderQuery,
        scope: &Scope,
    ) -> Result<Vec<OrderAggregate>, StorageError> {
        let Some(filter) = OrderFilter::new(query, scope) else { return Ok(Vec::new()) };
        let sql = AssertSqlSafe(filter.sql(sql::SELECT_AGGREGATE, "$4::uuid"));
        let mut arguments = bound([filter.customer, filter.status.map(str::to_owned)]);
        bind(&mut arguments, filter.after.map(|(at, _)| at));
        bind(&mut arguments, filter.after.map(|(_, id)| id.to_string()));
        bind(&mut arguments, filter.limit);
        let rows = self.rows(sql.into_sql_str(), arguments).await?;
        rows.iter().map(|row| read::<AggregateRow>(json(row)?)?.restore()).collect()
    }

    async fn task(&self, id: TaskId, scope: &Scope) -> Result<Option<TaskView>, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, id.get());
        bind(&mut arguments, customer(scope));
        let rows = self.rows(sql::TASK.into_sql_str(), arguments).await?;
        rows.first().map(|row| read::<TaskViewRow>(json(row)?)?.restore()).transpose()
    }

    async fn tasks(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError> {
        let filter = TaskFilter::new(query);
        let sql = AssertSqlSafe(filter.sql(sql::SELECT_TASK, "$5::uuid"));
        let mut arguments = bound([filter.state.map(str::to_owned)]);
        bind(&mut arguments, filter.after.map(|(at, _)| at));
        bind(&mut arguments, filter.after.map(|(_, id)| id));
        bind(&mut arguments, filter.limit);
        bind(&mut arguments, filter.order.map(|id| id.to_string()));
        let rows = self.rows(sql.into_sql_str(), arguments).await?;
        rows.iter().map(|row| read::<TaskRow>(json(row)?)?.restore()).collect()
    }

    async fn find_order(
        &self,
        provider: Provider,
        number: &ProviderNumber,
    ) -> Result<Option<OrderId>, StorageError> {
        let number = super::rows::clean(number.as_str());
        let arguments = bound([Some(provider.as_str().to_owned()), Some(number)]);
        let rows = self.rows(sql::FIND_ORDER.into_sql_str(), arguments).await?;
        Ok(rows.first().map(json).transpose()?.and_then(OrderId::parse))
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StorageError> {
        self.run(request.clone()).await
    }

    async fn release_leases(&self, owner: &InstanceId) -> Result<u64, StorageError> {
        let release = Release { owner: owner.clone(), notice: self.channel.due() };
        let released = self.run(release).await?;
        self.channel.tell(News { due: released > 0, finished: false });
        Ok(released)
    }

    async fn keep_orphan(&self, entry: InboxEntry) -> Result<bool, StorageError> {
        self.run(entry).await
    }

    async fn find_reply(&self, key: &IdempotencyKey) -> Result<Option<KeptReply>, StorageError> {
        self.run(key.clone()).await
    }

    async fn keep_reply(
        &self,
        key: IdempotencyKey,
        reply: KeptReply,
    ) -> Result<bool, StorageError> {
        self.run((key, reply)).await
    }

    async fn task_stats(&self) -> Result<Vec<TaskStat>, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, self.now());
        let rows = self.rows(sql::STATS.into_sql_str(), arguments).await?;
        let stat = |row: PgRow| {
            let due: Option<i64> = row.try_get(3).ok()?;
            Some(TaskStat {
                kind: TaskKind::parse(row.try_get(0).ok()?)?,
                state: TaskState::parse(row.try_get(1).ok()?)?,
                count: u64::try_from(row.try_get::<i64, _>(2).ok()?).ok()?,
                oldest_due: due
                    .map(|micros| Timestamp::from_micros(micros).since(Timestamp::default())),
            })
        };
        Ok(rows.into_iter().filter_map(stat).collect())
    }

    async fn prune(&self, tasks: Duration, keys: Duration) -> Result<u64, StorageError> {
        self.run(Prune { tasks, keys }).await
    }

    async fn ping(&self) -> Result<(), StorageError> {
        let rows = self.rows(sql::PING.into_sql_str(), PgArguments::default()).await?;
        let writable = rows.first().is_some_and(|row| row.try_get(0).unwrap_or(false));
        if writable { Ok(()) } else { Err(StorageError::Unavailable) }
    }

    fn connections(&self) -> Connections {
        self.sessions.pool.connections()
    }

    async fn sync_requested(&self, hint: Hint, seen: u64) -> u64 {
        self.hints.wait(hint, seen).await
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

fn json(row: &PgRow) -> Result<&str, StorageError> {
    row.try_get(0).map_err(|_| StorageError::Corrupt(READABLE))
}

fn customer(scope: &Scope) -> Option<String> {
    match scope {
        Scope::Anyone => None,
        Scope::Only(customer) => Some(customer.as_str().to_owned()),
    }
}
