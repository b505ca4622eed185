//! Why somebody is not let in: a word for our log, and what the client is told.

use crate::adapters::inbound::http_kit::code::Code;
use crate::adapters::inbound::http_kit::lang::Text;
use crate::adapters::inbound::http_kit::problem::Problem;

/// RFC 6750: a token that does not count, and one that does and allows too little.
const INVALID: &str = r#"Bearer error="invalid_token""#;
const INSUFFICIENT: &str = r#"Bearer error="insufficient_scope", scope="orders""#;
const NO_WEBHOOKS: &str = r#"Bearer error="insufficient_scope", scope="webhooks""#;
const NO_REFUNDS: &str = r#"Bearer error="insufficient_scope", scope="orders:refund""#;

const NO_CUSTOMER: Text = Text::new(
    "The token's sub can be no customer's id: it is longer than 64 characters, or holds `..` and two hexadecimal digits.",
    "Значение sub токена не может быть номером покупателя: оно длиннее 64 символов или содержит `..` и две шестнадцатеричные цифры.",
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters::inbound::api) enum Refusal {
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
    /// The token counts, and its subject can be no customer's.
    NoCustomer,
    /// The token counts, but not for giving money back.
    RefundScope,
    /// The token counts, but not for webhook endpoints.
    WebhookScope,
}

impl Refusal {
    /// Tells our log why, and the client only that its token does not count: whoever holds a forged
    /// one would learn the most.
    pub(in crate::adapters::inbound::api) fn into_problem(self) -> Problem {
        tracing::debug!(target: "auth", reason = self.as_str(), "a caller is refused");
        match self {
            Self::NoToken => Problem::new(Code::Unauthenticated),
            Self::Scope => Problem::new(Code::Forbidden).with_challenge(INSUFFICIENT),
            Self::RefundScope => Problem::new(Code::Forbidden).with_challenge(NO_REFUNDS),
            Self::WebhookScope => Problem::new(Code::Forbidden).with_challenge(NO_WEBHOOKS),
            Self::NoCustomer => Problem::new(Code::Forbidden).with_detail(NO_CUSTOMER),
            Self::Unreadable
            | Self::Signature
            | Self::Expired
            | Self::NotYet
            | Self::Issuer
            | Self::Audience
            | Self::Subject => Problem::new(Code::Unauthenticated).with_challenge(INVALID),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::NoToken => "no token",
            Self::Unreadable => "unreadable",
            Self::Signature => "no known key signed it",
            Self::Expired => "expired",
            Self::NotYet => "not valid yet",
            Self::Issuer => "another issuer",
            Self::Audience => "for another audience",
            Self::Subject => "no usable subject",
            Self::RefundScope => "no scope for refunds",
            Self::WebhookScope => "no scope for webhook endpoints",
            Self::NoCustomer => "a subject that can be no customer",
            Self::Scope => "no scope of ours",
        }
    }
}
