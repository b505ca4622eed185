//! A webhook: an event that is brought to a shop's own address, signed, again and again until it is taken.

pub mod attempt;
pub mod schedule;

use crate::core::domain::ids::EventId;
use std::fmt;

/// What a receiver knows a webhook by: the same at every attempt. Without a full stop, since what is signed has full
/// stops between its parts (Standard Webhooks, "Signature scheme").
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebhookId(Box<str>);

impl WebhookId {
    /// # Errors
    /// Anything but `[A-Za-z0-9_-]{1,128}`.
    pub fn parse(text: &str) -> Result<Self, BadWebhookId> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let valid = (1..=128).contains(&text.len()) && text.bytes().all(allowed);
        if valid { Ok(Self(text.into())) } else { Err(BadWebhookId) }
    }

    /// Of an attempt that tells nothing.
    #[must_use]
    pub fn of_test(random: u128) -> Self {
        Self(format!("test_{random:032x}").into())
    }

    /// As it is written into `webhook-id`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a text cannot be the id of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 128 of A-Z a-z 0-9 _ -")]
pub struct BadWebhookId;

impl From<EventId> for WebhookId {
    fn from(event: EventId) -> Self {
        Self(event.to_string().into())
    }
}

/// What a destination's webhooks are signed with: unique to it, one generation of it. [`fmt::Debug`] does not tell it.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKeys {
    /// Of HMAC-SHA256, known to both sides (`v1`).
    pub shared: [u8; 32],
    /// The seed of an Ed25519 key: the receiver gets the public half only (`v1a`).
    pub ed25519_seed: [u8; 32],
}

impl SigningKeys {
    /// From 512 unguessable bits.
    #[must_use]
    pub fn new(bits: [u128; 4]) -> Self {
        let [a, b, c, d] = bits.map(u128::to_be_bytes);
        Self { shared: joined(a, b), ed25519_seed: joined(c, d) }
    }
}

fn joined(first: [u8; 16], second: [u8; 16]) -> [u8; 32] {
    let mut both = [0; 32];
    both[..16].copy_from_slice(&first);
    both[16..].copy_from_slice(&second);
    both
}

impl fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKeys([REDACTED])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_nothing_that_could_shift_what_is_signed() {
        assert!(WebhookId::parse("test_0190-A").is_ok());
        for bad in ["", "a.1", "a b", "a\n", "é", &"x".repeat(129)] {
            assert_eq!(WebhookId::parse(bad), Err(BadWebhookId), "{bad}");
        }
    }

    #[test]
    fn keys_keep_every_bit_and_tell_none() {
        let keys = SigningKeys::new([1, 2, 3, u128::MAX]);
        assert_eq!((keys.shared[15], keys.shared[31], keys.ed25519_seed[15]), (1, 2, 3));
        assert_eq!(keys.ed25519_seed[16..], [255; 16]);
        assert_eq!(format!("{keys:?}"), "SigningKeys([REDACTED])");
    }
}
