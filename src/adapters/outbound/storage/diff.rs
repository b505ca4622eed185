//! What a decision changed: found by comparing the aggregate with the copy that was loaded, so that
//! the core writes plain code and storage writes only what differs.

use super::invariants::{APPEND_ONLY, VERSION};
use super::wakeups::WakeupSet;
use crate::core::domain::order::Order;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
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
        let OrderAggregate { order, registrations, refunds, tasks } = decided;
        let refunds = changed_refunds(&loaded.refunds, refunds, now)?;
        let registrations = changed_registrations(&loaded.registrations, registrations, now)?;
        let tasks = changed_tasks(&loaded.tasks, tasks, now)?;
        let before = &loaded.order;
        let same = Order { status: before.status, updated_at: before.updated_at, ..order.clone() };
        if same != *before {
            return Err(StorageError::Corrupt(APPEND_ONLY));
        }
        if order.status == before.status
            && registrations.is_empty()
            && refunds.is_empty()
            && tasks.is_empty()
        {
            return Ok(None);
        }
        let order = Order { version: before.version + 1, updated_at: now, ..order };
        Ok(Some(Self { order, registrations, refunds, tasks }))
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

fn changed_registrations(
    loaded: &[Registration],
    decided: Vec<Registration>,
    now: Timestamp,
) -> Result<Vec<Registration>, StorageError> {
    let mut kept = 0;
    let mut changed = Vec::new();
    for mut registration in decided {
        let key = (registration.provider, registration.sequence);
        let before = loaded.iter().find(|before| (before.provider, before.sequence) == key);
        if let Some(before) = before {
            kept += 1;
            if (&registration.number, registration.amount) != (&before.number, before.amount) {
                return Err(StorageError::Corrupt(APPEND_ONLY));
            }
            registration.updated_at = before.updated_at;
            if registration == *before {
                continue;
            }
        }
        registration.updated_at = now;
        changed.push(registration);
    }
    changed.sort_by_key(|registration| registration.state.maybe_alive());
    if kept == loaded.len() { Ok(changed) } else { Err(StorageError::Corrupt(APPEND_ONLY)) }
}

fn changed_refunds(
    loaded: &[Refund],
    decided: Vec<Refund>,
    now: Timestamp,
) -> Result<Vec<Refund>, StorageError> {
    let mut kept = 0;
    let mut changed = Vec::new();
    for mut refund in decided {
        if let Some(before) = loaded.iter().find(|before| before.key == refund.key) {
            kept += 1;
            let content = |refund: &Refund| (refund.provider, refund.sequence, refund.amount);
            if content(&refund) != content(before) {
                return Err(StorageError::Corrupt(APPEND_ONLY));
            }
            refund.updated_at = before.updated_at;
            if refund == *before {
                continue;
            }
        }
        refund.updated_at = now;
        changed.push(refund);
    }
    if kept == loaded.len() { Ok(changed) } else { Err(StorageError::Corrupt(APPEND_ONLY)) }
}

fn changed_tasks(
    loaded: &[Task],
    decided: Vec<Task>,
    now: Timestamp,
) -> Result<Vec<Task>, StorageError> {
    let mut kept = 0;
    let mut changed = Vec::new();
    for mut task in decided {
        if let Some(before) = loaded.iter().find(|before| before.id == task.id) {
            kept += 1;
            if task.version != before.version {
                return Err(StorageError::Corrupt(VERSION));
            }
            task.updated_at = before.updated_at;
            if task == *before {
                continue;
            }
            task.version += 1;
        } else {
            task.version = 1;
            task.created_at = now;
        }
        task.updated_at = now;
        changed.push(task);
    }
    changed.sort_by_key(|task| !task.state.is_final());
    if kept == loaded.len() { Ok(changed) } else { Err(StorageError::Corrupt(APPEND_ONLY)) }
}
