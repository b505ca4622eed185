//! Rows of `service_modes`, as they are read.

use super::cells::{moment, word};
use crate::adapters::observe::service_mode::{Mode, ServiceMode};
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::storage_error::StorageError;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct ServiceModeRow {
    mode: String,
    at: i64,
    until: Option<i64>,
    reason: String,
    by: String,
}

impl ServiceModeRow {
    pub fn restore(self) -> Result<ServiceMode, StorageError> {
        Ok(ServiceMode {
            mode: word(&self.mode, Mode::parse)?,
            since: Some(Timestamp::from_micros(self.at)),
            until: moment(self.until),
            reason: self.reason,
            by: self.by,
        })
    }
}
