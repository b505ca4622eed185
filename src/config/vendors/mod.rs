//! The systems outside: the knobs that all have, and what each has of its own. A payment system's own
//! stands in a file of its name, which registers here.

mod odnakassa;
mod sber;

use super::environment::Environment;
use super::rows::{self, Row};
use super::system::{self, HealthConfig, Outward, SystemParts};
use super::vars::{CatalogVars, EmptyOn, RecommendationsVars};
use crate::adapters::outbound::catalog::{CacheConfig, CatalogConfig};
use crate::adapters::outbound::odnakassa::OdnaKassaConfig;
use crate::adapters::outbound::recommendations::RecommendationsConfig;
use crate::adapters::outbound::remote_cache::{CacheUrl, RemoteCacheConfig};
use crate::adapters::outbound::sber::SberConfig;
use crate::core::domain::provider::{Preference, Provider};
use crate::core::domain::unavailable::System;
use std::time::Duration;

/// A payment system that is to be connected.
#[derive(Debug, Clone)]
pub struct PaymentSystem {
    pub provider: Provider,
    pub vendor: PaymentVendor,
    pub health: HealthConfig,
    /// `…_CALL_TIMEOUT`.
    pub call_timeout: Duration,
}

/// What each vendor's adapter is made of.
#[derive(Debug, Clone)]
pub enum PaymentVendor {
    Sber(SberConfig),
    OdnaKassa(OdnaKassaConfig),
}

/// How a payment system is configured.
struct Vendor {
    /// Where it differs from the column of the payment systems.
    defaults: &'static [(&'static str, &'static str)],
    /// The variables that only it has.
    rows: &'static [Row],
    read: fn(&mut Environment, &mut SystemParts) -> PaymentVendor,
}

const fn vendor(provider: Provider) -> Vendor {
    match provider {
        Provider::Sber => Vendor {
            defaults: sber::DEFAULTS,
            rows: sber::ROWS,
            read: |env, parts| PaymentVendor::Sber(sber::read(env, parts)),
        },
        Provider::OdnaKassa => Vendor {
            defaults: odnakassa::DEFAULTS,
            rows: odnakassa::ROWS,
            read: |env, parts| PaymentVendor::OdnaKassa(odnakassa::read(env, parts)),
        },
    }
}

/// The payment systems that are in use, and those whose settings are given although they are not: they
/// still answer for their old registrations. Of any other nothing is asked, so that a version which
/// knows one more starts with the settings of the version before it.
pub(super) fn payments(
    env: &mut Environment,
    preference: &Preference,
    outward: Outward<'_>,
) -> Vec<PaymentSystem> {
    let read = |provider| payment(env, provider, preference.contains(provider), outward);
    Provider::ALL.into_iter().filter_map(read).collect()
}

fn payment(
    env: &mut Environment,
    provider: Provider,
    in_use: bool,
    outward: Outward<'_>,
) -> Option<PaymentSystem> {
    let Vendor { defaults, rows, read } = vendor(provider);
    let (system, prefix) = (System::Payment(provider), rows::prefix(provider.into()));
    let known = [&rows::of_system(system, defaults), rows].concat();
    let given = env.first_given(&prefix, &known);
    let why = match (in_use, given) {
        (true, _) => format!("PAYMENT_PROVIDERS names {provider}"),
        (false, Some(name)) => format!("{name} is set"),
        (false, None) => {
            env.leave_out(&prefix, &known);
            return None;
        }
    };
    env.reading_because(&why, |env| {
        let mut parts = system::read(env, system, defaults, outward);
        let vendor = read(env, &mut parts);
        let (health, call_timeout) = (parts.health, parts.guards.timeouts.call);
        Some(PaymentSystem { provider, vendor, health, call_timeout })
    })
}

/// With the age up to which a cached price may serve an order.
pub(super) fn catalog(
    env: &mut Environment,
    outward: Outward<'_>,
    shared: Option<CacheUrl>,
) -> (CatalogConfig, Duration, HealthConfig) {
    let system = system::read(env, System::Catalog, &[], outward);
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
        transport: system.transport,
        cache: CacheConfig {
            capacity: u64::from(vars.cache_capacity.0),
            ttl: vars.cache_ttl.0,
            max_stale: vars.max_stale.0,
        },
        shared: shared.map(RemoteCacheConfig::new),
        stale_after: vars.stale_after.0,
    };
    (config, vars.max_price_age.0, system.health)
}

pub(super) fn recommendations(
    env: &mut Environment,
    outward: Outward<'_>,
) -> (RecommendationsConfig, EmptyOn, HealthConfig) {
    let system = system::read(env, System::Recommendations, &[], outward);
    let vars: RecommendationsVars = env.group("RECOMMENDATIONS_", rows::RECOMMENDATIONS);
    let SystemParts { base_url, guards, transport, health } = system;
    let config = RecommendationsConfig { base_url, guards, transport };
    (config, vars.empty_on.0, health)
}
