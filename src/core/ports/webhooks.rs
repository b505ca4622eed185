//! How a webhook goes out: one attempt at a time, whose end is data. When there is another is for
//! [`WebhookSchedule`](crate::core::domain::webhook::schedule::WebhookSchedule) to say.

use crate::core::domain::ids::WebhookEndpointId;
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::webhook::attempt::{Answer, AttemptError, ForbiddenDestination};
use crate::core::domain::webhook::{SigningKeys, WebhookId};
use std::fmt;
use std::time::Duration;

/// Sends webhooks to whoever asked for them.
#[async_trait::async_trait]
pub trait WebhookSender: Send + Sync + fmt::Debug {
    /// One attempt. It ends within the sender's own time limit, and never by an error of this process: whatever
    /// happens is the attempt's result.
    async fn send(&self, webhook: &Webhook<'_>) -> Attempt;

    /// Whether a webhook may ever go there. What its name resolves to is judged at each attempt.
    ///
    /// # Errors
    /// Why not.
    fn check(&self, url: &str) -> Result<(), ForbiddenDestination>;

    /// The keys as a shop is shown them.
    fn shown(&self, keys: &SigningKeys) -> ShownKeys;
}

/// Keys, written as Standard Webhooks writes them.
#[derive(Clone, PartialEq, Eq)]
pub struct ShownKeys {
    /// `whsec_…`: shown once.
    pub secret: String,
    /// `whpk_…`: no secret.
    pub public_key: String,
}

impl fmt::Debug for ShownKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShownKeys([REDACTED])")
    }
}

/// A webhook as it goes out.
#[derive(Debug, Clone, Copy)]
pub struct Webhook<'a> {
    /// Whose guards it passes.
    pub endpoint: WebhookEndpointId,
    /// Where it goes.
    pub url: &'a str,
    /// The same at each attempt: what a receiver tells repetitions by.
    pub id: &'a WebhookId,
    /// The moment of this attempt: receivers refuse what is older than some minutes.
    pub at: Timestamp,
    /// JSON; signed and sent byte for byte.
    pub body: &'a str,
    /// The newest first. While one generation replaces another, both sign.
    pub keys: &'a [SigningKeys],
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The answer, or why there is none.
    pub result: Result<Answer, AttemptError>,
    /// How long it took.
    pub took: Duration,
    /// The beginning of the answer's body, for whoever has to find out why it was refused.
    pub excerpt: String,
}
