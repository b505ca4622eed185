//! Rows of `audit`, as they are read.

use super::cells::known;
use crate::adapters::observe::storage_upkeep::AuditRecord;
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::storage_error::StorageError;
use serde::Deserialize;
use uuid::Uuid;

#[derive(Debug, Deserialize)]
pub struct AuditRow {
    id: i64,
    at: i64,
    action: String,
    order_id: Option<Uuid>,
    task_id: Option<i64>,
    reason: String,
    by: String,
}

impl AuditRow {
    pub fn restore(self) -> Result<AuditRecord, StorageError> {
        let task = self.task_id.map(|id| known(TaskId::from_i64(id))).transpose()?;
        Ok(AuditRecord {
            id: self.id,
            at: Timestamp::from_micros(self.at),
            action: self.action,
            order: self.order_id.map(OrderId::from_uuid),
            task,
            reason: self.reason,
            by: self.by,
        })
    }
}
