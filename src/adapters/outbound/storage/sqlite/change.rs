//! Decisions: the aggregates of a batch are loaded by one statement and what changed is saved by one,
//! so that a trip to the connection's thread is shared like the fsync.

use super::blob;
use super::keys::keep_outcome;
use super::orders::keep_callback;
use super::sql;
use super::writer::{self, Tx, WriteError};
use crate::adapters::outbound::storage::decision::{self, KEY_TAKEN};
use crate::adapters::outbound::storage::diff::ChangedRows;
use crate::adapters::outbound::storage::invariants::VERSION;
use crate::adapters::outbound::storage::rows::{
    AggregateRow, NewEventRow, OrderChangeRow, RefundRow, RegistrationRow, TaskRow, new_events,
    read, write,
};
use crate::adapters::outbound::storage::waiting::waiting_of;
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::payment::OrderAggregate;
use crate::core::ports::order_repository::{Decide, LoadOptions, SideWrites, TxContext};
use crate::core::ports::storage_error::StorageError;
use std::collections::{HashMap, HashSet};

pub struct OrderChange {
    pub id: OrderId,
    pub options: LoadOptions,
    pub decide: Decide,
}

pub type Request = writer::Request<OrderChange, bool>;

/// Together, but for two on one order, which follow each other.
pub async fn run_all(requests: &mut [Request], tx: &mut Tx<'_>) -> Result<(), WriteError> {
    let mut rest: Vec<&mut Request> = requests.iter_mut().collect();
    while !rest.is_empty() {
        let mut taken = HashSet::with_capacity(rest.len());
        let (batch, later) =
            rest.into_iter().partition(|request: &&mut Request| taken.insert(request.work.id));
        together(batch, tx).await?;
        rest = later;
    }
    Ok(())
}

async fn together(batch: Vec<&mut Request>, tx: &mut Tx<'_>) -> Result<(), WriteError> {
    let mut loaded = load(&batch, tx).await?;
    let counts = |request: &&mut Request| request.work.options != LoadOptions::Aggregate;
    let mut queue = if batch.iter().any(counts) { queue_length(tx).await? } else { 0 };
    let mut rows = BatchRows::default();
    for request in batch {
        let OrderChange { id, options, decide } = &mut request.work;
        let Some(loaded) = loaded.remove(id) else {
            request.output = Some(false);
            continue;
        };
        let context = TxContext { now: tx.now, waiting: waiting(queue, &loaded, *options) };
        let (changes, writes) = decision::run(decide, &loaded, &context)?;
        if let Some(changes) = changes {
            // What is not saved yet counts for the next one.
            queue += changes.joined(&loaded);
            tx.wakeups.join(changes.wakeups(tx.now));
            rows.add(&changes);
        }
        keep_side_writes(tx, *id, writes).await?;
        request.output = Some(true);
    }
    rows.save(tx).await
}

async fn load(
    batch: &[&mut Request],
    tx: &mut Tx<'_>,
) -> Result<HashMap<OrderId, OrderAggregate>, WriteError> {
    let ids: Vec<_> = batch.iter().map(|request| request.work.id.uuid()).collect();
    let rows: Vec<String> =
        sqlx::query_scalar(sql::LOAD).bind(write(&ids)).fetch_all(&mut *tx.connection).await?;
    let restore = |json: String| {
        let aggregate = read::<AggregateRow>(&json)?.restore()?;
        Ok((aggregate.order.id, aggregate))
    };
    let loaded: Result<_, StorageError> = rows.into_iter().map(restore).collect();
    Ok(loaded?)
}

async fn queue_length(tx: &mut Tx<'_>) -> Result<i64, WriteError> {
    Ok(sqlx::query_scalar(sql::WAITING).fetch_one(&mut *tx.connection).await?)
}

/// The queue's length without the order's own tasks.
fn waiting(queue: i64, loaded: &OrderAggregate, options: LoadOptions) -> Option<u64> {
    let LoadOptions::QueueLength { up_to } = options else { return None };
    let length = u64::try_from(queue).unwrap_or(0);
    Some(length.saturating_sub(waiting_of(loaded)).min(up_to))
}

/// What a batch of decisions changed.
#[derive(Default)]
struct BatchRows {
    orders: Vec<OrderChangeRow>,
    registrations: Vec<RegistrationRow>,
    refunds: Vec<RefundRow>,
    tasks: Vec<TaskRow>,
    events: Vec<NewEventRow>,
}

impl BatchRows {
    fn add(&mut self, changes: &ChangedRows) {
        let id = changes.order.id;
        self.orders.push(OrderChangeRow::from(&changes.order));
        self.registrations
            .extend(changes.registrations.iter().map(|made| RegistrationRow::of(id, made)));
        self.refunds.extend(changes.refunds.iter().map(|made| RefundRow::of(id, made)));
        self.tasks.extend(changes.tasks.iter().map(TaskRow::from));
        self.events.extend(changes.events.iter().flat_map(new_events));
    }

    async fn save(self, tx: &mut Tx<'_>) -> Result<(), WriteError> {
        if self.orders.is_empty() {
            return Ok(());
        }
        let saved = sqlx::query(sql::SAVE)
            .bind(write(&self.orders))
            .bind(write(&self.registrations))
            .bind(write(&self.refunds))
            .bind(write(&self.tasks))
            .bind(write(&self.events))
            .execute(&mut *tx.connection)
            .await?;
        let expected = self.orders.len()
            + self.registrations.len()
            + self.refunds.len()
            + self.tasks.len()
            + self.events.len();
        if usize::try_from(saved.rows_affected()) == Ok(expected) {
            Ok(())
        } else {
            Err(StorageError::Corrupt(VERSION).into())
        }
    }
}

async fn keep_side_writes(
    tx: &mut Tx<'_>,
    id: OrderId,
    writes: SideWrites,
) -> Result<(), WriteError> {
    if let Some(entry) = writes.inbox {
        keep_callback(tx, &entry).await?;
    }
    if let Some((request, outcome)) = writes.kept
        && !keep_outcome(tx, &request, &outcome).await?
    {
        return Err(KEY_TAKEN.into());
    }
    if let Some(entry) = writes.audit {
        sqlx::query(sql::AUDIT)
            .bind(tx.now.micros())
            .bind(entry.action)
            .bind(blob(id.uuid()))
            .bind(entry.task_id.map(TaskId::get))
            .bind(entry.reason)
            .bind(entry.by.as_str())
            .execute(&mut *tx.connection)
            .await?;
        if entry.settles {
            sqlx::query(sql::SETTLE)
                .bind(entry.task_id.map(TaskId::get))
                .bind(entry.by.as_str())
                .bind(tx.now.micros())
                .execute(&mut *tx.connection)
                .await?;
        }
    }
    Ok(())
}
