//! OdnaKassa's settings.

use crate::adapters::outbound::odnakassa::OdnaKassaConfig;
use crate::config::environment::Environment;
use crate::config::rows::{Row, required_secret, secret};
use crate::config::system::SystemParts;
use crate::config::words::{Secrets, Token};
use serde::Deserialize;

/// Its slowest answers are those that succeed.
pub(super) const DEFAULTS: &[(&str, &str)] = &[
    ("READ_TIMEOUT", "30s"),
    ("CALL_TIMEOUT", "36s"),
    ("SLOW_CALL_THRESHOLD", "15s"),
    ("MAX_CONCURRENT", "30"),
];

pub(super) const ROWS: &[Row] = &[required_secret("API_KEY"), secret("WEBHOOK_SECRET")];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vars {
    api_key: Token,
    webhook_secret: Option<Secrets>,
}

pub(super) fn read(env: &mut Environment, system: &mut SystemParts) -> OdnaKassaConfig {
    let vars: Vars = env.group("ODNAKASSA_", ROWS);
    if vars.webhook_secret.is_none() {
        env.warn("ODNAKASSA_WEBHOOK_SECRET", "the secret: without it callbacks prove nothing");
    }
    OdnaKassaConfig {
        base_url: system.base_url.clone(),
        api_key: vars.api_key.0,
        webhook_secrets: vars.webhook_secret.unwrap_or_default().0,
        guards: system.guards.clone(),
        transport: system.transport.clone(),
    }
}
