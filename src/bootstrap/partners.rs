//! The partners' adapters, each from its own settings, with the guards that operators see.

use super::guarded::GuardedSystem;
use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::adapters::observe::metrics::Metrics;
use crate::adapters::observe::systems::SystemControl;
use crate::adapters::outbound::catalog::CatalogAdapter;
use crate::adapters::outbound::http_client::BuildError;
use crate::adapters::outbound::odnakassa::OdnaKassaAdapter;
use crate::adapters::outbound::process::WallClock;
use crate::adapters::outbound::recommendations::RecommendationsAdapter;
use crate::adapters::outbound::sber::SberAdapter;
use crate::adapters::resilience::breaker::Breaker;
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::observer::Observer;
use crate::adapters::resilience::semaphore::Semaphore;
use crate::config::{self, Config, HealthConfig, PaymentSystem, PaymentVendor};
use crate::core::domain::provider::Provider;
use crate::core::domain::unavailable::System;
use crate::core::ports::catalog::CatalogPort;
use crate::core::ports::payment::PaymentPort;
use crate::core::ports::recommendations::RecommendationsPort;
use std::sync::Arc;

pub struct Partners {
    /// In the order of preference; those that are not preferred any more come last.
    pub payments: Vec<Arc<dyn PaymentPort>>,
    pub catalog: Arc<dyn CatalogPort>,
    pub recommendations: Arc<dyn RecommendationsPort>,
    pub controls: Vec<Arc<dyn SystemControl>>,
    /// For the sandbox: what is remembered of the catalog's answers is gone.
    pub forget: Arc<dyn Fn() + Send + Sync>,
}

impl Partners {
    /// # Errors
    /// Guards that cannot be, or a client without TLS roots.
    pub fn connect(config: &Config, metrics: &Arc<Metrics>) -> anyhow::Result<Self> {
        let clock = MonotonicClock::coarse;
        let observer = || Arc::clone(metrics) as Arc<dyn Observer>;
        let events = || Arc::clone(metrics) as Arc<dyn AdapterEvents>;
        let guard =
            |health, methods, guards: Guards<'_>| guard(config, metrics, health, methods, guards);
        let (mut payments, mut controls) = (Vec::new(), Vec::new());
        for system in &config.payment_systems {
            let partner = connect_payment(&system.vendor, clock(), observer(), events())?;
            let guards = (&partner.breaker, &partner.semaphore);
            controls.push(guard(&system.health, partner.methods, guards));
            payments.push(partner.port);
        }
        let preferred = &config.payment.providers;
        payments.sort_by_key(|port| {
            let rank = preferred.iter().position(|provider| provider == port.provider());
            rank.unwrap_or(usize::MAX)
        });
        let catalog = CatalogAdapter::new(
            config.catalog.clone(),
            clock(),
            Arc::new(WallClock),
            observer(),
            events(),
        )?;
        let guards = (catalog.breaker(), catalog.semaphore());
        controls.push(guard(&config.catalog_health, &["GET"], guards));
        let recommendations = RecommendationsAdapter::new(
            config.recommendations.clone(),
            clock(),
            observer(),
            events(),
        )?;
        let guards = (recommendations.breaker(), recommendations.semaphore());
        controls.push(guard(&config.recommendations_health, &["GET"], guards));
        let (catalog, recommendations) = (Arc::new(catalog), Arc::new(recommendations));
        let remembering = Arc::clone(&catalog);
        let forget = Arc::new(move || remembering.forget());
        Ok(Self { payments, catalog, recommendations, controls, forget })
    }
}

/// Registrations stay behind when a payment system is taken out of the settings, or when an older version
/// takes over from a newer one. Nobody asks about them then: one line for each such system.
pub fn tell_of_absent(made_at: &[String], connected: &[PaymentSystem]) {
    for word in made_at {
        match Provider::parse(word) {
            Some(provider) if connected.iter().any(|system| system.provider == provider) => {}
            Some(provider) => tracing::warn!(system = %provider,
                "there are registrations at a payment system without settings: they wait for its return"),
            None => tracing::error!(
                system = word,
                "there are registrations at a payment system that this version does not know: their orders \
                 are refused and left out of lists, and their tasks wait for a newer version"
            ),
        }
    }
}

/// A payment system's adapter, and the guards inside it.
#[derive(Debug)]
pub struct PaymentPartner {
    pub port: Arc<dyn PaymentPort>,
    pub breaker: Arc<Breaker>,
    pub semaphore: Arc<Semaphore>,
    /// By what methods it is asked.
    pub methods: &'static [&'static str],
}

/// The adapter of the vendor that these settings are for.
///
/// # Errors
/// Guards that cannot be, or a client without TLS roots.
pub fn connect_payment(
    vendor: &PaymentVendor,
    clock: MonotonicClock,
    observer: Arc<dyn Observer>,
    events: Arc<dyn AdapterEvents>,
) -> Result<PaymentPartner, BuildError> {
    Ok(match vendor.clone() {
        PaymentVendor::Sber(config) => {
            let adapter = SberAdapter::new(config, clock, observer, events)?;
            let (breaker, semaphore) = (adapter.breaker().clone(), adapter.semaphore().clone());
            PaymentPartner { port: Arc::new(adapter), breaker, semaphore, methods: &["POST"] }
        }
        PaymentVendor::OdnaKassa(config) => {
            let adapter = OdnaKassaAdapter::new(config, clock, observer, events)?;
            let (breaker, semaphore) = (adapter.breaker().clone(), adapter.semaphore().clone());
            let methods = &["GET", "POST"];
            PaymentPartner { port: Arc::new(adapter), breaker, semaphore, methods }
        }
    })
}

type Guards<'a> = (&'a Arc<Breaker>, &'a Arc<Semaphore>);

/// Shows a system's guards to whoever watches. The series of its calls' durations are there from the
/// start, by the methods with which it is asked.
fn guard(
    config: &Config,
    metrics: &Metrics,
    health: &HealthConfig,
    methods: &[&'static str],
    (breaker, semaphore): Guards<'_>,
) -> Arc<dyn SystemControl> {
    metrics.declare_server(health.url.host_str().unwrap_or_default(), methods);
    metrics.watch(Arc::clone(breaker), Arc::clone(semaphore));
    Arc::new(GuardedSystem {
        breaker: Arc::clone(breaker),
        semaphore: Arc::clone(semaphore),
        settings: settings(config, health.system),
    })
}

/// Named without the system's prefix.
fn settings(config: &Config, system: System) -> Vec<(String, String)> {
    let prefix = config::prefix(system);
    let own = |(name, value): &(String, String)| {
        Some((name.strip_prefix(&prefix)?.to_owned(), value.clone()))
    };
    config.effective().iter().filter_map(own).collect()
}
