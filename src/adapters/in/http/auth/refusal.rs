//! Why somebody is not let in: a word for our log, and what the client is told.

use crate::adapters::r#in::http::code::Code;
use crate::adapters::r#in::http::problem::Problem;

/// RFC 6750: a token that does not count, and one that does and allows too little.
const INVALID: &str = r#"Bearer error="invalid_token""#;
const INSUFFICIENT: &str = r#"Bearer error="insufficient_scope", scope="orders""#;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    NoToken,
    Unreadable,
    /// No key that is known here, or not its signature.
    Signature,
    Expired,
    NotYet,
    Issuer,
    Audience,
    Subject,
    /// The token counts, but not for this.
    Scope,
}

impl Refusal {
    const fn word(self) -> &'static str {
        match self {
            Self::NoToken => "no token",
            Self::Unreadable => "unreadable",
            Self::Signature => "no known key signed it",
            Self::Expired => "expired",
            Self::NotYet => "not valid yet",
            Self::Issuer => "another issuer",
            Self::Audience => "for another audience",
            Self::Subject => "no usable subject",
            Self::Scope => "no scope of ours, or a subject that is no customer",
        }
    }
}

/// The client learns that the token does not count, and not why: whoever holds a forged one would
/// learn the most.
impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        tracing::debug!(target: "auth", reason = refusal.word(), "a caller is refused");
        match refusal {
            Refusal::NoToken => Self::new(Code::Unauthenticated),
            Refusal::Scope => Self::new(Code::Forbidden).with_challenge(INSUFFICIENT),
            Refusal::Unreadable
            | Refusal::Signature
            | Refusal::Expired
            | Refusal::NotYet
            | Refusal::Issuer
            | Refusal::Audience
            | Refusal::Subject => Self::new(Code::Unauthenticated).with_challenge(INVALID),
        }
    }
}
