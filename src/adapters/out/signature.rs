//! Signatures of callbacks, compared in constant time.

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// Whether `signature` is the hex (of either case) of HMAC-SHA256 over the parts in a row.
#[must_use]
pub fn hmac_sha256_matches(secret: &SecretString, parts: &[&[u8]], signature: &str) -> bool {
    let Some(signature) = decode_hex(signature) else {
        return false;
    };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) else {
        return false;
    };
    for part in parts {
        mac.update(part);
    }
    mac.verify_slice(&signature).is_ok()
}

/// `None` for anything but whole bytes in hex.
#[must_use]
pub fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            &[high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_whole_bytes_or_nothing() {
        assert_eq!(decode_hex("00fFa0"), Some(vec![0, 255, 160]));
        for bad in ["f", "0x", "g0", "é", "0 "] {
            assert_eq!(decode_hex(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_signature_is_right_as_a_whole_or_wrong() {
        let key = SecretString::from("whsec-test");
        let parts: [&[u8]; 2] = [b"1764500000.", br#"{"id":"evt_1","type":"payment.succeeded"}"#];
        let good = "bd9e56a40245652c71e1b6b8a0c7ef6619285e5537196b11d82890c74cbcb9a3";
        assert!(hmac_sha256_matches(&key, &parts, good));
        assert!(hmac_sha256_matches(&key, &parts, &good.to_uppercase()));
        for bad in ["", &good[..62], &good.replace("bd", "be"), &format!("{good}00")] {
            assert!(!hmac_sha256_matches(&key, &parts, bad), "{bad}");
        }
    }
}
