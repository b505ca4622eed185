//! The rules that hold whatever the code does, by the name of their index or check. A decision that
//! runs into one was wrong: it is rolled back, and the name tells which rule it would have broken.

use crate::core::ports::storage_error::StorageError;

pub const ONE_ALIVE: &str = "registrations_one_alive";
pub const ONE_NUMBER: &str = "registrations_one_number";
pub const ONE_EXTERNAL_ID: &str = "registrations_one_external_id";
pub const ONE_ORDER_OF_EXTERNAL_ID: &str = "orders_one_external_id";
pub const ONE_UNFINISHED: &str = "tasks_one_unfinished";
pub const LEASE: &str = "tasks_lease";
/// The id of an order or a task exists already.
pub const FRESH_ID: &str = "fresh_id";
/// Registrations, refunds and tasks are never taken away, and what they and the order are about never
/// changes.
pub const APPEND_ONLY: &str = "append_only";
/// What was loaded under lock is what is overwritten.
pub const VERSION: &str = "version";
/// A decision is a pure function: it does not panic.
pub const NO_PANIC: &str = "decision_panicked";
/// Any other constraint of the schema.
pub const SCHEMA: &str = "schema";
/// A row that this version cannot read.
pub const READABLE: &str = "readable_row";

const NAMED: [&str; 6] =
    [ONE_ALIVE, ONE_NUMBER, ONE_EXTERNAL_ID, ONE_ORDER_OF_EXTERNAL_ID, ONE_UNFINISHED, LEASE];

/// SQLite names the columns of a violated index, not the index.
const BY_COLUMNS: [(&str, &str); 6] = [
    ("registrations.order_id, registrations.provider, registrations.sequence", FRESH_ID),
    ("registrations.order_id", ONE_ALIVE),
    ("registrations.provider, registrations.number", ONE_NUMBER),
    ("registrations.provider, registrations.external_id", ONE_EXTERNAL_ID),
    ("tasks.order_id, tasks.kind", ONE_UNFINISHED),
    ("orders.id", FRESH_ID),
];

/// The rule that a database says was violated; `None` when the error is of another sort.
pub fn violated(error: &sqlx::Error) -> Option<StorageError> {
    let sqlx::Error::Database(error) = error else { return None };
    if error.kind() == sqlx::error::ErrorKind::Other {
        return None;
    }
    let name = error.constraint().unwrap_or_default();
    let told = |(columns, rule): (&str, &'static str)| {
        let (_, place) = error.message().split_once("constraint failed: ")?;
        (place == columns).then_some(rule)
    };
    let rule = NAMED
        .into_iter()
        .find(|rule| *rule == name || error.message().ends_with(&format!(": {rule}")))
        .or_else(|| BY_COLUMNS.into_iter().find_map(told))
        .or_else(|| name.ends_with("_pkey").then_some(FRESH_ID))
        .unwrap_or(SCHEMA);
    Some(if rule == ONE_EXTERNAL_ID {
        StorageError::ForeignExternalId
    } else {
        StorageError::Corrupt(rule)
    })
}
