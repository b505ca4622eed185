//! What the adapter is told: which of the bank's two generations is spoken, as whom, and how callbacks are
//! checked.

use crate::adapters::outbound::http_client::{Transport, Url};
use crate::adapters::outbound::signature::RsaKey;
use crate::adapters::resilience::guards::GuardConfig;
use secrecy::SecretString;

/// Which generation of the gateway is spoken (`SBER_PROTOCOL`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Form-encoded requests, signed GET callbacks.
    Classic,
    /// JSON throughout, unsigned POST callbacks.
    Json,
}

/// As whom the bank is asked.
#[derive(Debug, Clone)]
pub enum Credentials {
    Login {
        username: String,
        password: SecretString,
    },
    /// Replaces the login; the JSON generation does not know it.
    Token(SecretString),
}

/// How a callback's checksum is checked.
#[derive(Debug, Clone)]
pub enum CallbackKey {
    /// HMAC-SHA256, by one of these: all that are valid while one replaces another.
    Secrets(Vec<SecretString>),
    /// RSA with SHA-512.
    Public(RsaKey),
}

/// All of it.
#[derive(Debug, Clone)]
pub struct SberConfig {
    pub base_url: Url,
    pub protocol: Protocol,
    pub credentials: Credentials,
    /// Without one a callback is an unsigned hint.
    pub callback_key: Option<CallbackKey>,
    pub transport: Transport,
    pub guards: GuardConfig,
}
