//! Rows of `webhook_endpoints` and `webhook_deliveries`.

use super::cells::{known, moment, word, word_if};
use crate::core::domain::ids::{CustomerId, EventId, OrderId, WebhookEndpointId};
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::webhook::SigningKeys;
use crate::core::payment::order_event::OrderEvent;
use crate::core::ports::order_repository::Scope;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::webhook_endpoints::{
    AttemptRecord, DeliveryState, DisabledReason, KeyGeneration, WebhookDelivery, WebhookEndpoint,
    WebhookStats,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// As it is read; what is a column of JSON is written with the functions below.
#[derive(Debug, Deserialize)]
pub struct EndpointRow {
    id: Uuid,
    owner: String,
    customer: String,
    url: String,
    event_types: Vec<String>,
    description: String,
    disabled: Option<String>,
    keys: Vec<KeysRow>,
    created_at: i64,
    updated_at: i64,
}

/// Keys as hexadecimal digits: a secret, as the whole table is.
#[derive(Debug, Serialize, Deserialize)]
struct KeysRow {
    shared: String,
    ed25519_seed: String,
    until: Option<i64>,
}

/// Whose orders, in a column that is never NULL, so that an index finds both kinds.
pub fn customer_of(scope: &Scope) -> &str {
    match scope {
        Scope::Anyone => "",
        Scope::Only(customer) => customer.as_str(),
    }
}

pub fn event_types_json(types: &[OrderEvent]) -> String {
    let words: Vec<&str> = types.iter().map(|kind| kind.as_str()).collect();
    super::cells::write(&words)
}

pub fn keys_json(keys: &[KeyGeneration]) -> String {
    let row = |generation: &KeyGeneration| KeysRow {
        shared: hex(&generation.keys.shared),
        ed25519_seed: hex(&generation.keys.ed25519_seed),
        until: generation.until.map(Timestamp::micros),
    };
    super::cells::write(&keys.iter().map(row).collect::<Vec<_>>())
}

pub fn attempt_json(attempt: &AttemptRecord) -> String {
    super::cells::write(&AttemptRow {
        at: attempt.at.micros(),
        status: attempt.status,
        error: attempt.error.clone(),
        took: i64::try_from(attempt.took.as_micros()).unwrap_or(i64::MAX),
        excerpt: super::cells::clean(&attempt.excerpt),
    })
}

fn hex(bytes: &[u8; 32]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(64), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

fn unhex(digits: &str) -> Option<[u8; 32]> {
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

impl KeysRow {
    fn restore(self) -> Result<KeyGeneration, StorageError> {
        let shared = known(unhex(&self.shared))?;
        let ed25519_seed = known(unhex(&self.ed25519_seed))?;
        let keys = SigningKeys { shared, ed25519_seed };
        Ok(KeyGeneration { keys, until: moment(self.until) })
    }
}

impl EndpointRow {
    pub fn restore(self) -> Result<WebhookEndpoint, StorageError> {
        let scope = match self.customer.as_str() {
            "" => Scope::Anyone,
            customer => Scope::Only(known(CustomerId::parse(customer).ok())?),
        };
        // What only a newer version tells is not told by this one.
        let types = self.event_types.iter().filter_map(|word| OrderEvent::parse(word));
        Ok(WebhookEndpoint {
            id: WebhookEndpointId::from_uuid(self.id),
            owner: self.owner,
            scope,
            url: self.url,
            event_types: types.collect(),
            description: self.description,
            disabled: word_if(self.disabled.as_deref(), DisabledReason::parse)?,
            keys: self.keys.into_iter().map(KeysRow::restore).collect::<Result<_, _>>()?,
            created_at: Timestamp::from_micros(self.created_at),
            updated_at: Timestamp::from_micros(self.updated_at),
        })
    }
}

#[derive(Debug, Deserialize)]
pub struct DeliveryRow {
    id: i64,
    order_id: Uuid,
    sequence: i64,
    kind: String,
    state: String,
    attempts: u32,
    due_at: i64,
    created_at: i64,
    last_attempt: Option<AttemptRow>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AttemptRow {
    at: i64,
    status: Option<u16>,
    error: Option<String>,
    took: i64,
    excerpt: String,
}

impl AttemptRow {
    fn restore(self) -> AttemptRecord {
        AttemptRecord {
            at: Timestamp::from_micros(self.at),
            status: self.status,
            error: self.error,
            took: Duration::from_micros(self.took.try_into().unwrap_or(0)),
            excerpt: self.excerpt,
        }
    }
}

impl DeliveryRow {
    pub fn restore(self) -> Result<WebhookDelivery, StorageError> {
        let sequence = known(self.sequence.try_into().ok())?;
        Ok(WebhookDelivery {
            id: self.id,
            event: EventId { order: OrderId::from_uuid(self.order_id), sequence },
            kind: word(&self.kind, OrderEvent::parse)?,
            state: word(&self.state, DeliveryState::parse)?,
            attempts: self.attempts,
            due_at: Timestamp::from_micros(self.due_at),
            created_at: Timestamp::from_micros(self.created_at),
            last_attempt: self.last_attempt.map(AttemptRow::restore),
        })
    }
}

#[derive(Debug, Deserialize)]
pub struct WebhookStatsRow {
    enabled: u64,
    disabled: u64,
    pending: u64,
    oldest: Option<i64>,
}

impl WebhookStatsRow {
    pub fn restore(self) -> WebhookStats {
        let Self { enabled, disabled, pending, oldest } = self;
        WebhookStats { enabled, disabled, pending, oldest: moment(oldest) }
    }
}
