//! The four systems outside: the knobs that all have, and what each has of its own.

use super::environment::Environment;
use super::rows;
use super::system::{self, SystemConfig};
use super::vars::{
    CatalogVars, EmptyOn, OdnaKassaVars, RecommendationsVars, SberProtocol, SberVars,
};
use crate::core::ports::unavailable::System;
use secrecy::SecretString;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct SberSettings {
    pub system: SystemConfig,
    pub protocol: SberProtocol,
    pub credentials: SberCredentials,
    pub callback_secret: Option<SecretString>,
}

#[derive(Debug, Clone)]
pub enum SberCredentials {
    Password { username: String, password: SecretString },
    Token(SecretString),
}

#[derive(Debug, Clone)]
pub struct OdnaKassaSettings {
    pub system: SystemConfig,
    pub api_key: SecretString,
    pub webhook_secret: Option<SecretString>,
}

#[derive(Debug, Clone)]
pub struct CatalogSettings {
    pub system: SystemConfig,
    pub cache_capacity: u64,
    pub cache_ttl: Duration,
    pub max_stale: Duration,
    pub max_price_age: Duration,
}

#[derive(Debug, Clone)]
pub struct RecommendationsSettings {
    pub system: SystemConfig,
    pub empty_on: EmptyOn,
}

pub(super) fn sber(env: &mut Environment, instance_id: &str) -> SberSettings {
    let system = system::read(env, System::Sber, instance_id);
    let vars: SberVars = env.group("SBER_", rows::SBER);
    if vars.protocol == SberProtocol::Json && vars.token.is_some() {
        env.refuse("SBER_TOKEN", "no token: the json protocol knows only name and password");
    }
    if vars.ca_file.as_ref().is_some_and(|file| !file.is_file()) {
        env.refuse("SBER_CA_FILE", "a file with PEM certificates");
    }
    if vars.callback_secret.is_none() && vars.protocol == SberProtocol::Classic {
        env.warn(
            "SBER_CALLBACK_SECRET",
            "the bank's secret; without it its callbacks prove nothing",
        );
    }
    SberSettings {
        system: system.trusting(vars.ca_file),
        protocol: vars.protocol,
        credentials: credentials(env, vars.username, vars.password, vars.token),
        callback_secret: vars.callback_secret,
    }
}

/// A name with a password, or a token: never both, never a part.
fn credentials(
    env: &mut Environment,
    username: Option<String>,
    password: Option<SecretString>,
    token: Option<SecretString>,
) -> SberCredentials {
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
    token.map(SberCredentials::Token).unwrap_or_else(|| SberCredentials::Password {
        username: username.unwrap_or_default(),
        password: password.unwrap_or_default(),
    })
}

pub(super) fn odnakassa(env: &mut Environment, instance_id: &str) -> OdnaKassaSettings {
    let system = system::read(env, System::OdnaKassa, instance_id);
    let vars: OdnaKassaVars = env.group("ODNAKASSA_", rows::ODNAKASSA);
    if vars.webhook_secret.is_none() {
        env.warn("ODNAKASSA_WEBHOOK_SECRET", "the secret; without it every callback is refused");
    }
    OdnaKassaSettings { system, api_key: vars.api_key.0, webhook_secret: vars.webhook_secret }
}

pub(super) fn catalog(env: &mut Environment, instance_id: &str) -> CatalogSettings {
    let system = system::read(env, System::Catalog, instance_id);
    let vars: CatalogVars = env.group("CATALOG_", rows::CATALOG);
    for (name, age) in
        [("CATALOG_MAX_STALE", vars.max_stale.0), ("CATALOG_MAX_PRICE_AGE", vars.max_price_age.0)]
    {
        if age < vars.cache_ttl.0 {
            env.refuse(name, "at least CATALOG_CACHE_TTL");
        }
    }
    CatalogSettings {
        system,
        cache_capacity: u64::from(vars.cache_capacity.0),
        cache_ttl: vars.cache_ttl.0,
        max_stale: vars.max_stale.0,
        max_price_age: vars.max_price_age.0,
    }
}

pub(super) fn recommendations(env: &mut Environment, id: &str) -> RecommendationsSettings {
    let system = system::read(env, System::Recommendations, id);
    let vars: RecommendationsVars = env.group("RECOMMENDATIONS_", rows::RECOMMENDATIONS);
    RecommendationsSettings { system, empty_on: vars.empty_on }
}
