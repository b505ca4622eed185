//! A decision on a aggregate: lock, load, decide, write what differs, commit.

use super::listen::Channel;
use super::place::keep_reply;
use super::session::{Fault, Tx, Work};
use super::sql;
use super::work::keep_callback;
use crate::adapters::outbound::storage::diff::Changes;
use crate::adapters::outbound::storage::invariants::VERSION;
use crate::adapters::outbound::storage::rows::{
    AggregateRow, RegistrationRow, TaskRow, clean, read, write,
};
use crate::adapters::outbound::storage::wakeups::News;
use crate::adapters::outbound::storage::{KEY_TAKEN, deciding};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::order::Order;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::order_repository::{
    Decide, LoadOptions, SideWrites, StorageError, TxContext,
};
use std::sync::Arc;
use uuid::Uuid;

pub struct Change {
    pub id: OrderId,
    pub reads: LoadOptions,
    pub decide: Decide,
    pub channel: Arc<Channel>,
    /// The mark that the last attempt left on the order, and what it would have hinted at.
    pub attempted: Option<(Uuid, News)>,
}

#[async_trait::async_trait]
impl Work for Change {
    type Output = Option<News>;
    const TRANSACTION: bool = true;

    /// `None` when there is no such order. After a lost COMMIT the order's mark tells whether that
    /// attempt is there: the lock waits until the server has made up its mind about it.
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Option<News>, Fault> {
        if let LoadOptions::QueueLength { .. } = self.reads {
            sqlx::query(sql::LOCK_QUEUE).execute(&mut *tx.connection).await?;
        }
        let locked: Option<(Option<String>,)> = sqlx::query_as(sql::LOCK_ORDER)
            .bind(self.id.to_string())
            .fetch_optional(&mut *tx.connection)
            .await?;
        let Some((mark,)) = locked else { return Ok(None) };
        if let Some((attempted, news)) = self.attempted
            && mark == Some(attempted.to_string())
        {
            return Ok(Some(news));
        }
        let (json, now): (String, i64) = sqlx::query_as(sql::LOAD)
            .bind(self.id.to_string())
            .bind(tx.now)
            .fetch_one(&mut *tx.connection)
            .await?;
        let loaded = read::<AggregateRow>(&json)?.restore()?;
        let now = Timestamp::from_micros(now);
        let scene = TxContext { now, waiting: waiting(tx, self.id, self.reads).await? };
        let (changes, also) = deciding::run(&mut self.decide, &loaded, &scene)?;
        if changes.is_none() && also == SideWrites::default() {
            return Ok(Some(News::default()));
        }
        let news = changes.as_ref().map(|changes| changes.news(now)).unwrap_or_default();
        let mark = Uuid::from_u128(fastrand::u128(..));
        self.attempted = Some((mark, news));
        let notice = news.due.then(|| self.channel.due());
        save(tx, &loaded.order, changes, mark, notice).await?;
        keep(tx, self.id, also).await?;
        Ok(Some(news))
    }
}

/// Without changes only the mark is left, for what else is kept.
async fn save(
    tx: &mut Tx<'_>,
    loaded: &Order,
    changes: Option<Changes>,
    mark: Uuid,
    notice: Option<String>,
) -> Result<(), Fault> {
    let unchanged =
        || Changes { order: loaded.clone(), registrations: vec![], refunds: vec![], tasks: vec![] };
    let Changes { order, registrations, refunds: _, tasks } = changes.unwrap_or_else(unchanged);
    let registrations: Vec<_> =
        registrations.iter().map(|made| RegistrationRow::of(order.id, made)).collect();
    let tasks: Vec<_> = tasks.iter().map(TaskRow::from).collect();
    let (saved, _): (i64, Option<String>) = sqlx::query_as(sql::SAVE)
        .bind(order.id.to_string())
        .bind(loaded.version)
        .bind(order.status.as_str())
        .bind(order.updated_at.micros())
        .bind(order.version)
        .bind(mark.to_string())
        .bind(write(&registrations))
        .bind(write(&tasks))
        .bind(notice)
        .fetch_one(&mut *tx.connection)
        .await?;
    if usize::try_from(saved) == Ok(1 + registrations.len() + tasks.len()) {
        Ok(())
    } else {
        Err(StorageError::Corrupt(VERSION).into())
    }
}

async fn waiting(tx: &mut Tx<'_>, id: OrderId, reads: LoadOptions) -> Result<Option<u64>, Fault> {
    let LoadOptions::QueueLength { up_to } = reads else { return Ok(None) };
    let count: i64 = sqlx::query_scalar(sql::WAITING)
        .bind(id.to_string())
        .bind(i64::try_from(up_to).unwrap_or(i64::MAX))
        .fetch_one(&mut *tx.connection)
        .await?;
    Ok(Some(u64::try_from(count).unwrap_or(0)))
}

async fn keep(tx: &mut Tx<'_>, id: OrderId, also: SideWrites) -> Result<(), Fault> {
    if let Some(entry) = also.inbox {
        keep_callback(tx, &entry).await?;
    }
    if let Some((key, reply)) = also.reply
        && !keep_reply(tx, &key, &reply).await?
    {
        return Err(KEY_TAKEN.into());
    }
    if let Some(entry) = also.audit {
        sqlx::query(sql::AUDIT)
            .bind(clean(&entry.action))
            .bind(id.to_string())
            .bind(entry.task_id.map(TaskId::get))
            .bind(clean(&entry.reason))
            .bind(tx.now)
            .execute(&mut *tx.connection)
            .await?;
    }
    Ok(())
}
