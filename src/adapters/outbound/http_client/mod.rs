//! HTTP as every vendor's adapter needs it: a client with limits on everything, and exchanges whose
//! failures are told in the core's words. Knows TCP, TLS and HTTP, and no vendor.

mod build;
mod destination;
mod exchange;
mod public;
#[cfg(test)]
mod public_tests;
mod resolver;
mod retry_after;
#[cfg(test)]
mod tests;
mod transport;

use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::adapters::resilience::guards::GuardConfig;
use build::USER_AGENT;
use reqwest::Certificate;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use build::BuildError;
pub use destination::{Destination, DestinationRules, is_public};
pub use exchange::{MAX_BODY_BYTES, PartnerClient, PartnerReply};
pub use public::{EXCERPT_BYTES, PublicClient, PublicReply, build_public};
pub use reqwest::Url;
pub use transport::{ProxyUrl, Transport};

const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// What a partner's client is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// Where the partner lives, with its path; ends in a slash (see [`base_url`]).
    pub base_url: Url,
    pub connect_timeout: Duration,
    /// The longest silence while reading.
    pub read_timeout: Duration,
    /// Of the adapter's semaphore: the pool keeps a quarter more.
    pub max_concurrent: u32,
    pub transport: Transport,
}

impl HttpConfig {
    /// For a partner behind these guards.
    #[must_use]
    pub fn behind(guards: &GuardConfig, base_url: Url, transport: Transport) -> Self {
        Self {
            base_url,
            connect_timeout: guards.timeouts.connect,
            read_timeout: guards.timeouts.read,
            max_concurrent: guards.bulkhead.max_concurrent,
            transport,
        }
    }
}

/// Reads a base URL as people write it, with or without the slash at its end.
///
/// # Errors
/// What is wrong with it, for the one message about the configuration.
pub fn base_url(text: &str) -> Result<Url, &'static str> {
    let mut url = Url::parse(text).map_err(|_| "not a URL")?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("not an http or https URL");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("credentials do not belong in a URL");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("a base URL has neither query nor fragment");
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// Builds the client of one partner; `events` hears of each exchange.
///
/// HTTP/1.1 only: a call has its connection, so one that breaks takes no other call with it, and
/// the pool's bound means something. No redirects (one could turn a POST into a GET, and an answer
/// from elsewhere is not the partner's), no retries by the library (the adapter alone knows what may
/// be repeated). The connection pool may still move a request that was never begun on a dead pooled
/// connection to a fresh one: not a byte of it had been written.
///
/// # Errors
/// The CA file, or no usable TLS roots on this system.
pub fn build(
    config: &HttpConfig,
    events: Arc<dyn AdapterEvents>,
) -> Result<PartnerClient, BuildError> {
    let pool = config.max_concurrent.saturating_mul(5).div_ceil(4);
    let mut builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(config.connect_timeout)
        .read_timeout(config.read_timeout)
        .pool_max_idle_per_host(usize::try_from(pool).unwrap_or(usize::MAX))
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .no_proxy();
    if let Some(proxy) = &config.transport.proxy {
        builder = builder.proxy(proxy.proxy().map_err(BuildError::Client)?);
    }
    if let Some(path) = &config.transport.ca_file {
        builder = builder.tls_certs_merge(certificates(path)?);
    } else if config.base_url.scheme() == "http" && config.transport.proxy.is_none() {
        // Without redirects no TLS will ever be spoken: a system without roots is fine.
        builder = builder.tls_certs_only([]);
    }
    let inner = builder.build().map_err(BuildError::Client)?;
    Ok(PartnerClient::new(inner, config.base_url.host_str().unwrap_or_default(), events))
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, BuildError> {
    let pem = std::fs::read(path)
        .map_err(|source| BuildError::CaFile { path: path.to_owned(), source })?;
    match Certificate::from_pem_bundle(&pem) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) | Err(_) => Err(BuildError::NoCertificate { path: path.to_owned() }),
    }
}
