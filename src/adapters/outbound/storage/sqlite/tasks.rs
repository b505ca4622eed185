//! The queue: what is claimed and handed back through the writer, and what is read beside it.

use super::writer::{Tx, Work, WriteError};
use super::{SqliteStore, blob, sql};
use crate::adapters::outbound::storage::filters::{TaskFilter, only_customer};
use crate::adapters::outbound::storage::rows::{
    ClaimedRow, TaskViewRow, lane_word, read, read_all, write,
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
use sqlx::AssertSqlSafe;

#[async_trait::async_trait]
impl TaskQueue for SqliteStore {
    async fn task(&self, id: TaskId, scope: &Scope) -> Result<Option<TaskView>, StorageError> {
        let row =
            sqlx::query_scalar::<_, String>(sql::TASK).bind(id.get()).bind(only_customer(scope));
        let found = self.read(async |mut reader| row.fetch_optional(&mut *reader).await).await?;
        found.map(|json| read::<TaskViewRow>(&json)?.restore()).transpose()
    }

    async fn tasks(&self, query: &TaskQuery) -> Result<Vec<Task>, StorageError> {
        read_page(query, &*self.events, |query| self.task_rows(query)).await
    }

    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StorageError> {
        self.write(request.clone()).await
    }

    async fn bring_forward(
        &self,
        lane: Option<Provider>,
        limit: usize,
    ) -> Result<u64, StorageError> {
        self.write(BringForward(lane, limit)).await
    }

    async fn release_leases(&self, owner: &InstanceId) -> Result<u64, StorageError> {
        self.write(Release(owner.clone())).await
    }

    async fn wakeup(&self, wakeup: Wakeup, seen: u64) -> u64 {
        self.wakeups.wait(wakeup, seen).await
    }
}

impl SqliteStore {
    async fn task_rows(&self, query: TaskQuery) -> Result<Vec<String>, StorageError> {
        let filter = TaskFilter::new(&query);
        let sql = filter.sql(sql::SELECT_TASK, "$5");
        let rows = sqlx::query_scalar::<_, String>(AssertSqlSafe(sql))
            .bind(filter.state)
            .bind(filter.after.map(|(at, _)| at))
            .bind(filter.after.map(|(_, id)| id))
            .bind(filter.limit)
            .bind(filter.order.map(blob));
        self.read(async |mut reader| rows.fetch_all(&mut *reader).await).await
    }
}

#[async_trait::async_trait]
impl Work for ClaimRequest {
    type Output = Vec<Claimed>;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Vec<Claimed>, WriteError> {
        let mut rows = Vec::new();
        for (lane, limit) in &self.lanes {
            let claimed: Vec<String> = sqlx::query_scalar(sql::CLAIM)
                .bind(lane_word(*lane))
                .bind(tx.now.micros())
                .bind(i64::try_from(*limit).unwrap_or(i64::MAX))
                .bind(self.owner.as_str())
                .bind(blob(self.token.uuid()))
                .bind((tx.now + self.lease).micros())
                .bind(write(&Provider::ALL.map(Provider::as_str)))
                .fetch_all(&mut *tx.connection)
                .await?;
            rows.extend(read_all::<ClaimedRow, _>(&claimed)?);
        }
        Ok(ClaimedRow::restore_all(rows, self.token)?)
    }
}

/// Hands back the leases of this instance.
struct BringForward(Option<Provider>, usize);

#[async_trait::async_trait]
impl Work for BringForward {
    type Output = u64;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, WriteError> {
        let brought = sqlx::query(sql::BRING_FORWARD)
            .bind(lane_word(self.0))
            .bind(tx.now.micros())
            .bind(i64::try_from(self.1).unwrap_or(i64::MAX))
            .execute(&mut *tx.connection)
            .await?
            .rows_affected();
        tx.wakeups.join(WakeupSet { due: brought > 0, finished: false });
        Ok(brought)
    }
}

struct Release(InstanceId);

#[async_trait::async_trait]
impl Work for Release {
    type Output = u64;

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<u64, WriteError> {
        let released = sqlx::query(sql::RELEASE)
            .bind(self.0.as_str())
            .bind(tx.now.micros())
            .execute(&mut *tx.connection)
            .await?
            .rows_affected();
        tx.wakeups.join(WakeupSet { due: released > 0, finished: false });
        Ok(released)
    }
}
