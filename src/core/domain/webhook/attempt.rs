//! One attempt to bring a webhook, and how it ended.

use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted};
use std::time::Duration;

/// An answer, whatever it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Of HTTP.
    pub status: u16,
    /// How long the receiver asks us to stay away.
    pub retry_after: Option<Duration>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AttemptError {
    /// Where it would go is nowhere that we call.
    #[error(transparent)]
    Forbidden(#[from] ForbiddenDestination),
    /// Nobody answered, or a guard of ours kept it back.
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
}

impl AttemptError {
    /// A stable word for metrics, logs and the list of attempts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden(why) => why.as_str(),
            Self::NoAnswer(error) => error.cause.as_str(),
        }
    }

    /// Whether a guard of ours kept it back: then it says nothing about the receiver.
    #[must_use]
    pub const fn is_shed(self) -> bool {
        match self {
            Self::NoAnswer(NoAnswer {
                cause: Cause::NotExecuted(NotExecuted::Shed(_)), ..
            }) => true,
            Self::Forbidden(_) | Self::NoAnswer(_) => false,
        }
    }
}

/// Why an address is none that webhooks are sent to. Who registers a destination chooses where this service, from
/// inside of its network, sends requests: so only public addresses, and only under TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ForbiddenDestination {
    /// Not a URL, or one of more than 2,048 bytes.
    #[error("not a URL")]
    NotAUrl,
    /// `https` only, but for hosts that are allowed by name.
    #[error("must be https")]
    NotHttps,
    /// A name and a password would be shown wherever the URL is.
    #[error("credentials do not belong in a URL")]
    Credentials,
    /// A fragment is never sent.
    #[error("must have no fragment")]
    Fragment,
    /// Private, loopback, link-local, reserved: or resolved to nothing else.
    #[error("not a public address")]
    NotPublic,
}

impl ForbiddenDestination {
    /// A stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotAUrl => "not_a_url",
            Self::NotHttps => "not_https",
            Self::Credentials => "credentials_in_url",
            Self::Fragment => "fragment_in_url",
            Self::NotPublic => "address_not_public",
        }
    }
}
