//! One run of a decision between loading and saving, the same on both databases.

use super::diff::ChangedRows;
use super::invariants::NO_PANIC;
use crate::core::payment::OrderAggregate;
use crate::core::ports::order_repository::{Decide, SideWrites, TxContext};
use crate::core::ports::storage_error::StorageError;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The idempotency key was taken by a concurrent request while this one decided. Nothing was done;
/// repeated, the request finds the other's outcome.
pub const KEY_TAKEN: StorageError = StorageError::Unavailable;

/// The decision works on a copy, so that nothing half-done is ever seen.
pub fn run(
    decide: &mut Decide,
    loaded: &OrderAggregate,
    context: &TxContext,
) -> Result<(Option<ChangedRows>, SideWrites), StorageError> {
    let mut decided = loaded.clone();
    let writes = without_panic(|| decide(&mut decided, context))?;
    Ok((ChangedRows::between(loaded, decided, context.now)?, writes))
}

/// Runs code of the core within a transaction: a panic in it must not take an open transaction, nor
/// the only writer, with it.
fn without_panic<T>(code: impl FnOnce() -> T) -> Result<T, StorageError> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|_| StorageError::Corrupt(NO_PANIC))
}
