//! `Idempotency-Key` in HTTP: how it is read, what a request's fingerprint is, and how a repeat is told
//! that it is one. What a key means is the use cases' own.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::core::ports::idempotency::Fingerprint;
use axum::extract::FromRequestParts;
use axum::response::Response;
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

const BAD_KEY: Text = Text::new(
    "must be given once, as 1 to 255 visible ASCII characters, with or without quotes",
    "должен быть указан один раз: от 1 до 255 видимых символов ASCII, в кавычках или без",
);

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

/// The same where nothing is done without one.
#[derive(Debug, Clone)]
pub struct RequiredKey(pub String);

impl<S: Sync> FromRequestParts<S> for RequiredKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Key(key) = Key::from_request_parts(parts, state).await?;
        key.map(Self).ok_or(Problem::new(Code::IdempotencyKeyRequired))
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

/// An answer that was given before.
pub fn mark_replayed(mut response: Response) -> Response {
    response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn parts_do_not_run_together() {
        assert_ne!(fingerprint(["ab", "c"]), fingerprint(["a", "bc"]));
        assert_eq!(fingerprint(["a"]), fingerprint(["a"]));
    }
}
