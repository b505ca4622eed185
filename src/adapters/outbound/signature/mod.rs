//! Signatures of callbacks: HMAC, compared in constant time, and RSA by the partner's public key.

use hmac::{Hmac, KeyInit, Mac};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use webpki::aws_lc_rs::RSA_PKCS1_2048_8192_SHA512;
use webpki::{EndEntityCert, RawPublicKeyEntity};

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

/// What a partner would write: for tests of those who read it.
#[cfg(test)]
pub fn hmac_sha256_hex(secret: &str, message: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length will do");
    mac.update(message);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A partner's public key. Its certificate is a carrier here: it came by hand, so that neither its
/// issuer nor its dates say anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RsaKey(SubjectPublicKeyInfoDer<'static>);

impl RsaKey {
    /// `None` for anything but a certificate or a public key in PEM.
    #[must_use]
    pub fn from_pem(pem: &[u8]) -> Option<Self> {
        let key = match CertificateDer::from_pem_slice(pem) {
            Ok(certificate) => {
                EndEntityCert::try_from(&certificate).ok()?.subject_public_key_info()
            }
            Err(_) => SubjectPublicKeyInfoDer::from_pem_slice(pem).ok()?,
        };
        RawPublicKeyEntity::try_from(&key).ok()?;
        Some(Self(key.into_owned()))
    }

    /// Whether `signature` is the hex (of either case) of an RSA PKCS#1 v1.5 signature with SHA-512.
    #[must_use]
    pub fn matches(&self, message: &[u8], signature: &str) -> bool {
        let (Some(signature), Ok(key)) =
            (decode_hex(signature), RawPublicKeyEntity::try_from(&self.0))
        else {
            return false;
        };
        key.verify_signature(RSA_PKCS1_2048_8192_SHA512, message, &signature).is_ok()
    }
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

    #[test]
    fn an_rsa_key_comes_in_a_certificate_or_by_itself() {
        let message = b"mdOrder;6f0c1f0e-0000-4000-8000-000000000001;operation;deposited;\
            orderNumber;01JDTESTORDER0000000000001-01;status;1;";
        let signature = include_str!("signature.hex").trim_end();
        let certificate = RsaKey::from_pem(include_bytes!("certificate.pem")).unwrap();
        let key = RsaKey::from_pem(include_bytes!("public_key.pem")).unwrap();
        assert_eq!(certificate, key);
        assert!(key.matches(message, signature));
        assert!(key.matches(message, &signature.to_uppercase()));
        for bad in ["", "00", &signature[2..], &signature.replace("5c71", "5c72")] {
            assert!(!key.matches(message, bad), "{bad}");
        }
        assert!(!key.matches(b"another", signature));
        for bad in ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
            assert_eq!(RsaKey::from_pem(bad.as_bytes()), None, "{bad}");
        }
    }
}
