//! What a decision changed: found by comparing the aggregate with the copy that was loaded, so that
//! the core writes plain code and storage writes only what differs.

use super::invariants::{APPEND_ONLY, VERSION};
use super::waiting::is_waiting;
use super::wakeups::WakeupSet;
use crate::core::domain::order::Order;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::order_event::{OrderEvent, order_events};
use crate::core::payment::refund::Refund;
use crate::core::payment::registration::Registration;
use crate::core::payment::task::{Task, TaskState};
use crate::core::ports::storage_error::StorageError;

/// New and changed rows, with their versions and times raised, in the order in which they must be
/// written: what leaves a unique index goes before what enters it.
#[derive(Debug, PartialEq, Eq)]
pub struct ChangedRows {
    pub order: Order,
    pub registrations: Vec<Registration>,
    pub refunds: Vec<Refund>,
    pub tasks: Vec<Task>,
    /// What a shop may care about in it, if anything.
    pub events: Option<NewEvents>,
}

/// Events of one change, and the order as it stands after it.
#[derive(Debug, PartialEq, Eq)]
pub struct NewEvents {
    pub events: Vec<OrderEvent>,
    pub after: OrderAggregate,
}

impl NewEvents {
    fn of(loaded: &OrderAggregate, decided: &OrderAggregate, now: Timestamp) -> Option<Self> {
        let events = order_events(loaded, decided);
        if events.is_empty() {
            return None;
        }
        let mut after = decided.clone();
        (after.order.version, after.order.updated_at) = (loaded.order.version + 1, now);
        Some(Self { events, after })
    }
}

impl ChangedRows {
    /// `None` when nothing differs; `updated_at` and versions are storage's own and do not count.
    ///
    /// # Errors
    /// A row was taken away, or something changed that never does.
    pub fn between(
        loaded: &OrderAggregate,
        decided: OrderAggregate,
        now: Timestamp,
    ) -> Result<Option<Self>, StorageError> {
        let events = NewEvents::of(loaded, &decided, now);
        let OrderAggregate { order, registrations, refunds, tasks } = decided;
        let mut registrations = changed(&loaded.registrations, registrations, now)?;
        registrations.sort_by_key(|registration| registration.state.maybe_alive());
        let refunds = changed(&loaded.refunds, refunds, now)?;
        let mut tasks = changed(&loaded.tasks, tasks, now)?;
        tasks.sort_by_key(|task| !task.state.is_final());
        let before = &loaded.order;
        let told = |order: &Order| (order.status, order.cancel_requested_at);
        let same = Order {
            status: before.status,
            cancel_requested_at: before.cancel_requested_at,
            updated_at: before.updated_at,
            ..order.clone()
        };
        if same != *before {
            return Err(StorageError::Corrupt(APPEND_ONLY));
        }
        if told(&order) == told(before)
            && registrations.is_empty()
            && refunds.is_empty()
            && tasks.is_empty()
        {
            return Ok(None);
        }
        let order = Order { version: before.version + 1, updated_at: now, ..order };
        Ok(Some(Self { order, registrations, refunds, tasks, events }))
    }

    /// By how much the decision made the queue longer than it was with the loaded aggregate.
    pub fn joined(&self, loaded: &OrderAggregate) -> i64 {
        let before = |task: &Task| loaded.tasks.iter().find(|known| known.id == task.id);
        let joins = |task| {
            let waited = before(task).is_some_and(is_waiting);
            i64::from(is_waiting(task)) - i64::from(waited)
        };
        self.tasks.iter().map(joins).sum()
    }

    pub fn wakeups(&self, now: Timestamp) -> WakeupSet {
        WakeupSet {
            due: self
                .tasks
                .iter()
                .any(|task| task.state == TaskState::Queued && task.run_at <= now),
            finished: self.tasks.iter().any(|task| task.state.is_final()),
        }
    }
}

/// What the rows of an aggregate have in common.
trait Part: Clone + PartialEq {
    fn is(&self, other: &Self) -> bool;

    /// # Errors
    /// What never changes is not what it was before.
    fn check_content(&self, before: &Self) -> Result<(), StorageError>;

    fn touch(&mut self, now: Timestamp);

    /// Gives a changed row its next version, where rows have one.
    fn raise(&mut self, _before: Option<&Self>, _now: Timestamp) {}
}

fn changed<P: Part>(loaded: &[P], decided: Vec<P>, now: Timestamp) -> Result<Vec<P>, StorageError> {
    let mut kept = 0;
    let mut changed = Vec::new();
    for mut part in decided {
        let before = loaded.iter().find(|before| part.is(before));
        part.touch(now);
        if let Some(before) = before {
            kept += 1;
            part.check_content(before)?;
            let mut touched = before.clone();
            touched.touch(now);
            if part == touched {
                continue;
            }
        }
        part.raise(before, now);
        changed.push(part);
    }
    if kept == loaded.len() { Ok(changed) } else { Err(StorageError::Corrupt(APPEND_ONLY)) }
}

fn same<T: PartialEq>(one: &T, other: &T, otherwise: &'static str) -> Result<(), StorageError> {
    if one == other { Ok(()) } else { Err(StorageError::Corrupt(otherwise)) }
}

impl Part for Registration {
    fn is(&self, other: &Self) -> bool {
        (self.provider, self.sequence) == (other.provider, other.sequence)
    }

    fn check_content(&self, before: &Self) -> Result<(), StorageError> {
        same(&(&self.number, self.amount), &(&before.number, before.amount), APPEND_ONLY)
    }

    fn touch(&mut self, now: Timestamp) {
        self.updated_at = now;
    }
}

impl Part for Refund {
    fn is(&self, other: &Self) -> bool {
        self.key == other.key
    }

    fn check_content(&self, before: &Self) -> Result<(), StorageError> {
        let content = |refund: &Self| {
            let about = (refund.provider, refund.sequence);
            (about, refund.amount, refund.origin, refund.created_at)
        };
        same(&content(self), &content(before), APPEND_ONLY)
    }

    fn touch(&mut self, now: Timestamp) {
        self.updated_at = now;
    }
}

impl Part for Task {
    fn is(&self, other: &Self) -> bool {
        self.id == other.id
    }

    fn check_content(&self, before: &Self) -> Result<(), StorageError> {
        same(&self.version, &before.version, VERSION)
    }

    fn touch(&mut self, now: Timestamp) {
        self.updated_at = now;
    }

    fn raise(&mut self, before: Option<&Self>, now: Timestamp) {
        if before.is_some() {
            self.version += 1;
        } else {
            self.version = 1;
            self.created_at = now;
        }
    }
}
