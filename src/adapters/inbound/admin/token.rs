//! The operator's token.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::problem::Problem;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The digest of the token: comparing digests tells neither its content nor its length by time.
pub struct TokenDigest([u8; 32]);

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest([REDACTED])")
    }
}

impl TokenDigest {
    pub fn new(token: &SecretString) -> Self {
        Self(Sha256::digest(token.expose_secret()).into())
    }

    fn matches(&self, offered: &str) -> bool {
        Sha256::digest(offered).as_slice().ct_eq(&self.0).into()
    }
}

pub async fn require_token(
    State(expected): State<Arc<TokenDigest>>,
    request: Request,
    next: Next,
) -> Response {
    match bearer(request.headers()) {
        Some(offered) if expected.matches(offered) => next.run(request).await,
        Some(_) | None => Problem::new(Code::Unauthenticated).into_response(),
    }
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
