//! A key that tokens are signed with, and the one algorithm that goes with it. The algorithm comes
//! from the key and never from a token: a token may only agree.

use super::claims::Claims;
use super::refusal::Refusal;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, Header, Validation};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use std::collections::HashSet;
use std::fmt;

/// What is shorter can be factored.
const RSA_BYTES: usize = 2048 / 8;

/// How a `SubjectPublicKeyInfo` in DER begins, up to the key itself.
#[rustfmt::skip]
const P256: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08,
    0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
#[rustfmt::skip]
const P384: &[u8] = &[
    0x30, 0x76, 0x30, 0x10, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x05,
    0x2b, 0x81, 0x04, 0x00, 0x22, 0x03, 0x62, 0x00,
];
#[rustfmt::skip]
const ED25519: &[u8] = &[
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

#[derive(Clone)]
pub struct Key {
    kid: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
    /// Only the signature and the algorithm: the claims are judged by [`Claims`].
    rules: Validation,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kid, algorithm, .. } = self;
        f.debug_struct("Key")
            .field("kid", kid)
            .field("algorithm", algorithm)
            .finish_non_exhaustive()
    }
}

impl Key {
    /// HS256; `None` for an empty secret.
    #[must_use]
    pub fn from_secret(secret: &SecretString) -> Option<Self> {
        let key = DecodingKey::from_secret(secret.expose_secret().as_bytes()).ok()?;
        Self::new(None, Algorithm::HS256, key)
    }

    /// RS256, ES256, ES384 or EdDSA, as the key is; `None` for anything but a public key in PEM.
    #[must_use]
    pub fn from_pem(pem: &[u8]) -> Option<Self> {
        let info = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok()?;
        let der = info.as_ref();
        let after = |head: &[u8]| der.strip_prefix(head);
        let (algorithm, key) = if let Some(point) = after(P256) {
            (Algorithm::ES256, DecodingKey::from_ec_der(point))
        } else if let Some(point) = after(P384) {
            (Algorithm::ES384, DecodingKey::from_ec_der(point))
        } else if let Some(key) = after(ED25519) {
            (Algorithm::EdDSA, DecodingKey::from_ed_der(key))
        } else {
            // Reads the key as RSA and takes it apart, which tells whether it is one.
            let rsa = Jwk::from_decoding_key(&DecodingKey::from_rsa_der(der), None).ok()?;
            (Algorithm::RS256, DecodingKey::from_jwk(&rsa).ok()?)
        };
        Self::new(None, algorithm, key)
    }

    /// `None` for what is not meant for signatures or not known here; RFC 7517 wants such a key
    /// passed over.
    pub(super) fn from_jwk(jwk: &Jwk) -> Option<Self> {
        let common = &jwk.common;
        let signs = common.public_key_use.as_ref().is_none_or(|of| *of == PublicKeyUse::Signature);
        let verifies =
            common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify));
        if !(signs && verifies) {
            return None;
        }
        let default_algorithm = default_algorithm(&jwk.algorithm)?;
        let algorithm = match common.key_algorithm {
            Some(named) => named.to_string().parse().ok()?,
            None => default_algorithm,
        };
        // Of one curve there is one algorithm; of RSA and of secrets there are several.
        let fits = algorithm == default_algorithm
            || (algorithm.family() == default_algorithm.family()
                && default_algorithm.family() != AlgorithmFamily::Ec);
        let key = DecodingKey::from_jwk(jwk).ok()?;
        if fits { Self::new(common.key_id.clone(), algorithm, key) } else { None }
    }

    fn new(kid: Option<String>, algorithm: Algorithm, key: DecodingKey) -> Option<Self> {
        let long_enough = match (algorithm, key.kind()) {
            (_, DecodingKeyKind::RsaModulusExponent { n, .. }) => n.len() >= RSA_BYTES,
            (Algorithm::ES256, DecodingKeyKind::SecretOrDer(point)) => point.len() == 1 + 2 * 32,
            (Algorithm::ES384, DecodingKeyKind::SecretOrDer(point)) => point.len() == 1 + 2 * 48,
            (Algorithm::EdDSA, DecodingKeyKind::SecretOrDer(key)) => key.len() == 32,
            (_, DecodingKeyKind::SecretOrDer(_)) => true,
        };
        let mut rules = Validation::new(algorithm);
        rules.required_spec_claims = HashSet::new();
        rules.validate_exp = false;
        rules.validate_aud = false;
        long_enough.then_some(Self { kid, algorithm, key, rules })
    }

    /// The token's own word of who signed it, and how.
    pub(super) fn matches(&self, header: &Header) -> bool {
        self.algorithm == header.alg && (header.kid.is_none() || header.kid == self.kid)
    }

    /// What the token claims, if this key signed it.
    pub(super) fn verify(&self, token: &str) -> Result<Claims, Refusal> {
        let verified = jsonwebtoken::decode(token, &self.key, &self.rules);
        verified.map(|token| token.claims).map_err(|error| {
            let ours = [ErrorKind::InvalidSignature, ErrorKind::InvalidAlgorithm];
            if ours.contains(error.kind()) { Refusal::Signature } else { Refusal::Unreadable }
        })
    }
}

/// Of a key that does not say.
fn default_algorithm(kind: &AlgorithmParameters) -> Option<Algorithm> {
    let curve = match kind {
        AlgorithmParameters::RSA(_) => return Some(Algorithm::RS256),
        AlgorithmParameters::OctetKey(_) => return Some(Algorithm::HS256),
        AlgorithmParameters::EllipticCurve(key) => &key.curve,
        AlgorithmParameters::OctetKeyPair(key) => &key.curve,
        AlgorithmParameters::Other(_) | _ => return None,
    };
    match curve {
        EllipticCurve::P256 => Some(Algorithm::ES256),
        EllipticCurve::P384 => Some(Algorithm::ES384),
        EllipticCurve::Ed25519 => Some(Algorithm::EdDSA),
        EllipticCurve::P521 | _ => None,
    }
}
