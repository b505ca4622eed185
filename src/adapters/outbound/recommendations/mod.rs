//! The recommender: hints for a customer, worth a short wait and nothing more. It shares nothing with
//! the others, so that its outage cannot reach a payment.

mod classify;
mod wire;

use crate::adapters::outbound::alarm::ConfigAlarm;
use crate::adapters::outbound::http_client::{self, BuildError, Client, HttpConfig, Url};
use crate::adapters::outbound::sampler::Sampler;
use crate::adapters::resilience::breaker::{Breaker, BreakerConfig, SlowAs};
use crate::adapters::resilience::clock::Clock;
use crate::adapters::resilience::deadline::CallTimeout;
use crate::adapters::resilience::guards::{GuardConfig, Guards};
use crate::adapters::resilience::observer::Observer;
use crate::adapters::resilience::outcome::Failed;
use crate::adapters::resilience::retry::Retry;
use crate::adapters::resilience::semaphore::Semaphore;
use crate::adapters::resilience::settings::{BulkheadConfig, RetryConfig, TimeoutConfig};
use crate::core::domain::ids::CustomerId;
use crate::core::domain::unavailable::{Cause, NotExecuted, System};
use crate::core::ports::call::Call;
use crate::core::ports::events::Events;
use crate::core::ports::recommendations::{
    Recommendation, RecommendationsPort, RecommendationsUnavailableError,
};
use classify::Refusal;
use std::sync::Arc;
use std::time::Duration;
use tracing::{Span, instrument};

#[derive(Debug, Clone)]
pub struct RecommendationsConfig {
    pub base_url: Url,
    pub guards: GuardConfig,
}

impl RecommendationsConfig {
    /// The defaults: few places, short waits, one attempt.
    #[must_use]
    pub fn new(base_url: Url) -> Self {
        Self {
            base_url,
            guards: GuardConfig {
                timeouts: TimeoutConfig {
                    connect: Duration::from_millis(500),
                    read: Duration::from_secs(1),
                    call: Duration::from_millis(2500),
                },
                bulkhead: BulkheadConfig {
                    max_concurrent: 10,
                    max_queue: 0,
                    max_wait: Duration::ZERO,
                },
                breaker: BreakerConfig {
                    min_requests: 20,
                    failure_rate: 0.5,
                    slow_call_threshold: Duration::from_millis(500),
                    slow_as: SlowAs::Ignore,
                    half_open_max_in_flight: 3,
                    ..BreakerConfig::default()
                },
                retry: RetryConfig { max_attempts: 1, ..RetryConfig::default() },
            },
        }
    }
}

#[derive(Debug)]
pub struct RecommendationsAdapter {
    base_url: Url,
    client: Client,
    breaker: Arc<Breaker>,
    semaphore: Arc<Semaphore>,
    call_timeout: CallTimeout,
    retry: Retry,
    alarm: ConfigAlarm,
    log: Sampler,
}

impl RecommendationsAdapter {
    /// # Errors
    /// Guards that cannot be, or a client without TLS roots.
    pub fn new(
        config: RecommendationsConfig,
        clock: Clock,
        observer: Arc<dyn Observer>,
        events: Arc<dyn Events>,
    ) -> Result<Self, BuildError> {
        let system = System::Recommendations;
        let Guards { breaker, semaphore, call_timeout, retry } =
            Guards::new(system, &config.guards, clock, observer)?;
        let http = HttpConfig::behind(&config.guards, config.base_url.clone(), None);
        let client = http_client::build(&http, Arc::clone(&events))?;
        Ok(Self {
            base_url: config.base_url,
            client,
            breaker,
            semaphore,
            call_timeout,
            retry,
            alarm: ConfigAlarm::new(system, events),
            log: Sampler::default(),
        })
    }

    #[must_use]
    pub const fn breaker(&self) -> &Arc<Breaker> {
        &self.breaker
    }

    #[must_use]
    pub const fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}

#[async_trait::async_trait]
impl RecommendationsPort for RecommendationsAdapter {
    #[instrument(
        name = "RecommendationsAdapter.GetRecommendations", target = "recommendations-adapter",
        skip_all, fields(
        external.system = "recommendations", deadline.remaining_ms = call.deadline.remaining_ms(),
        circuit_breaker.state, bulkhead.wait_ms, slow_call,
        retry.attempts, otel.status_code, otel.status_description,
    ))]
    async fn get_recommendations(
        &self,
        customer: &CustomerId,
        call: &Call,
    ) -> Result<Vec<Recommendation>, RecommendationsUnavailableError> {
        let attempt = || async {
            self.breaker.check()?;
            let _permit = self.semaphore.acquire(call.deadline).await?;
            let exchange = self.call_timeout.cap(call.deadline, self.get_list(customer, call));
            self.breaker.watch("get_recommendations", exchange).await
        };
        match self.retry.run(call.deadline, attempt).await {
            Ok(list) => Ok(list),
            Err(Failed::Answered(Refusal::NobodyKnown)) => Ok(Vec::new()),
            Err(Failed::Answered(Refusal::Refused)) => {
                Err(self.unavailable(customer, Cause::NotExecuted(NotExecuted::Misdirected)))
            }
            Err(Failed::NoAnswer(silence)) => Err(self.unavailable(customer, silence.cause)),
        }
    }
}

impl RecommendationsAdapter {
    async fn get_list(
        &self,
        customer: &CustomerId,
        call: &Call,
    ) -> Result<Vec<Recommendation>, Failed<Refusal>> {
        let url = format!("{}customers/{customer}/recommendations", self.base_url);
        let reply = self.client.send(self.client.get(url), call.trace.as_ref()).await?;
        classify::of_status(reply.status, reply.retry_after)?;
        Ok(wire::read_list(&reply.body().await?)?)
    }

    fn unavailable(&self, customer: &CustomerId, cause: Cause) -> RecommendationsUnavailableError {
        if cause == Cause::NotExecuted(NotExecuted::Misdirected) {
            self.alarm.raise(cause.as_str());
        }
        Span::current()
            .record("otel.status_code", "ERROR")
            .record("otel.status_description", classify::description(cause));
        if self.log.may_log(cause) {
            let (system, news) = (System::Recommendations, classify::news(cause));
            tracing::warn!(%system, customer_id = %customer, cause = cause.as_str(), "{news}");
        }
        RecommendationsUnavailableError { cause }
    }
}
