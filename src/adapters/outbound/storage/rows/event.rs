//! Rows of `events`. A snapshot holds what of an order changes; what was bought is the order's own row.

use super::cells::{known, read, word};
use super::order::OrderRow;
use super::registration::RegistrationRow;
use super::task::TaskRow;
use crate::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use crate::adapters::outbound::storage::diff::NewEvents;
use crate::core::domain::order::{Order, OrderStatus};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::order_event::OrderEvent;
use crate::core::ports::outbox::StoredEvent;
use crate::core::ports::storage_error::StorageError;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// As it is written.
#[derive(Debug, Serialize)]
pub struct NewEventRow {
    order_id: Uuid,
    /// Of this change's: 1, 2, …
    nth: usize,
    kind: &'static str,
    at: i64,
    snapshot: Snapshot,
}

#[derive(Debug, Serialize, Deserialize)]
struct Snapshot {
    status: String,
    cancel_requested_at: Option<i64>,
    updated_at: i64,
    version: i64,
    registrations: Vec<RegistrationRow>,
    #[serde(default)]
    tasks: Vec<TaskRow>,
}

impl Snapshot {
    fn of(aggregate: &OrderAggregate) -> Self {
        let OrderAggregate { order, registrations, .. } = aggregate;
        let registrations = registrations.iter().map(|made| RegistrationRow::of(order.id, made));
        Self {
            status: order.status.as_str().to_owned(),
            cancel_requested_at: order.cancel_requested_at.map(Timestamp::micros),
            updated_at: order.updated_at.micros(),
            version: order.version,
            registrations: registrations.collect(),
            tasks: aggregate.awaited_task().map(TaskRow::from).into_iter().collect(),
        }
    }
}

/// The events of one change, one row each, with the order as it stands after it.
pub fn new_events(new: &NewEvents) -> impl Iterator<Item = NewEventRow> + '_ {
    let NewEvents { events, after } = new;
    (1..).zip(events).map(|(nth, event)| NewEventRow {
        order_id: after.order.id.uuid(),
        nth,
        kind: event.as_str(),
        at: after.order.updated_at.micros(),
        snapshot: Snapshot::of(after),
    })
}

/// Those that can be read. What only a newer version can is told, and left out.
pub fn read_events(rows: &[String], events: &dyn AdapterEvents) -> Vec<StoredEvent> {
    let readable = |json: &String| {
        let restored = read::<EventRow>(json).and_then(EventRow::restore);
        if let Err(error) = &restored {
            tracing::warn!(%error, "an event that cannot be read is left out of a list");
            events.tell(&AdapterEvent::RowSetAside);
        }
        restored.ok()
    };
    rows.iter().filter_map(readable).collect()
}

/// As it is read, with its order.
#[derive(Debug, Deserialize)]
struct EventRow {
    position: i64,
    sequence: i64,
    kind: String,
    at: i64,
    order: OrderRow,
    /// None of an order that was just placed.
    snapshot: Option<Snapshot>,
}

impl EventRow {
    fn restore(self) -> Result<StoredEvent, StorageError> {
        let mut order = self.order.restore()?;
        order.details.buyer = None;
        let mut aggregate = match self.snapshot {
            Some(snapshot) => {
                order.status = word(&snapshot.status, OrderStatus::parse)?;
                order.cancel_requested_at =
                    snapshot.cancel_requested_at.map(Timestamp::from_micros);
                order.updated_at = Timestamp::from_micros(snapshot.updated_at);
                order.version = snapshot.version;
                OrderAggregate {
                    order,
                    registrations: {
                        let rows = snapshot.registrations.into_iter();
                        rows.map(RegistrationRow::restore).collect::<Result<_, _>>()?
                    },
                    refunds: vec![],
                    tasks: {
                        let rows = snapshot.tasks.into_iter();
                        rows.map(TaskRow::restore).collect::<Result<_, _>>()?
                    },
                }
            }
            None => {
                let placed = Order {
                    status: OrderStatus::New,
                    cancel_requested_at: None,
                    updated_at: order.created_at,
                    version: 1,
                    ..order
                };
                OrderAggregate {
                    order: placed,
                    registrations: vec![],
                    refunds: vec![],
                    tasks: vec![],
                }
            }
        };
        aggregate.registrations.sort_by_key(|made| (made.provider, made.sequence));
        Ok(StoredEvent {
            kind: word(&self.kind, OrderEvent::parse)?,
            sequence: known(self.sequence.try_into().ok())?,
            at: Timestamp::from_micros(self.at),
            position: known(self.position.try_into().ok())?,
            aggregate,
        })
    }
}
