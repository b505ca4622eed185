//! Rows of `tasks`.

use super::cells::{clean, known, moment, provider, word, word_if};
use super::dispute;
use crate::core::domain::ids::{InstanceId, LeaseToken, OrderId, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::task::{Lease, Reason, Task, TaskError, TaskKind, TaskState};
use crate::core::ports::storage_error::StorageError;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// The lane of tasks that any provider can serve. A word and not NULL: an index finds it by equality.
const ANY_LANE: &str = "any";

#[derive(Debug, Serialize, Deserialize)]
pub struct TaskRow {
    id: i64,
    order_id: Uuid,
    kind: String,
    state: String,
    reason: Option<String>,
    run_at: i64,
    lane: String,
    attempts: u32,
    lost_leases: u32,
    deadline: i64,
    lease_owner: Option<String>,
    lease_token: Option<Uuid>,
    lease_until: Option<i64>,
    result_provider: Option<String>,
    result_sequence: Option<u8>,
    error: Option<String>,
    dispute: Option<String>,
    settled_by: Option<String>,
    settled_at: Option<i64>,
    trace: Option<String>,
    return_url: Option<String>,
    form_lifetime: Option<u64>,
    created_at: i64,
    updated_at: i64,
    version: i64,
}

impl TaskRow {
    pub fn restore(self) -> Result<Task, StorageError> {
        Ok(Task {
            id: known(TaskId::from_i64(self.id))?,
            order_id: OrderId::from_uuid(self.order_id),
            kind: word(&self.kind, TaskKind::parse)?,
            state: word(&self.state, TaskState::parse)?,
            reason: word_if(self.reason.as_deref(), Reason::parse)?,
            run_at: Timestamp::from_micros(self.run_at),
            lane: Some(&*self.lane).filter(|lane| *lane != ANY_LANE).map(provider).transpose()?,
            attempts: self.attempts,
            lost_leases: self.lost_leases,
            deadline: Timestamp::from_micros(self.deadline),
            lease: self.lease(),
            result: self
                .result_provider
                .as_deref()
                .map(provider)
                .transpose()?
                .zip(self.result_sequence),
            error: word_if(self.error.as_deref(), TaskError::parse)?,
            dispute: self.dispute.as_deref().and_then(dispute::read),
            settled: self.settled_by.zip(moment(self.settled_at)),
            trace: self.trace,
            return_url: self.return_url,
            form_lifetime: self.form_lifetime.map(Duration::from_secs),
            version: self.version,
            created_at: Timestamp::from_micros(self.created_at),
            updated_at: Timestamp::from_micros(self.updated_at),
        })
    }

    fn lease(&self) -> Option<Lease> {
        Some(Lease {
            owner: InstanceId::new(self.lease_owner.as_deref()?),
            token: LeaseToken::new(self.lease_token?.as_u128()),
            until: moment(self.lease_until)?,
        })
    }
}

impl From<&Task> for TaskRow {
    fn from(task: &Task) -> Self {
        let lease = task.lease.as_ref();
        Self {
            id: task.id.get(),
            order_id: task.order_id.uuid(),
            kind: task.kind.as_str().to_owned(),
            state: task.state.as_str().to_owned(),
            reason: task.reason.map(|reason| reason.as_str().to_owned()),
            run_at: task.run_at.micros(),
            lane: lane_word(task.lane).to_owned(),
            attempts: task.attempts,
            lost_leases: task.lost_leases,
            deadline: task.deadline.micros(),
            lease_owner: lease.map(|lease| lease.owner.as_str().to_owned()),
            lease_token: lease.map(|lease| lease.token.uuid()),
            lease_until: lease.map(|lease| lease.until.micros()),
            result_provider: task.result.map(|(provider, _)| provider.as_str().to_owned()),
            result_sequence: task.result.map(|(_, sequence)| sequence),
            error: task.error.map(|error| error.code().to_owned()),
            dispute: task.dispute.as_ref().map(dispute::written),
            settled_by: task.settled.as_ref().map(|(by, _)| by.clone()),
            settled_at: task.settled.as_ref().map(|(_, at)| at.micros()),
            trace: task.trace.clone(),
            return_url: task.return_url.as_deref().map(clean),
            form_lifetime: task.form_lifetime.map(|lifetime| lifetime.as_secs()),
            created_at: task.created_at.micros(),
            updated_at: task.updated_at.micros(),
            version: task.version,
        }
    }
}

pub fn lane_word(lane: Option<Provider>) -> &'static str {
    lane.map_or(ANY_LANE, Provider::as_str)
}
