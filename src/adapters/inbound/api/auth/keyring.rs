//! Where the keys are: one that is fixed, or a file with a set of them that is read again while the
//! service runs, so that keys are changed without a restart.

use super::claims::Claims;
use super::key::Key;
use super::refusal::Refusal;
use jsonwebtoken::jwk::Jwk;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A set holds a few keys, not a book; a device that never ends is not read for ever.
const LARGEST_FILE_BYTES: u64 = 256 * 1024;

/// What the operator named, read and found usable.
#[derive(Debug, Clone)]
pub enum KeySource {
    One(Box<Key>),
    /// `AUTH_JWKS_FILE`.
    File(PathBuf, KeySet),
}

/// The usable keys of a JWK set (RFC 7517).
#[derive(Debug, Clone)]
pub struct KeySet(Arc<[Key]>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeysError {
    #[error("it cannot be read")]
    Unreadable,
    #[error("it is larger than 256 KiB")]
    TooLarge,
    #[error("it is no JWK set")]
    NoSet,
    #[error("it has no key for signatures: RSA of 2048 bits or more, P-256, P-384, Ed25519")]
    NoKey,
}

impl KeySource {
    /// # Errors
    /// The secret is empty.
    pub fn secret(secret: &SecretString) -> Result<Self, KeysError> {
        Key::from_secret(secret).map(|key| Self::One(Box::new(key))).ok_or(KeysError::NoKey)
    }

    /// # Errors
    /// There is no public key in PEM in the file.
    pub fn pem_file(path: &Path) -> Result<Self, KeysError> {
        let key = Key::from_pem(&bytes(path)?).ok_or(KeysError::NoKey)?;
        Ok(Self::One(Box::new(key)))
    }

    /// # Errors
    /// There is no usable key in the file.
    pub fn jwks_file(path: &Path) -> Result<Self, KeysError> {
        KeySet::parse(&bytes(path)?).map(|keys| Self::File(path.to_owned(), keys))
    }
}

impl KeySet {
    /// # Errors
    /// No key of it is usable.
    pub fn parse(json: &[u8]) -> Result<Self, KeysError> {
        #[derive(Deserialize)]
        struct Keys {
            keys: Vec<Value>,
        }
        let set: Keys = serde_json::from_slice(json).map_err(|_| KeysError::NoSet)?;
        let read = |key| serde_json::from_value::<Jwk>(key).ok();
        let usable = |jwk: Jwk| Key::from_jwk(&jwk);
        let keys: Arc<[Key]> = set.keys.into_iter().filter_map(read).filter_map(usable).collect();
        if keys.is_empty() { Err(KeysError::NoKey) } else { Ok(Self(keys)) }
    }

    fn verify(&self, token: &str) -> Result<Claims, Refusal> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Refusal::Unreadable)?;
        let mut meant = self.0.iter().filter(|key| key.matches(&header));
        // Which of two is meant is not for us to guess, and trying them all is work for strangers.
        match (meant.next(), meant.next()) {
            (Some(key), None) => key.verify(token),
            (None, _) | (Some(_), Some(_)) => Err(Refusal::Signature),
        }
    }
}

/// The keys in force.
#[derive(Debug)]
pub(super) enum Keyring {
    One(Box<Key>),
    File(KeyFile),
}

impl Keyring {
    pub(super) fn new(source: KeySource) -> Self {
        match source {
            KeySource::One(key) => Self::One(key),
            KeySource::File(path, keys) => Self::File(KeyFile {
                path,
                keys: RwLock::new(keys),
                seen: Mutex::new(Err(KeysError::NoSet)),
            }),
        }
    }

    /// What the token claims, if one of the keys signed it.
    pub(super) fn verify(&self, token: &str) -> Result<Claims, Refusal> {
        match self {
            Self::One(key) => key.verify(token),
            Self::File(file) => file.current().verify(token),
        }
    }
}

#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    /// Locked for as long as it takes to count one more reader of the set.
    keys: RwLock<KeySet>,
    /// What the file held when it was last looked at.
    seen: Mutex<Result<Vec<u8>, KeysError>>,
}

impl KeyFile {
    fn current(&self) -> KeySet {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the file and, if it holds something new that is usable, puts that in force. A file that
    /// cannot be used changes nothing: a slip of the hand must not lock everybody out. Blocks, so it
    /// is not for a thread that serves.
    ///
    /// # Errors
    /// What is new cannot be used; told once, not at every look.
    pub fn refresh(&self) -> Result<(), KeysError> {
        let read = bytes(&self.path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == read {
            return Ok(());
        }
        let parsed = read.as_deref().map_err(|error| *error).and_then(KeySet::parse);
        *seen = read;
        let (path, keys) = (self.path.display(), parsed?);
        tracing::info!(%path, keys = keys.0.len(), "keys for tokens are in force");
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(())
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, KeysError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|_| KeysError::Unreadable)?;
    let mut bounded = file.take(LARGEST_FILE_BYTES + 1);
    bounded.read_to_end(&mut bytes).map_err(|_| KeysError::Unreadable)?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= LARGEST_FILE_BYTES);
    if fits { Ok(bytes) } else { Err(KeysError::TooLarge) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
    use serde_json::json;

    #[test]
    fn the_log_tells_a_strangers_token_from_one_that_cannot_be_read() {
        let signed = |algorithm, secret: &str, claims: &Value| {
            let key = EncodingKey::from_secret(secret.as_bytes()).unwrap();
            encode(&Header { kid: Some("k".into()), ..Header::new(algorithm) }, claims, &key)
                .unwrap()
        };
        let good = json!({"sub": "c-1", "exp": 1});
        let one = Keyring::new(KeySource::secret(&"secret".into()).unwrap());
        let set =
            br#"{"keys":[{"kty":"oct","kid":"k","k":"c2VjcmV0"},{"kty":"oct","k":"b3RoZXI"}]}"#;
        let set = Keyring::new(KeySource::File("".into(), KeySet::parse(set).unwrap()));
        for keys in [one, set] {
            let open = |token: &str| keys.verify(token).map(drop);
            assert_eq!(open(&signed(Algorithm::HS256, "secret", &good)), Ok(()));
            let strangers = signed(Algorithm::HS256, "another", &good);
            assert_eq!(open(&strangers), Err(Refusal::Signature));
            let otherwise = signed(Algorithm::HS384, "secret", &good);
            assert_eq!(open(&otherwise), Err(Refusal::Signature));
            for unreadable in ["x", "a.b.c", &signed(Algorithm::HS256, "secret", &json!({}))] {
                assert_eq!(open(unreadable), Err(Refusal::Unreadable), "{unreadable}");
            }
        }
    }
}
