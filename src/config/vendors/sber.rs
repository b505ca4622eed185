//! Sber's settings.

use crate::adapters::outbound::sber::{CallbackKey, Credentials, Protocol, SberConfig};
use crate::adapters::outbound::signature::RsaKey;
use crate::config::environment::Environment;
use crate::config::rows::{Row, row, secret, unset};
use crate::config::system::SystemParts;
use crate::config::words::{Choice, OneOf, Secrets};
use secrecy::SecretString;
use serde::Deserialize;
use std::path::{Path, PathBuf};

pub(super) const DEFAULTS: &[(&str, &str)] = &[
    ("CONNECT_TIMEOUT", "2s"),
    ("READ_TIMEOUT", "10s"),
    ("CALL_TIMEOUT", "15s"),
    ("SLOW_CALL_THRESHOLD", "5s"),
];

pub(super) const ROWS: &[Row] = &[
    row("PROTOCOL", "classic"),
    unset("USERNAME"),
    secret("PASSWORD"),
    secret("TOKEN"),
    secret("CALLBACK_SECRET"),
    unset("CALLBACK_PUBLIC_KEY_FILE"),
    unset("CA_FILE"),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vars {
    protocol: OneOf<Protocol>,
    username: Option<String>,
    password: Option<SecretString>,
    token: Option<SecretString>,
    callback_secret: Option<Secrets>,
    callback_public_key_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
}

impl Choice for Protocol {
    const WORDS: &'static [(&'static str, Self)] =
        &[("classic", Self::Classic), ("json", Self::Json)];
}

pub(super) fn read(env: &mut Environment, system: &mut SystemParts) -> SberConfig {
    let vars: Vars = env.group("SBER_", ROWS);
    let protocol = vars.protocol.0;
    if protocol == Protocol::Json && vars.token.is_some() {
        env.refuse("SBER_TOKEN", "no token: the json protocol knows only name and password");
    }
    if vars.ca_file.as_ref().is_some_and(|file| !file.is_file()) {
        env.refuse("SBER_CA_FILE", "a file with PEM certificates");
    }
    let callback_key =
        callback_key(env, vars.callback_secret, vars.callback_public_key_file.as_deref());
    if callback_key.is_none() && protocol == Protocol::Classic {
        env.warn("SBER_CALLBACK_SECRET", "the bank's secret: without it callbacks prove nothing");
    }
    system.transport.ca_file = vars.ca_file;
    system.health.transport = system.transport.clone();
    SberConfig {
        base_url: system.base_url.clone(),
        protocol,
        credentials: credentials(env, vars.username, vars.password, vars.token),
        callback_key,
        transport: system.transport.clone(),
        guards: system.guards.clone(),
    }
}

/// The bank signs callbacks in one way or the other.
fn callback_key(
    env: &mut Environment,
    secrets: Option<Secrets>,
    file: Option<&Path>,
) -> Option<CallbackKey> {
    const NAME: &str = "SBER_CALLBACK_PUBLIC_KEY_FILE";
    let Some(file) = file else { return secrets.map(|secrets| CallbackKey::Secrets(secrets.0)) };
    if secrets.is_some() {
        env.refuse(NAME, "no key beside SBER_CALLBACK_SECRET");
    }
    let key = std::fs::read(file).ok().and_then(|pem| RsaKey::from_pem(&pem));
    if key.is_none() {
        env.refuse(NAME, "a file with the bank's certificate or public key, in PEM");
    }
    key.map(CallbackKey::Public)
}

/// A name with a password, or a token: never both, never a part. An own token takes the place of the
/// name and password that a simulated bank lends.
fn credentials(
    env: &mut Environment,
    username: Option<String>,
    password: Option<SecretString>,
    token: Option<SecretString>,
) -> Credentials {
    let own = |name: &str| token.is_none() || !env.is_lent(name);
    let username = username.filter(|_| own("SBER_USERNAME"));
    let password = password.filter(|_| own("SBER_PASSWORD"));
    match (&username, &password, &token) {
        (None, None, Some(_)) | (Some(_), Some(_), None) => {}
        (None, None, None) => {
            env.refuse("SBER_USERNAME", "a name, with SBER_PASSWORD; or SBER_TOKEN instead");
        }
        (_, _, Some(_)) => {
            env.refuse("SBER_TOKEN", "no token beside SBER_USERNAME and SBER_PASSWORD");
        }
        (None, Some(_), None) => env.refuse("SBER_USERNAME", "the name to SBER_PASSWORD"),
        (Some(_), None, None) => env.refuse("SBER_PASSWORD", "the password to SBER_USERNAME"),
    }
    token.map(Credentials::Token).unwrap_or_else(|| Credentials::Login {
        username: username.unwrap_or_default(),
        password: password.unwrap_or_default(),
    })
}
