//! Rows of `callbacks`, as they are read.

use super::cells::provider;
use crate::adapters::observe::storage_upkeep::CallbackRecord;
use crate::core::domain::provider::ProviderNumber;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::order_repository::InboxEntry;
use crate::core::ports::storage_error::StorageError;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct CallbackRow {
    provider: String,
    number: String,
    event_id: Option<String>,
    kind: String,
    signed: bool,
    received_at: i64,
}

impl CallbackRow {
    pub fn restore(self) -> Result<CallbackRecord, StorageError> {
        let entry = InboxEntry {
            provider: provider(&self.provider)?,
            number: ProviderNumber::told(&self.number),
            event_id: self.event_id,
            kind: self.kind,
            signed: self.signed,
        };
        Ok(CallbackRecord { received_at: Timestamp::from_micros(self.received_at), entry })
    }
}
