//! One run of a decision between loading and saving, the same on both databases.

use super::diff::Changes;
use super::invariants::NO_PANIC;
use crate::core::payment::OrderAggregate;
use crate::core::ports::order_repository::{Decide, SideWrites, StorageError, TxContext};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The decision works on a copy, so that nothing half-done is ever seen.
pub fn run(
    decide: &mut Decide,
    loaded: &OrderAggregate,
    scene: &TxContext,
) -> Result<(Option<Changes>, SideWrites), StorageError> {
    let mut decided = loaded.clone();
    let also = guarded(|| decide(&mut decided, scene))?;
    Ok((Changes::between(loaded, decided, scene.now)?, also))
}

/// Runs code of the core within a transaction: a panic in it must not take an open transaction, nor
/// the only writer, with it.
pub fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, StorageError> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|_| StorageError::Corrupt(NO_PANIC))
}
