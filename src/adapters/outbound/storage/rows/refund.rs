//! Rows of `refunds`.

use super::cells::{known, micros, moment, money, provider, word};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::money::Money;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::refund::{Refund, RefundKey, RefundOrigin, RefundState};
use crate::core::ports::storage_error::StorageError;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Debug, Serialize, Deserialize)]
pub struct RefundRow {
    order_id: Uuid,
    key: String,
    provider: String,
    sequence: u8,
    amount: i64,
    currency: String,
    state: String,
    origin: String,
    task_id: Option<i64>,
    told_before: Option<i64>,
    sent_at: Option<i64>,
    sends: u32,
    acknowledged: bool,
    unchanged: u32,
    created_at: i64,
    updated_at: i64,
}

impl RefundRow {
    pub fn of(order: OrderId, refund: &Refund) -> Self {
        Self {
            order_id: order.uuid(),
            key: refund.key.as_str().to_owned(),
            provider: refund.provider.as_str().to_owned(),
            sequence: refund.sequence,
            amount: refund.amount.minor(),
            currency: refund.amount.currency().code().to_owned(),
            state: refund.state.as_str().to_owned(),
            origin: refund.origin.as_str().to_owned(),
            task_id: refund.task.map(TaskId::get),
            told_before: refund.told_before.map(Money::minor),
            sent_at: micros(refund.sent_at),
            sends: refund.sends,
            acknowledged: refund.acknowledged,
            unchanged: refund.unchanged,
            created_at: refund.created_at.micros(),
            updated_at: refund.updated_at.micros(),
        }
    }

    pub fn restore(self) -> Result<Refund, StorageError> {
        let told_before = self.told_before.map(|told| money(told, &self.currency)).transpose()?;
        let task = self.task_id.map(|id| known(TaskId::from_i64(id))).transpose()?;
        Ok(Refund {
            key: RefundKey::stored(&self.key),
            provider: provider(&self.provider)?,
            sequence: self.sequence,
            amount: money(self.amount, &self.currency)?,
            state: word(&self.state, RefundState::parse)?,
            origin: word(&self.origin, RefundOrigin::parse)?,
            task,
            told_before,
            sent_at: moment(self.sent_at),
            sends: self.sends,
            acknowledged: self.acknowledged,
            unchanged: self.unchanged,
            created_at: Timestamp::from_micros(self.created_at),
            updated_at: Timestamp::from_micros(self.updated_at),
        })
    }
}
