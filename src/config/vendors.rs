//! The four systems outside: the knobs that all have, and what each has of its own.

use super::environment::Environment;
use super::rows;
use super::system::{self, HealthConfig};
use super::vars::{CatalogVars, EmptyOn, OdnaKassaVars, RecommendationsVars, SberVars};
use crate::adapters::outbound::catalog::{CacheConfig, CatalogConfig};
use crate::adapters::outbound::odnakassa::OdnaKassaConfig;
use crate::adapters::outbound::recommendations::RecommendationsConfig;
use crate::adapters::outbound::remote_cache::{CacheUrl, RemoteCacheConfig};
use crate::adapters::outbound::sber::{CallbackKey, Credentials, Protocol, SberConfig};
use crate::adapters::outbound::signature::RsaKey;
use crate::core::domain::unavailable::System;
use secrecy::SecretString;
use std::path::Path;
use std::time::Duration;

pub(super) fn sber(env: &mut Environment, instance_id: &str) -> (SberConfig, HealthConfig) {
    let system = system::read(env, System::Sber, instance_id);
    let vars: SberVars = env.group("SBER_", rows::SBER);
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
    let config = SberConfig {
        base_url: system.base_url,
        protocol,
        credentials: credentials(env, vars.username, vars.password, vars.token),
        callback_key,
        ca_file: vars.ca_file,
        guards: system.guards,
    };
    (config, system.health)
}

/// The bank signs callbacks in one way or the other.
fn callback_key(
    env: &mut Environment,
    secret: Option<SecretString>,
    file: Option<&Path>,
) -> Option<CallbackKey> {
    const NAME: &str = "SBER_CALLBACK_PUBLIC_KEY_FILE";
    let Some(file) = file else { return secret.map(CallbackKey::Secret) };
    if secret.is_some() {
        env.refuse(NAME, "no key beside SBER_CALLBACK_SECRET");
    }
    let key = std::fs::read(file).ok().and_then(|pem| RsaKey::from_pem(&pem));
    if key.is_none() {
        env.refuse(NAME, "a file with the bank's certificate or public key, in PEM");
    }
    key.map(CallbackKey::Public)
}

/// A name with a password, or a token: never both, never a part.
fn credentials(
    env: &mut Environment,
    username: Option<String>,
    password: Option<SecretString>,
    token: Option<SecretString>,
) -> Credentials {
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

pub(super) fn odnakassa(env: &mut Environment, id: &str) -> (OdnaKassaConfig, HealthConfig) {
    let system = system::read(env, System::OdnaKassa, id);
    let vars: OdnaKassaVars = env.group("ODNAKASSA_", rows::ODNAKASSA);
    if vars.webhook_secret.is_none() {
        env.warn("ODNAKASSA_WEBHOOK_SECRET", "the secret: without it callbacks prove nothing");
    }
    let config = OdnaKassaConfig {
        base_url: system.base_url,
        api_key: vars.api_key.0,
        webhook_secrets: vars.webhook_secret.unwrap_or_default().0,
        guards: system.guards,
    };
    (config, system.health)
}

/// With the age up to which a cached price may serve an order.
pub(super) fn catalog(
    env: &mut Environment,
    id: &str,
    shared: Option<CacheUrl>,
) -> (CatalogConfig, Duration, HealthConfig) {
    let system = system::read(env, System::Catalog, id);
    let vars: CatalogVars = env.group("CATALOG_", rows::CATALOG);
    for (name, age) in
        [("CATALOG_MAX_STALE", vars.max_stale.0), ("CATALOG_MAX_PRICE_AGE", vars.max_price_age.0)]
    {
        if age < vars.cache_ttl.0 {
            env.refuse(name, "at least CATALOG_CACHE_TTL");
        }
    }
    let config = CatalogConfig {
        base_url: system.base_url,
        guards: system.guards,
        cache: CacheConfig {
            capacity: u64::from(vars.cache_capacity.0),
            ttl: vars.cache_ttl.0,
            max_stale: vars.max_stale.0,
        },
        shared: shared.map(RemoteCacheConfig::new),
    };
    (config, vars.max_price_age.0, system.health)
}

pub(super) fn recommendations(
    env: &mut Environment,
    id: &str,
) -> (RecommendationsConfig, EmptyOn, HealthConfig) {
    let system = system::read(env, System::Recommendations, id);
    let vars: RecommendationsVars = env.group("RECOMMENDATIONS_", rows::RECOMMENDATIONS);
    let config = RecommendationsConfig { base_url: system.base_url, guards: system.guards };
    (config, vars.empty_on.0, system.health)
}
