//! The unique indexes, references and checks of the databases, for the store that has none.

use super::state::{State, same_row};
use crate::adapters::outbound::storage::diff::ChangedRows;
use crate::adapters::outbound::storage::invariants::{
    FRESH_ID, LEASE, ONE_ALIVE, ONE_NUMBER, ONE_UNFINISHED, SCHEMA,
};
use crate::core::domain::ids::OrderId;
use crate::core::payment::refund::Refund;
use crate::core::payment::registration::Registration;
use crate::core::payment::task::{Task, TaskKind, TaskState};
use crate::core::ports::storage_error::StorageError;

impl State {
    pub(super) fn check(&self, changes: &ChangedRows) -> Result<(), StorageError> {
        let id = changes.order.id;
        let stored = self.orders.get(&id).map_or(&[][..], |stored| &stored.registrations);
        self.check_registrations(stored, &changes.registrations)?;
        check_refunds(&changes.refunds, stored, &changes.registrations)?;
        self.check_tasks(id, &changes.tasks)
    }

    fn check_registrations(
        &self,
        stored: &[Registration],
        changed: &[Registration],
    ) -> Result<(), StorageError> {
        let untouched = stored.iter().filter(|old| !changed.iter().any(|new| same_row(old, new)));
        if untouched.chain(changed).filter(|r| r.state.maybe_alive()).count() > 1 {
            return Err(StorageError::Corrupt(ONE_ALIVE));
        }
        for new in changed {
            if self.is_foreign(new) {
                return Err(StorageError::ForeignExternalId);
            }
            let known = stored.iter().any(|old| same_row(old, new));
            if !known && self.numbers.contains_key(&(new.provider, new.number.clone())) {
                return Err(StorageError::Corrupt(ONE_NUMBER));
            }
        }
        Ok(())
    }

    fn is_foreign(&self, new: &Registration) -> bool {
        let Some(id) = &new.external_id else { return false };
        let owner = self.external_ids.get(&(new.provider, id.clone()));
        owner.is_some_and(|number| *number != new.number)
    }

    fn check_tasks(&self, order: OrderId, changed: &[Task]) -> Result<(), StorageError> {
        let unfinished = || changed.iter().filter(|task| !task.state.is_final());
        for new in changed {
            let foreign = self.tasks.get(&new.id).is_some_and(|old| old.version >= new.version);
            let twin = |old: &Task| {
                old.kind == new.kind
                    && old.kind != TaskKind::RefundPayment
                    && old.id != new.id
                    && !changed.iter().any(|task| task.id == old.id && task.state.is_final())
            };
            if foreign || new.order_id != order {
                return Err(StorageError::Corrupt(FRESH_ID));
            }
            if (new.state == TaskState::Running) != new.lease.is_some() {
                return Err(StorageError::Corrupt(LEASE));
            }
            if !new.state.is_final() && self.unfinished_of(order).chain(unfinished()).any(twin) {
                return Err(StorageError::Corrupt(ONE_UNFINISHED));
            }
        }
        Ok(())
    }
}

/// A refund is of a registration that is there.
fn check_refunds(
    changed: &[Refund],
    stored: &[Registration],
    new: &[Registration],
) -> Result<(), StorageError> {
    let known = |refund: &Refund| {
        let about = (refund.provider, refund.sequence);
        stored.iter().chain(new).any(|r| (r.provider, r.sequence) == about)
    };
    if changed.iter().all(known) { Ok(()) } else { Err(StorageError::Corrupt(SCHEMA)) }
}
