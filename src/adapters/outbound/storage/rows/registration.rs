//! Rows of `registrations`.

use super::cells::{clean, micros, moment, money, provider, word, word_if};
use crate::core::domain::ids::OrderId;
use crate::core::domain::provider::ProviderNumber;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::registration::{Decline, Ending, Registration, RegistrationState};
use crate::core::ports::storage_error::StorageError;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Debug, Serialize, Deserialize)]
pub struct RegistrationRow {
    order_id: Uuid,
    provider: String,
    sequence: u8,
    number: String,
    amount: i64,
    refunded: i64,
    currency: String,
    state: String,
    ending: Option<String>,
    decline_code: Option<String>,
    external_id: Option<String>,
    form_url: Option<String>,
    return_url: Option<String>,
    sent_at: Option<i64>,
    not_found: u32,
    cancel_sent_at: Option<i64>,
    given_up_at: Option<i64>,
    /// Written for earlier versions, and read where only they wrote.
    hinted: bool,
    sync_requested_at: Option<i64>,
    registered_at: Option<i64>,
    paid_at: Option<i64>,
    paid_late: Option<bool>,
    ended_at: Option<i64>,
    looks: Option<u32>,
    strange_since: Option<i64>,
    expires_at: Option<i64>,
    evidence: String,
    contradiction: Option<String>,
    created_at: i64,
    updated_at: i64,
}

impl RegistrationRow {
    pub fn of(order: OrderId, registration: &Registration) -> Self {
        let text = |text: &Option<String>| text.as_deref().map(clean);
        Self {
            order_id: order.uuid(),
            provider: registration.provider.as_str().to_owned(),
            sequence: registration.sequence,
            number: registration.number.as_str().to_owned(),
            amount: registration.amount.minor(),
            refunded: registration.refunded.minor(),
            currency: registration.amount.currency().code().to_owned(),
            state: registration.state.as_str().to_owned(),
            ending: registration.ending.map(|ending| ending.as_str().to_owned()),
            decline_code: registration.decline.map(|decline| decline.as_str().to_owned()),
            external_id: text(&registration.external_id),
            form_url: text(&registration.form_url),
            return_url: text(&registration.return_url),
            sent_at: micros(registration.sent_at),
            not_found: registration.not_found,
            cancel_sent_at: micros(registration.cancel_sent_at),
            given_up_at: micros(registration.given_up_at),
            hinted: registration.sync_requested(),
            sync_requested_at: micros(registration.sync_requested_at),
            registered_at: micros(registration.registered_at),
            paid_at: micros(registration.paid_at),
            paid_late: Some(registration.paid_late),
            ended_at: micros(registration.ended_at),
            looks: Some(registration.looks),
            strange_since: micros(registration.strange_since),
            expires_at: micros(registration.expires_at),
            evidence: clean(&registration.evidence),
            contradiction: text(&registration.contradiction),
            created_at: registration.created_at.micros(),
            updated_at: registration.updated_at.micros(),
        }
    }

    pub fn restore(self) -> Result<Registration, StorageError> {
        let hinted_at = self.hinted.then_some(self.updated_at);
        Ok(Registration {
            sequence: self.sequence,
            provider: provider(&self.provider)?,
            number: ProviderNumber::told(&self.number),
            amount: money(self.amount, &self.currency)?,
            state: word(&self.state, RegistrationState::parse)?,
            ending: word_if(self.ending.as_deref(), Ending::parse)?,
            // A reason that only a newer version knows is no reason here; the ending counts.
            decline: self.decline_code.as_deref().and_then(Decline::parse),
            external_id: self.external_id,
            form_url: self.form_url,
            return_url: self.return_url,
            sent_at: moment(self.sent_at),
            not_found: self.not_found,
            cancel_sent_at: moment(self.cancel_sent_at),
            given_up_at: moment(self.given_up_at),
            sync_requested_at: moment(self.sync_requested_at.or(hinted_at)),
            registered_at: moment(self.registered_at),
            paid_at: moment(self.paid_at),
            paid_late: self.paid_late.unwrap_or(false),
            ended_at: moment(self.ended_at),
            looks: self.looks.unwrap_or(0),
            strange_since: moment(self.strange_since),
            expires_at: moment(self.expires_at),
            refunded: money(self.refunded, &self.currency)?,
            evidence: self.evidence,
            contradiction: self.contradiction,
            created_at: Timestamp::from_micros(self.created_at),
            updated_at: Timestamp::from_micros(self.updated_at),
        })
    }
}
