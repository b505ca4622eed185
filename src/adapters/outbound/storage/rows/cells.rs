//! What a single cell says, read and written the same way in every row.

use crate::adapters::outbound::storage::invariants::READABLE;
use crate::core::domain::money::{Currency, Money};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::storage_error::StorageError;
use serde::Serialize;
use serde::de::DeserializeOwned;

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
pub fn known<T>(word: Option<T>) -> Result<T, StorageError> {
    word.ok_or(StorageError::Corrupt(READABLE))
}

/// The payment system of that word, unless only a newer version knows it.
pub fn provider(word: &str) -> Result<Provider, StorageError> {
    Provider::parse(word).ok_or_else(|| StorageError::UnknownProvider(word.into()))
}

/// What the word says, unless only a newer version knows it.
pub fn word<T>(word: &str, parse: fn(&str) -> Option<T>) -> Result<T, StorageError> {
    parse(word).ok_or_else(|| StorageError::UnknownWord(word.into()))
}

/// The same for a word that may be absent.
pub fn word_if<T>(
    told: Option<&str>,
    parse: fn(&str) -> Option<T>,
) -> Result<Option<T>, StorageError> {
    told.map(|told| word(told, parse)).transpose()
}

pub fn money(minor: i64, currency: &str) -> Result<Money, StorageError> {
    known(Currency::parse(currency).and_then(|currency| Money::new(minor, currency)).ok())
}

pub fn moment(micros: Option<i64>) -> Option<Timestamp> {
    micros.map(Timestamp::from_micros)
}

pub fn micros(moment: Option<Timestamp>) -> Option<i64> {
    moment.map(Timestamp::micros)
}
