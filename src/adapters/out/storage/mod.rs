//! Where orders live: SQLite for one instance, PostgreSQL for many, memory for tests, behind one port.
//! The scheme of the URL chooses; a contract suite (tests/storage_contract.rs) holds all to the same.

mod diff;
mod hints;
mod invariants;
mod rows;

mod memory;

pub use memory::MemoryStore;

use crate::core::domain::task::{Reason, Task, TaskKind, TaskState};
use crate::core::ports::orders::StorageError;

/// How many rows of a table one pruning removes: a small transaction, so that nobody waits for it.
const PRUNE_BATCH: usize = 500;

/// The key of a reply was taken by a concurrent request while this one decided. Nothing was done;
/// repeated, the request finds the other's reply.
const KEY_TAKEN: StorageError = StorageError::Unavailable;

/// Whether it counts into the length of the queue.
fn is_waiting(task: &Task) -> bool {
    task.state == TaskState::Queued
        && task.kind == TaskKind::RegisterPayment
        && task.reason != Some(Reason::OutcomeUnknown)
}
