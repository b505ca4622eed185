//! Signatures after Standard Webhooks: HMAC-SHA256 by the secret that both sides know (`v1`), and Ed25519 by a key
//! of which the receiver has the public half (`v1a`). Every webhook bears both, of every generation of keys.

use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::webhook::{SigningKeys, WebhookId};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The headers of one attempt, by their names.
#[must_use]
pub fn headers(
    id: &WebhookId,
    at: Timestamp,
    body: &str,
    keys: &[SigningKeys],
) -> [(&'static str, String); 3] {
    let seconds = at.micros().div_euclid(1_000_000).to_string();
    let signed = format!("{}.{seconds}.{body}", id.as_str());
    let signatures: Vec<_> = keys.iter().flat_map(|keys| signatures(keys, &signed)).collect();
    [
        ("webhook-id", id.as_str().to_owned()),
        ("webhook-timestamp", seconds),
        ("webhook-signature", signatures.join(" ")),
    ]
}

/// The secret as a shop is shown it, once.
#[must_use]
pub fn shown_secret(keys: &SigningKeys) -> String {
    format!("whsec_{}", STANDARD.encode(keys.shared))
}

/// The public key as a shop is shown it, as often as it likes.
#[must_use]
pub fn shown_public_key(keys: &SigningKeys) -> String {
    format!("whpk_{}", STANDARD.encode(ed25519(keys).public_key()))
}

fn signatures(keys: &SigningKeys, signed: &str) -> [String; 2] {
    let mut mac = Hmac::<Sha256>::new_from_slice(&keys.shared).expect("any length will do");
    mac.update(signed.as_bytes());
    let shared = STANDARD.encode(mac.finalize().into_bytes());
    let own = STANDARD.encode(ed25519(keys).sign(signed.as_bytes()));
    [format!("v1,{shared}"), format!("v1a,{own}")]
}

fn ed25519(keys: &SigningKeys) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&keys.ed25519_seed).expect("32 bytes are a seed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};

    const BODY: &str = r#"{"type":"payment.paid","note":"заплачено"}"#;

    fn keys(seed: u128) -> SigningKeys {
        SigningKeys::new([seed, 2, seed, 4])
    }

    fn signature(keys: &[SigningKeys]) -> String {
        let id = WebhookId::parse("test_1").unwrap();
        let at = Timestamp::from_micros(1_674_087_231_999_999);
        let [id, timestamp, signature] = headers(&id, at, BODY, keys);
        assert_eq!(id, ("webhook-id", "test_1".to_owned()));
        assert_eq!(timestamp, ("webhook-timestamp", "1674087231".to_owned()));
        assert_eq!(signature.0, "webhook-signature");
        signature.1
    }

    /// The specification's own example: its secret is no 32 bytes long, so the arithmetic is checked beside it.
    #[test]
    fn the_public_half_verifies_what_the_private_one_signed() {
        let signature = signature(&[keys(1)]);
        let (_, own) = signature.split_once(" v1a,").unwrap();
        let public = shown_public_key(&keys(1));
        let public = STANDARD.decode(public.strip_prefix("whpk_").unwrap()).unwrap();
        let verifies = |signed: &str| {
            let key = UnparsedPublicKey::new(&ED25519, &public);
            key.verify(signed.as_bytes(), &STANDARD.decode(own).unwrap()).is_ok()
        };
        assert!(verifies(&format!("test_1.1674087231.{BODY}")));
        assert!(!verifies(&format!("test_1.1674087232.{BODY}")));
        assert!(!verifies(&format!("test_2.1674087231.{BODY}")));
    }

    #[test]
    fn while_keys_are_replaced_both_sign_and_the_newest_first() {
        let (new, old) = (signature(&[keys(2)]), signature(&[keys(1)]));
        assert_ne!(new, old);
        assert_eq!(signature(&[keys(2), keys(1)]), format!("{new} {old}"));
    }

    #[test]
    fn a_shown_secret_says_what_it_is() {
        let secret = shown_secret(&SigningKeys::new([0; 4]));
        assert_eq!(secret, format!("whsec_{}=", "A".repeat(43)));
    }
}
