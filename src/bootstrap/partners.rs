//! The partners' adapters, each from its own settings, with the guards that operators see.

use super::guarded::GuardedSystem;
use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::adapters::observe::metrics::Metrics;
use crate::adapters::observe::systems::SystemControl;
use crate::adapters::outbound::catalog::CatalogAdapter;
use crate::adapters::outbound::odnakassa::OdnaKassaAdapter;
use crate::adapters::outbound::process::WallClock;
use crate::adapters::outbound::recommendations::RecommendationsAdapter;
use crate::adapters::outbound::sber::SberAdapter;
use crate::adapters::resilience::breaker::Breaker;
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::observer::Observer;
use crate::adapters::resilience::semaphore::Semaphore;
use crate::config::Config;
use crate::core::domain::provider::Provider;
use crate::core::ports::catalog::CatalogPort;
use crate::core::ports::payment::PaymentPort;
use crate::core::ports::recommendations::RecommendationsPort;
use std::sync::Arc;

pub struct Partners {
    /// In the order of preference.
    pub payments: Vec<Arc<dyn PaymentPort>>,
    pub catalog: Arc<dyn CatalogPort>,
    pub recommendations: Arc<dyn RecommendationsPort>,
    pub controls: Vec<Arc<dyn SystemControl>>,
}

impl Partners {
    /// # Errors
    /// Guards that cannot be, or a client without TLS roots.
    pub fn connect(config: &Config, metrics: &Arc<Metrics>) -> anyhow::Result<Self> {
        let clock = MonotonicClock::coarse;
        let observer = || Arc::clone(metrics) as Arc<dyn Observer>;
        let events = || Arc::clone(metrics) as Arc<dyn AdapterEvents>;
        let sber = SberAdapter::new(config.sber.clone(), clock(), observer(), events())?;
        let odnakassa =
            OdnaKassaAdapter::new(config.odnakassa.clone(), clock(), observer(), events())?;
        let catalog = CatalogAdapter::new(
            config.catalog.clone(),
            clock(),
            Arc::new(WallClock),
            observer(),
            events(),
        )?;
        let recommendations = RecommendationsAdapter::new(
            config.recommendations.clone(),
            clock(),
            observer(),
            events(),
        )?;
        declare_servers(config, metrics);
        let guarded = |breaker, semaphore| guard(config, metrics, breaker, semaphore);
        let controls = vec![
            guarded(sber.breaker(), sber.semaphore()),
            guarded(odnakassa.breaker(), odnakassa.semaphore()),
            guarded(catalog.breaker(), catalog.semaphore()),
            guarded(recommendations.breaker(), recommendations.semaphore()),
        ];
        // A provider that is no longer preferred still answers for its old registrations.
        let mut payments: Vec<Arc<dyn PaymentPort>> = vec![Arc::new(sber), Arc::new(odnakassa)];
        let preferred = &config.payment.providers;
        let rank = |provider: Provider| preferred.iter().position(|p| *p == provider);
        payments.sort_by_key(|port| rank(port.provider()).unwrap_or(usize::MAX));
        let (catalog, recommendations) = (Arc::new(catalog), Arc::new(recommendations));
        Ok(Self { payments, catalog, recommendations, controls })
    }
}

/// By what methods each partner is asked: the series of its durations are there from the start.
fn declare_servers(config: &Config, metrics: &Metrics) {
    for (base_url, methods) in [
        (&config.sber.base_url, &["POST"][..]),
        (&config.odnakassa.base_url, &["GET", "POST"]),
        (&config.catalog.base_url, &["GET"]),
        (&config.recommendations.base_url, &["GET"]),
    ] {
        metrics.declare_server(base_url.host_str().unwrap_or_default(), methods);
    }
}

fn guard(
    config: &Config,
    metrics: &Metrics,
    breaker: &Arc<Breaker>,
    semaphore: &Arc<Semaphore>,
) -> Arc<dyn SystemControl> {
    metrics.watch(Arc::clone(breaker), Arc::clone(semaphore));
    let prefix = format!("{}_", breaker.system().as_str().to_uppercase());
    let own = |(name, value): &(String, String)| {
        Some((name.strip_prefix(&prefix)?.to_owned(), value.clone()))
    };
    Arc::new(GuardedSystem {
        breaker: Arc::clone(breaker),
        semaphore: Arc::clone(semaphore),
        settings: config.effective().iter().filter_map(own).collect(),
    })
}
