//! One effect for one key, however often the client has to ask. The key, the fingerprint of what was
//! asked and the reply are committed together with the effect; here is only what surrounds that:
//! reading the key, and telling a repeat from a request that is still under way in this process.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::inbound::http_kit::reply::json_bytes;
use crate::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents, IdempotencyResult};
use crate::core::ports::idempotency::{IdempotencyKey, KeptReply};
use axum::extract::FromRequestParts;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

const BAD_KEY: Text = Text::new(
    "must be given once, as 1 to 255 visible ASCII characters, with or without quotes",
    "должен быть указан один раз: от 1 до 255 видимых символов ASCII, в кавычках или без",
);

/// SHA-256 over what was asked.
pub type Fingerprint = [u8; 32];

/// What stands in the header, without the quotes of the draft.
#[derive(Debug, Clone)]
pub struct Key(pub Option<String>);

impl<S: Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut values = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        let Some(value) = values.next() else { return Ok(Self(None)) };
        let key = value.to_str().ok().map(unquoted).filter(|key| valid(key));
        match (key, values.next()) {
            (Some(key), None) => Ok(Self(Some(key.to_owned()))),
            (_, Some(_)) | (None, None) => {
                Err(Problem::invalid_at(IDEMPOTENCY_KEY.as_str(), BAD_KEY))
            }
        }
    }
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

fn valid(key: &str) -> bool {
    (1..=255).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic())
}

/// Each part with its length, so that no two requests run together into one.
pub fn fingerprint<'p>(parts: impl IntoIterator<Item = &'p str>) -> Fingerprint {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// The keys whose requests are under way in this process.
#[derive(Debug, Default)]
pub struct KeysInFlight(Arc<Mutex<HashMap<IdempotencyKey, Fingerprint>>>);

/// The right to serve a key; given back when dropped.
#[derive(Debug)]
pub struct Claim {
    keys: Arc<Mutex<HashMap<IdempotencyKey, Fingerprint>>>,
    pub key: IdempotencyKey,
    pub fingerprint: Fingerprint,
}

impl KeysInFlight {
    /// # Errors
    /// The key is under way: with another request (which weighs more), or with this one.
    pub fn claim(
        &self,
        key: IdempotencyKey,
        fingerprint: Fingerprint,
        events: &dyn AdapterEvents,
    ) -> Result<Claim, Problem> {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match keys.entry(key.clone()) {
            Entry::Vacant(place) => {
                place.insert(fingerprint);
                Ok(Claim { keys: Arc::clone(&self.0), key, fingerprint })
            }
            Entry::Occupied(other) if *other.get() == fingerprint => {
                events.tell(&AdapterEvent::Idempotency(IdempotencyResult::InFlight));
                Err(Problem::new(Code::IdempotencyInProgress))
            }
            Entry::Occupied(_) => Err(reused(events)),
        }
    }
}

impl Claim {
    /// A reply that was kept, if it answers this request.
    ///
    /// # Errors
    /// It answers another one.
    pub fn same(&self, kept: KeptReply, events: &dyn AdapterEvents) -> Result<KeptReply, Problem> {
        if kept.fingerprint != self.fingerprint {
            return Err(reused(events));
        }
        events.tell(&AdapterEvent::Idempotency(IdempotencyResult::Replayed));
        Ok(kept)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// A reply that was kept, byte for byte.
pub fn replayed(kept: KeptReply) -> Response {
    let status = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::OK);
    let mut response = json_bytes(status, kept.body);
    if status.is_client_error() {
        let problem = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, problem);
    }
    mark_replayed(response)
}

pub fn mark_replayed(mut response: Response) -> Response {
    response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    response
}

fn reused(events: &dyn AdapterEvents) -> Problem {
    events.tell(&AdapterEvent::Idempotency(IdempotencyResult::Mismatch));
    Problem::new(Code::IdempotencyKeyReused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::observe::adapter_events::Untold;

    fn key(key: &str) -> IdempotencyKey {
        IdempotencyKey { owner: "o".to_owned(), route: "r", key: key.to_owned() }
    }

    #[test]
    fn a_key_may_wear_the_drafts_quotes() {
        assert_eq!(unquoted("\"abc\""), "abc");
        assert_eq!(unquoted("abc"), "abc");
        assert!(valid("abc") && valid(&"x".repeat(255)));
        for bad in ["", "a b", "ключ", &"x".repeat(256), unquoted("\"\"")] {
            assert!(!valid(bad), "{bad}");
        }
    }

    #[test]
    fn a_key_under_way_refuses_its_repeat_and_names_another_request_first() {
        let keys = KeysInFlight::default();
        let claim = keys.claim(key("k"), [1; 32], &Untold).unwrap();
        let refused = |print| keys.claim(key("k"), print, &Untold).unwrap_err().code;
        assert_eq!(refused([1; 32]), Code::IdempotencyInProgress);
        assert_eq!(refused([2; 32]), Code::IdempotencyKeyReused);
        assert!(keys.claim(key("other"), [1; 32], &Untold).is_ok());
        drop(claim);
        assert!(keys.claim(key("k"), [2; 32], &Untold).is_ok());
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(fingerprint(["ab", "c"]), fingerprint(["a", "bc"]));
        assert_eq!(fingerprint(["a"]), fingerprint(["a"]));
    }
}
