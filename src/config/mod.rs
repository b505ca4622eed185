//! The configuration: read from the environment once, checked as a whole, and handed on as the
//! structs that each part is built from. No other code of ours reads the environment, but for the
//! failpoints of debug builds; the exporter of spans reads the standard `OTEL_` names by itself.
//!
//! `rows` is the table of all variables with their defaults, `vars` has their types, and
//! `environment` collects whatever is wrong into one message.

mod durations;
mod rows;
mod vars;
mod words;

mod environment;
mod problem;
mod secret;
mod typos;

mod auth;
mod payment;
mod service;
mod system;
mod vendors;

pub use payment::{ReturnUrls, WorkerConfig};
pub use problem::{Problem, Problems};
pub use rows::prefix;
pub use service::{DatabaseConfig, LimitsConfig, ServiceConfig, ShutdownConfig, TelemetryConfig};
pub use system::HealthConfig;
pub use vars::{EmptyOn, LogFormat, ReadinessExternal};
pub use vendors::{PaymentSystem, PaymentVendor};

use crate::adapters::outbound::catalog::CatalogConfig;
use crate::adapters::outbound::recommendations::RecommendationsConfig;
use crate::core::payment::policy::PaymentPolicy;
use environment::Environment;
use std::ffi::OsString;
use std::time::Duration;

/// One variable of this process, for what must be known before there is a configuration.
#[must_use]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Everything that can be set, valid as a whole.
#[derive(Debug, Clone)]
pub struct Config {
    pub service: ServiceConfig,
    /// Those that are in use, and those that still answer for old registrations.
    pub payment_systems: Vec<PaymentSystem>,
    pub catalog: CatalogConfig,
    pub catalog_health: HealthConfig,
    /// `CATALOG_MAX_PRICE_AGE`: an older price serves no order.
    pub max_price_age: Duration,
    pub recommendations: RecommendationsConfig,
    pub recommendations_health: HealthConfig,
    pub recommendations_empty_on: EmptyOn,
    pub payment: PaymentPolicy,
    pub return_urls: ReturnUrls,
    pub worker: WorkerConfig,
    effective: Vec<(String, String)>,
}

impl Config {
    /// The configuration of this process, with what might better be changed.
    ///
    /// # Errors
    /// Every variable that is missing or wrong.
    pub fn from_env() -> Result<(Self, Vec<Problem>), Problems> {
        Self::read(std::env::vars_os())
    }

    /// The same out of given variables.
    ///
    /// # Errors
    /// Every variable that is missing or wrong.
    pub fn read(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(Self, Vec<Problem>), Problems> {
        Self::assemble(Environment::new(variables, []), false)
    }

    /// The sandbox's, in this process.
    ///
    /// # Errors
    /// Every variable that is wrong.
    pub fn sandbox_from_env(
        partners: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(Self, Vec<Problem>), Problems> {
        Self::sandbox(std::env::vars_os(), partners)
    }

    /// For the sandbox: `partners` are the variables that lead to the simulated partners (base URLs
    /// and credentials), and the payer may be sent back to this machine. The environment still wins.
    ///
    /// # Errors
    /// Every variable that is wrong.
    pub fn sandbox(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        partners: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(Self, Vec<Problem>), Problems> {
        let variables: Vec<_> = variables.into_iter().collect();
        let given = |name: &str| variables.iter().find(|(n, value)| n == name && !value.is_empty());
        let port = given("HTTP_ADDR").and_then(|(_, address)| address.to_str()?.rsplit(':').next());
        let return_url = format!("http://localhost:{}/docs", port.unwrap_or("8080"));
        let fallback = [("PAYMENT_RETURN_URL".to_owned(), return_url)].into_iter().chain(partners);
        Self::assemble(Environment::new(variables, fallback).in_sandbox(), true)
    }

    fn assemble(mut env: Environment, sandbox: bool) -> Result<(Self, Vec<Problem>), Problems> {
        let service = service::read(&mut env, sandbox);
        let instance = service.instance_id.clone();
        let proxy = service.outbound_proxy.clone();
        let outward = system::Outward { instance_id: instance.as_str(), proxy: proxy.as_ref() };
        let payment = payment::read(&mut env);
        let payment_systems = vendors::payments(&mut env, &payment.providers.0, outward);
        let (catalog, max_price_age, catalog_health) =
            vendors::catalog(&mut env, outward, service.cache_url.clone());
        let (recommendations, recommendations_empty_on, recommendations_health) =
            vendors::recommendations(&mut env, outward);
        let around = payment::Surroundings {
            instance,
            request_timeout: service.limits.request_timeout,
            calls: payment_systems.iter().map(|p| (p.provider, p.call_timeout)).collect(),
            sandbox,
        };
        let (payment, return_urls, worker) = payment::assemble(&mut env, payment, around);
        let (effective, warnings) = env.finish()?;
        let config = Self {
            service,
            payment_systems,
            catalog,
            catalog_health,
            max_price_age,
            recommendations,
            recommendations_health,
            recommendations_empty_on,
            payment,
            return_urls,
            worker,
            effective,
        };
        Ok((config, warnings))
    }

    /// How each system outside is asked whether it lives.
    pub fn health(&self) -> impl Iterator<Item = &HealthConfig> {
        let payments = self.payment_systems.iter().map(|system| &system.health);
        payments.chain([&self.catalog_health, &self.recommendations_health])
    }

    /// Every variable with the value in force, secrets masked.
    #[must_use]
    pub fn effective(&self) -> &[(String, String)] {
        &self.effective
    }
}
