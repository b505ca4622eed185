//! Webhooks on their way out, after Standard Webhooks. Each destination has a breaker and a few places of its own, so
//! that one which is dead or slow costs the others nothing.

mod in_flight;
pub mod signing;

use crate::adapters::outbound::http_client::{
    BuildError, Destination, DestinationRules, PublicClient, build_public,
};
use crate::adapters::resilience::breaker::{BreakerConfig, Keyed, SlowAs, WindowKind};
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::observer::Silent;
use crate::adapters::resilience::verdict::Verdict;
use crate::core::domain::ids::WebhookEndpointId;
use crate::core::domain::unavailable::{NoAnswer, System, Unknown};
use crate::core::domain::webhook::SigningKeys;
use crate::core::domain::webhook::attempt::{Answer, AttemptError, ForbiddenDestination};
use crate::core::ports::webhooks::{Attempt, ShownKeys, Webhook, WebhookSender};
use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue};
use in_flight::InFlight;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Breakers at a time. Past it, one that is closed and at rest makes room.
const BREAKERS: usize = 65_536;
/// A breaker is never asked to wait longer between its probes.
const LONGEST_OPEN: Duration = Duration::from_secs(600);
/// Once the status is here, the webhook has its end; what else is said is only for people.
const EXCERPT_WAIT: Duration = Duration::from_secs(1);

/// What the sender is built from.
#[derive(Debug, Clone)]
pub struct WebhooksConfig {
    /// `WEBHOOK_TIMEOUT`: of one attempt, from the lookup of the name to the end of the answer's head.
    pub timeout: Duration,
    /// `WEBHOOK_ALLOW_HOSTS`.
    pub allowed_hosts: Vec<String>,
    /// Attempts under way, in all.
    pub max_in_flight: usize,
    /// Attempts under way to one destination.
    pub max_in_flight_each: usize,
}

/// Sends them.
#[derive(Debug)]
pub struct Webhooks {
    client: PublicClient,
    rules: Arc<DestinationRules>,
    breakers: Keyed<WebhookEndpointId>,
    in_flight: InFlight,
    timeout: Duration,
}

impl Webhooks {
    /// # Errors
    /// No usable TLS roots on this system.
    pub fn new(config: WebhooksConfig, clock: MonotonicClock) -> Result<Self, BuildError> {
        let rules = Arc::new(DestinationRules::new(config.allowed_hosts));
        let breaker = breaker_config(config.timeout);
        Ok(Self {
            client: build_public(Arc::clone(&rules), config.timeout)?,
            rules,
            breakers: Keyed::new(System::Webhooks, &breaker, BREAKERS, clock, Arc::new(Silent))?,
            in_flight: InFlight::new(config.max_in_flight, config.max_in_flight_each),
            timeout: config.timeout,
        })
    }
}

#[async_trait::async_trait]
impl WebhookSender for Webhooks {
    async fn send(&self, webhook: &Webhook<'_>) -> Attempt {
        let begun = Instant::now();
        let (result, excerpt) = match self.guarded(webhook).await {
            Ok((answer, excerpt)) => (Ok(answer), excerpt),
            Err(error) => (Err(error), String::new()),
        };
        Attempt { result, took: begun.elapsed(), excerpt }
    }

    fn check(&self, url: &str) -> Result<(), ForbiddenDestination> {
        self.rules.destination(url).map(drop)
    }

    fn shown(&self, keys: &SigningKeys) -> ShownKeys {
        ShownKeys {
            secret: signing::shown_secret(keys),
            public_key: signing::shown_public_key(keys),
        }
    }
}

impl Webhooks {
    async fn guarded(&self, webhook: &Webhook<'_>) -> Result<(Answer, String), AttemptError> {
        let destination = self.rules.destination(webhook.url)?;
        let breaker = self.breakers.get(&webhook.endpoint);
        breaker.check()?;
        let _slot = self.in_flight.enter(webhook.endpoint).map_err(NoAnswer::from)?;
        let permit = breaker.try_acquire()?;
        let begun = Instant::now();
        let result = self.post(&destination, webhook).await;
        permit.record(verdict(&result), begun.elapsed());
        result
    }

    async fn post(
        &self,
        to: &Destination,
        webhook: &Webhook<'_>,
    ) -> Result<(Answer, String), AttemptError> {
        let call = self.client.post(to, headers(webhook), webhook.body.as_bytes().to_vec());
        let too_late = |_| NoAnswer::from(Unknown::TimedOut);
        let reply = timeout(self.timeout, call).await.map_err(too_late)??;
        let answer = reply.answer;
        Ok((answer, timeout(EXCERPT_WAIT, reply.excerpt()).await.unwrap_or_default()))
    }
}

fn headers(webhook: &Webhook<'_>) -> HeaderMap {
    let signed = signing::headers(webhook.id, webhook.at, webhook.body, webhook.keys);
    let signed = signed.into_iter().filter_map(|(name, value)| {
        Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?))
    });
    std::iter::once((CONTENT_TYPE, HeaderValue::from_static("application/json")))
        .chain(signed)
        .collect()
}

/// A receiver that refuses what it got is in good health; one that cannot answer, or cannot keep up, is not.
fn verdict<T>(result: &Result<(Answer, T), AttemptError>) -> Verdict {
    match result {
        Ok((Answer { status: 408 | 429 | 500..=599, .. }, _)) => Verdict::Failing,
        Ok(_) => Verdict::Healthy,
        Err(AttemptError::Forbidden(_)) => Verdict::Neutral,
        Err(AttemptError::NoAnswer(error)) => error.cause.into(),
    }
}

/// One probe is enough to find out, since a probe is a webhook that was due anyway.
fn breaker_config(timeout: Duration) -> BreakerConfig {
    BreakerConfig {
        window: WindowKind::Consecutive,
        consecutive_failures: 5,
        slow_as: SlowAs::Ignore,
        open_timeout_max: Some(LONGEST_OPEN),
        half_open_requests: 1,
        probe_timeout: timeout.saturating_mul(2),
        ..BreakerConfig::default()
    }
}
