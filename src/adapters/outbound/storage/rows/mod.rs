//! Rows as both databases keep them. They cross the border as JSON, made and read by the database
//! itself, so that an aggregate is one statement and one snapshot, and there is one way to read it.

mod audit;
mod callback;
mod dispute;
mod key;
mod order;
mod queue;
mod refund;
mod registration;
mod service_mode;
mod task;

pub use audit::AuditRow;
pub use callback::CallbackRow;
pub use key::{KeyRow, RecordRow};
pub use order::{OrderChangeRow, OrderRow};
pub use queue::{ClaimedRow, TaskStatRow};
pub use refund::RefundRow;
pub use registration::RegistrationRow;
pub use service_mode::ServiceModeRow;
pub use task::{TaskRow, lane_word};

use super::invariants::READABLE;
use crate::core::domain::money::{Currency, Money};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::TaskView;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize)]
pub struct AggregateRow {
    order: OrderRow,
    registrations: Vec<RegistrationRow>,
    refunds: Vec<RefundRow>,
    tasks: Vec<TaskRow>,
}

#[derive(Debug, Deserialize)]
pub struct TaskViewRow {
    task: TaskRow,
    registration: Option<RegistrationRow>,
    refund: Option<RefundRow>,
}

impl TaskViewRow {
    pub fn restore(self) -> Result<TaskView, StorageError> {
        let registration = self.registration.map(RegistrationRow::restore).transpose()?;
        let refund = self.refund.map(RefundRow::restore).transpose()?;
        Ok(TaskView { task: self.task.restore()?, registration, refund })
    }
}

impl AggregateRow {
    pub fn restore(self) -> Result<OrderAggregate, StorageError> {
        let mut registrations = all(self.registrations, RegistrationRow::restore)?;
        registrations.sort_by_key(|registration| (registration.provider, registration.sequence));
        let mut refunds = all(self.refunds, RefundRow::restore)?;
        refunds
            .sort_by(|one, other| (one.created_at, &one.key).cmp(&(other.created_at, &other.key)));
        let mut tasks = all(self.tasks, TaskRow::restore)?;
        tasks.sort_by_key(|task| (task.created_at, task.id));
        Ok(OrderAggregate { order: self.order.restore()?, registrations, refunds, tasks })
    }
}

fn all<R, T>(
    rows: Vec<R>,
    restore: impl Fn(R) -> Result<T, StorageError>,
) -> Result<Vec<T>, StorageError> {
    rows.into_iter().map(restore).collect()
}

/// Reads what the database wrote as JSON.
pub fn read<T: DeserializeOwned>(json: &str) -> Result<T, StorageError> {
    serde_json::from_str(json).map_err(|_| StorageError::Corrupt(READABLE))
}

pub fn read_all<T: DeserializeOwned, J: AsRef<str>>(rows: &[J]) -> Result<Vec<T>, StorageError> {
    rows.iter().map(|json| read(json.as_ref())).collect()
}

/// Writes what the database is to read as JSON.
pub fn write<T: Serialize>(rows: &T) -> String {
    serde_json::to_string(rows).expect("rows have text keys and no floats")
}

/// PostgreSQL cannot keep NUL in a text, and nobody needs one who is not an attacker.
pub fn clean(text: &str) -> String {
    text.replace('\0', "")
}

/// A word that must be one that we know.
fn known<T>(word: Option<T>) -> Result<T, StorageError> {
    word.ok_or(StorageError::Corrupt(READABLE))
}

/// The payment system of that word, unless only a newer version knows it.
fn provider(word: &str) -> Result<Provider, StorageError> {
    Provider::parse(word).ok_or_else(|| StorageError::UnknownProvider(word.into()))
}

/// What the word says, unless only a newer version knows it.
fn word<T>(word: &str, parse: fn(&str) -> Option<T>) -> Result<T, StorageError> {
    parse(word).ok_or_else(|| StorageError::UnknownWord(word.into()))
}

/// The same for a word that may be absent.
fn word_if<T>(told: Option<&str>, parse: fn(&str) -> Option<T>) -> Result<Option<T>, StorageError> {
    told.map(|told| word(told, parse)).transpose()
}

fn money(minor: i64, currency: &str) -> Result<Money, StorageError> {
    known(Currency::parse(currency).and_then(|currency| Money::new(minor, currency)).ok())
}

fn moment(micros: Option<i64>) -> Option<Timestamp> {
    micros.map(Timestamp::from_micros)
}

fn micros(moment: Option<Timestamp>) -> Option<i64> {
    moment.map(Timestamp::micros)
}
