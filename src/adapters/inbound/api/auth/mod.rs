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

use crate::adapters::inbound::api::quota::ClientKey;
use crate::adapters::inbound::api::state::{App, Services};
use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::problem::Problem;
use crate::adapters::observe::traffic::ShedReason;
use crate::core::domain::ids::CustomerId;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::order_repository::Scope;
use axum::extract::{ConnectInfo, FromRequestParts};
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{Extensions, HeaderMap};
use keyring::Keyring;
use refusal::Refusal;
use std::net::SocketAddr;
use std::sync::Arc;

/// A token is a few claims and a signature; what is longer is not even taken apart.
const LONGEST_TOKEN_BYTES: usize = 8 * 1024;

/// Asked for by every handler that touches orders, so that none can forget the scope. Whoever is
/// known is also counted: a handler that runs has been paid for.
#[derive(Debug, Clone)]
pub struct Caller {
    pub scope: Scope,
    /// Whose idempotency keys these are.
    pub owner: String,
}

impl Caller {
    /// # Errors
    /// `forbidden`: an order for somebody else.
    pub fn may_order_for(&self, customer: &CustomerId) -> Result<(), Problem> {
        if self.scope.allows(customer) { Ok(()) } else { Err(Problem::new(Code::Forbidden)) }
    }
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let services = &app.services;
        match services.auth.identify(&parts.headers, services.clock.now()) {
            Ok(caller) => {
                services.spend(services.auth.client(&caller, &parts.extensions))?;
                Ok(caller)
            }
            // Nobody knows who it is, but from where: else guessing would be free.
            Err(refusal) => {
                services.spend(peer(&parts.extensions))?;
                Err(refusal.into_problem())
            }
        }
    }
}

impl Services {
    /// # Errors
    /// `rate_limited`: the client has asked too often.
    fn spend(&self, client: ClientKey<'_>) -> Result<(), Problem> {
        let Some(quotas) = &self.quotas else { return Ok(()) };
        quotas.spend(client).map_err(|wait| {
            self.traffic.shed(ShedReason::RateLimit);
            Problem::new(Code::RateLimited).retry_after(Some(wait))
        })
    }
}

fn peer(extensions: &Extensions) -> ClientKey<'static> {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(ClientKey::Unknown, |ConnectInfo(peer)| ClientKey::at(peer.ip()))
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

    fn client<'a>(&self, caller: &'a Caller, extensions: &Extensions) -> ClientKey<'a> {
        match self {
            Self::Tokens(_) => ClientKey::Subject(&caller.owner),
            Self::Open => peer(extensions),
        }
    }

    fn identify(&self, headers: &HeaderMap, now: Timestamp) -> Result<Caller, Refusal> {
        match self {
            Self::Open => Ok(Caller { scope: Scope::Anyone, owner: "anonymous".to_owned() }),
            Self::Tokens(tokens) => {
                let claims = tokens.keys.verify(bearer(headers)?)?;
                let (owner, scope) = claims.grant(&tokens.expected, now)?;
                Ok(Caller { scope, owner })
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
