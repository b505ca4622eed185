//! The queue: claims skip what others hold, and who hands back tells the other instances.

use super::session::{AttemptError, Tx, Work};
use super::{PgStore, bind, bound, micros, sql};
use crate::adapters::outbound::storage::filters::{TaskFilter, only_customer};
use crate::adapters::outbound::storage::rows::{
    ClaimedRow, TaskViewRow, lane_word, read, read_all,
};
use crate::adapters::outbound::storage::set_aside::read_page;
use crate::adapters::outbound::storage::wakeups::WakeupSet;
use crate::core::domain::ids::{InstanceId, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::payment::task::Task;
use crate::core::ports::order_repository::Scope;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::{
    ClaimRequest, Claimed, TaskQuery, TaskQueue, TaskView, Wakeup,
};
use sqlx::postgres::PgArguments;
use sqlx::{AssertSqlSafe, SqlSafeStr};

#[async_trait::async_trait]
impl TaskQueue for PgStore {
    async fn task(&self, id: TaskId, scope: &Scope) -> Result<Option<TaskView>, StorageError> {
        let mut arguments = PgArguments::default();
        bind(&mut arguments, id.get());
        bind(&mut arguments, only_customer(scope));
        let rows = self.rows(sql::TASK.into_sql_str(), arguments).await?;
        rows.first().map(|json| read::<TaskViewRow>(json)?.restore()).transpose()
    }

    async fn tasks(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError> {
        read_page(query, &*self.events, |query| self.task_rows(query)).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StorageError> {
        self.run(request.clone()).await
    }

    async fn bring_forward(
        &self,
        lane: Option<Provider>,
        limit: usize,
    ) -> Result<u64, StorageError> {
        self.run(BringForward(lane, limit)).await
    }

    async fn release_leases(&self, owner: &InstanceId) -> Result<u64, StorageError> {
        let release = Release { owner: owner.clone(), notice: self.channel.due() };
        let released = self.run(release).await?;
        self.channel.wake(WakeupSet { due: released > 0, finished: false });
        Ok(released)
    }

    async fn wakeup(&self, wakeup: Wakeup, seen: u64) -> u64 {
        self.wakeups.wait(wakeup, seen).await
    }
}

impl PgStore {
    async fn task_rows(&self, query: TaskQuery) -> Result<Vec<String>, StorageError> {
        let filter = TaskFilter::new(&query);
        let sql = AssertSqlSafe(filter.sql(sql::SELECT_TASK, "$5::uuid"));
        let mut arguments = bound([filter.state.map(str::to_owned)]);
        bind(&mut arguments, filter.after.map(|(at, _)| at));
        bind(&mut arguments, filter.after.map(|(_, id)| id));
        bind(&mut arguments, filter.limit);
        bind(&mut arguments, filter.order.map(|id| id.to_string()));
        self.rows(sql.into_sql_str(), arguments).await
    }
}

#[async_trait::async_trait]
impl Work for ClaimRequest {
    type Output = Vec<Claimed>;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Vec<Claimed>, AttemptError> {
        let mut claimed: Vec<String> = Vec::new();
        if tx.attempt > 0 {
            let token = self.token.uuid().to_string();
            sqlx::query(sql::AWAIT_CLAIM).bind(&token).execute(&mut *tx.connection).await?;
            claimed = sqlx::query_scalar(sql::CLAIMED)
                .bind(&token)
                .fetch_all(&mut *tx.connection)
                .await?;
        }
        if claimed.is_empty() {
            let (lanes, sizes): (Vec<&str>, Vec<i64>) = self
                .lanes
                .iter()
                .map(|(lane, size)| (lane_word(*lane), i64::try_from(*size).unwrap_or(i64::MAX)))
                .unzip();
            claimed = sqlx::query_scalar(sql::CLAIM)
                .bind(tx.now)
                .bind(lanes)
                .bind(sizes)
                .bind(self.owner.as_str())
                .bind(self.token.uuid().to_string())
                .bind(micros(self.lease))
                .bind(Provider::ALL.map(Provider::as_str))
                .fetch_all(&mut *tx.connection)
                .await?;
        }
        Ok(ClaimedRow::restore_all(read_all(&claimed)?, self.token)?)
    }
}

/// Hands back the leases of this instance and tells the others.
struct BringForward(Option<Provider>, usize);

#[async_trait::async_trait]
impl Work for BringForward {
    type Output = u64;
    const TRANSACTION: bool = false;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, AttemptError> {
        let brought = sqlx::query(sql::BRING_FORWARD)
            .bind(lane_word(self.0))
            .bind(tx.now)
            .bind(i64::try_from(self.1).unwrap_or(i64::MAX));
        Ok(brought.execute(&mut *tx.connection).await?.rows_affected())
    }
}

struct Release {
    owner: InstanceId,
    notice: String,
}

#[async_trait::async_trait]
impl Work for Release {
    type Output = u64;
    const TRANSACTION: bool = true;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, AttemptError> {
        let released = sqlx::query(sql::RELEASE)
            .bind(self.owner.as_str())
            .bind(tx.now)
            .execute(&mut *tx.connection)
            .await?
            .rows_affected();
        if released > 0 {
            sqlx::query(super::listen::NOTIFY)
                .bind(&self.notice)
                .execute(&mut *tx.connection)
                .await?;
        }
        Ok(released)
    }
}
