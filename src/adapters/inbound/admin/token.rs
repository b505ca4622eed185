//! The operators' tokens, each with the name that its deeds carry.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::problem::Problem;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The operator of `ADMIN_TOKEN`, and of a listener that asks for none.
const OPERATOR: &str = "operator";

/// The digest of a token: comparing digests tells neither its content nor its length by time.
struct TokenDigest([u8; 32]);

impl TokenDigest {
    fn new(token: &SecretString) -> Self {
        Self(Sha256::digest(token.expose_secret()).into())
    }

    fn matches(&self, offered: &str) -> bool {
        Sha256::digest(offered).as_slice().ct_eq(&self.0).into()
    }
}

/// Who may operate, by the names that their deeds carry.
pub struct Operators(Vec<(String, TokenDigest)>);

impl fmt::Debug for Operators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Operators {
    pub fn new(tokens: &[(String, SecretString)]) -> Self {
        let digest =
            |(name, token): &(String, SecretString)| (name.clone(), TokenDigest::new(token));
        Self(tokens.iter().map(digest).collect())
    }

    /// All are compared, so that the time tells nothing of which was near.
    fn find(&self, offered: &str) -> Option<&str> {
        let matching = self.0.iter().filter(|(_, token)| token.matches(offered));
        matching.fold(None, |_, (name, _)| Some(name.as_str()))
    }
}

/// Whose deed it is.
#[derive(Debug, Clone)]
pub struct OperatorName(pub String);

impl<S: Sync> FromRequestParts<S> for OperatorName {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let known = parts.extensions.get::<Self>().cloned();
        Ok(known.unwrap_or_else(|| Self(OPERATOR.to_owned())))
    }
}

pub async fn require_token(
    State(operators): State<Arc<Operators>>,
    mut request: Request,
    next: Next,
) -> Response {
    let name = bearer(request.headers()).and_then(|offered| operators.find(offered));
    let Some(name) = name.map(str::to_owned) else {
        return Problem::new(Code::Unauthenticated).into_response();
    };
    request.extensions_mut().insert(OperatorName(name));
    next.run(request).await
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let expected = TokenDigest::new(&"s3cret".into());
        assert!(expected.matches("s3cret"));
        for wrong in ["", "s3cre", "s3cret ", "S3cret", "s3crets"] {
            assert!(!expected.matches(wrong), "{wrong}");
        }
    }

    #[test]
    fn each_token_has_its_own_name() {
        let token = |name: &str, secret: &str| (name.to_owned(), secret.to_owned().into());
        let operators = Operators::new(&[token("anna", "one"), token("boris", "two")]);
        assert_eq!(operators.find("one"), Some("anna"));
        assert_eq!(operators.find("two"), Some("boris"));
        assert_eq!(operators.find("three"), None);
    }

    #[test]
    fn the_scheme_is_read_in_any_case() {
        let token = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(token("bearer abc").as_deref(), Some("abc"));
        assert_eq!(token("Basic abc"), None);
        assert_eq!(token("abc"), None);
    }
}
