//! Who asks, and whose orders that person may see. With `AUTH_MODE=none` everybody is the same
//! anonymous caller who sees everything: such a service listens on loopback or behind a gateway.
//! With `AUTH_MODE=jwt` a bearer token says who it is; nothing of it is remembered, so a token costs
//! its signature each time and never outlives its `exp`.

mod claims;
mod key;
mod keyring;
mod refusal;

pub use claims::ExpectedClaims;
pub use key::Key;
pub use keyring::{KeyFile, KeySet, KeySource, KeysError};
pub(super) use refusal::Refusal;

use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::order_repository::Scope;
use claims::Grant;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use keyring::Keyring;

/// A token is a few claims and a signature; what is longer is not even taken apart.
const LONGEST_TOKEN_BYTES: usize = 8 * 1024;

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller {
    pub scope: Scope,
    /// Whose idempotency keys these are.
    pub owner: String,
    /// Orders, tasks and events.
    pub may_order: bool,
    pub may_refund: bool,
    /// Webhook endpoints: of the same orders as `scope`.
    pub may_be_told: bool,
}

/// `AUTH_MODE`.
#[derive(Debug)]
pub enum Auth {
    /// `none`
    Open,
    /// `jwt`
    Tokens(Tokens),
}

/// Whose tokens count, and by which keys they are known.
#[derive(Debug, Clone)]
pub struct TokensConfig {
    pub keys: KeySource,
    pub expected: ExpectedClaims,
}

#[derive(Debug)]
pub struct Tokens {
    keys: Keyring,
    expected: ExpectedClaims,
}

impl Auth {
    #[must_use]
    pub fn new(tokens: Option<TokensConfig>) -> Self {
        tokens.map_or(Self::Open, |TokensConfig { keys, expected }| {
            Self::Tokens(Tokens { keys: Keyring::new(keys), expected })
        })
    }

    /// The file that must be looked at again and again, if there is one.
    #[must_use]
    pub fn key_file(&self) -> Option<&KeyFile> {
        match self {
            Self::Tokens(Tokens { keys: Keyring::File(file), .. }) => Some(file),
            Self::Tokens(Tokens { keys: Keyring::One(_), .. }) | Self::Open => None,
        }
    }

    /// # Errors
    /// No token that counts, or one that allows nothing here.
    pub(super) fn identify(&self, headers: &HeaderMap, now: Timestamp) -> Result<Caller, Refusal> {
        match self {
            Self::Open => {
                let owner = "anonymous".to_owned();
                Ok(Caller {
                    scope: Scope::Anyone,
                    owner,
                    may_order: true,
                    may_refund: true,
                    may_be_told: true,
                })
            }
            Self::Tokens(tokens) => {
                let claims = tokens.keys.verify(bearer(headers)?)?;
                let grant = claims.grant(&tokens.expected, now)?;
                let Grant { subject, scope, may_order, may_refund, may_be_told } = grant;
                Ok(Caller { scope, owner: subject, may_order, may_refund, may_be_told })
            }
        }
    }
}

/// Of two tokens a gateway might have looked at the other one.
fn bearer(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut offered = headers.get_all(AUTHORIZATION).iter();
    let value = match (offered.next(), offered.next()) {
        (None, _) => return Err(Refusal::NoToken),
        (Some(value), None) => value.to_str().map_err(|_| Refusal::Unreadable)?,
        (Some(_), Some(_)) => return Err(Refusal::Unreadable),
    };
    let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Refusal::NoToken);
    }
    let token = token.trim();
    let fits = (1..=LONGEST_TOKEN_BYTES).contains(&token.len());
    fits.then_some(token).ok_or(Refusal::Unreadable)
}
