//! Rows that this version cannot read, because a newer one has written a word that it does not know: a list
//! leaves them out, tells of them, and fills their places with the rows that come after.

use super::rows::{AggregateRow, TaskRow, read};
use crate::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::task::Task;
use crate::core::ports::order_repository::{OrderQuery, OrderSort};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::TaskQuery;
use serde::Deserialize;
use uuid::Uuid;

/// A question for a page of rows, newest first.
pub trait PageQuery: Clone {
    type Item;

    fn limit(&self) -> usize;

    fn restore(json: &str) -> Result<Self::Item, StorageError>;

    /// The same question for what is older than this row; `None` when not even its place can be read.
    fn after(&self, json: &str) -> Option<Self>;
}

/// Reads a page; `fetch` asks the database for its rows as JSON.
pub async fn read_page<Q: PageQuery, F: Future<Output = Result<Vec<String>, StorageError>>>(
    query: &Q,
    events: &dyn AdapterEvents,
    fetch: impl Fn(Q) -> F,
) -> Result<Vec<Q::Item>, StorageError> {
    let mut found = Vec::new();
    let mut next = Some(query.clone());
    while let Some(asked) = next.take() {
        let rows = fetch(asked.clone()).await?;
        found.extend(rows.iter().filter_map(|json| readable::<Q>(json, events)));
        if found.len() < query.limit() && rows.len() >= query.limit() {
            next = rows.last().and_then(|last| asked.after(last));
        }
    }
    found.truncate(query.limit());
    Ok(found)
}

fn readable<Q: PageQuery>(json: &str, events: &dyn AdapterEvents) -> Option<Q::Item> {
    let restored = Q::restore(json);
    if let Err(error) = &restored {
        let order_id = read::<Named>(json).ok().map(|row| row.order_id().to_string());
        tracing::warn!(%error, order_id, "a row that cannot be read is left out of a list");
        events.tell(&AdapterEvent::RowSetAside);
    }
    restored.ok()
}

/// The order that a row of either list is of.
#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
    Aggregate { order: OrderSortKey },
    Task { order_id: Uuid },
}

impl Named {
    const fn order_id(&self) -> Uuid {
        match self {
            Self::Aggregate { order } => order.id,
            Self::Task { order_id } => *order_id,
        }
    }
}

#[derive(Deserialize)]
struct OrderSortKey {
    created_at: i64,
    updated_at: i64,
    id: Uuid,
}

#[derive(Deserialize)]
struct AggregateSortKey {
    order: OrderSortKey,
}

#[derive(Deserialize)]
struct TaskSortKey {
    created_at: i64,
    id: i64,
}

impl PageQuery for OrderQuery {
    type Item = OrderAggregate;

    fn limit(&self) -> usize {
        self.limit
    }

    fn restore(json: &str) -> Result<OrderAggregate, StorageError> {
        read::<AggregateRow>(json)?.restore()
    }

    fn after(&self, json: &str) -> Option<Self> {
        let OrderSortKey { created_at, updated_at, id } =
            read::<AggregateSortKey>(json).ok()?.order;
        let at = match self.sort {
            OrderSort::NewestFirst | OrderSort::OldestFirst => created_at,
            OrderSort::LongestUnchangedFirst => updated_at,
        };
        let after = Some((Timestamp::from_micros(at), OrderId::from_uuid(id)));
        Some(Self { after, ..self.clone() })
    }
}

impl PageQuery for TaskQuery {
    type Item = Task;

    fn limit(&self) -> usize {
        self.limit
    }

    fn restore(json: &str) -> Result<Task, StorageError> {
        read::<TaskRow>(json)?.restore()
    }

    fn after(&self, json: &str) -> Option<Self> {
        let TaskSortKey { created_at, id } = read(json).ok()?;
        let after = Some((Timestamp::from_micros(created_at), TaskId::from_i64(id)?));
        Some(Self { after, ..self.clone() })
    }
}
