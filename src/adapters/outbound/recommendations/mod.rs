//! The recommender: hints for a customer, worth a short wait and nothing more. It shares nothing with
//! the others, so that its outage cannot reach a payment.

mod wire;

use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::adapters::observe::log_throttle::LogThrottle;
use crate::adapters::outbound::alarm::ConfigAlarm;
use crate::adapters::outbound::http_client::{
    self, BuildError, HttpConfig, PartnerClient, Transport, Url,
};
use crate::adapters::outbound::read_answer::{self, ReadRefusal};
use crate::adapters::resilience::breaker::{Breaker, BreakerConfig, SlowAs};
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::deadline::CallTimeout;
use crate::adapters::resilience::guards::{GuardConfig, Guards};
use crate::adapters::resilience::observer::Observer;
use crate::adapters::resilience::retry::Retry;
use crate::adapters::resilience::semaphore::Semaphore;
use crate::adapters::resilience::settings::{BulkheadConfig, RetryConfig, TimeoutConfig};
use crate::adapters::resilience::verdict::Failed;
use crate::core::domain::ids::CustomerId;
use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Shed, System};
use crate::core::ports::call::Call;
use crate::core::ports::recommendations::{
    Recommendation, RecommendationsPort, RecommendationsUnavailableError,
};
use std::sync::Arc;
use std::time::Duration;
use tracing::{Span, instrument};

/// So often the log is told of each cause.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct RecommendationsConfig {
    pub base_url: Url,
    pub guards: GuardConfig,
    pub transport: Transport,
}

impl RecommendationsConfig {
    /// The defaults: few places, short waits, one attempt.
    #[must_use]
    pub fn new(base_url: Url) -> Self {
        Self {
            base_url,
            transport: Transport::default(),
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
                    ..BulkheadConfig::default()
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
    client: PartnerClient,
    breaker: Arc<Breaker>,
    semaphore: Arc<Semaphore>,
    call_timeout: CallTimeout,
    retry: Retry,
    alarm: ConfigAlarm,
    log: LogThrottle<Cause>,
}

impl RecommendationsAdapter {
    /// # Errors
    /// Guards that cannot be, or a client without TLS roots.
    pub fn new(
        config: RecommendationsConfig,
        clock: MonotonicClock,
        observer: Arc<dyn Observer>,
        events: Arc<dyn AdapterEvents>,
    ) -> Result<Self, BuildError> {
        let system = System::Recommendations;
        let Guards { breaker, semaphore, call_timeout, retry } =
            Guards::new(system, &config.guards, clock, observer)?;
        let http = HttpConfig::behind(&config.guards, config.base_url.clone(), config.transport);
        let client = http_client::build(&http, Arc::clone(&events))?;
        Ok(Self {
            base_url: config.base_url,
            client,
            breaker,
            semaphore,
            call_timeout,
            retry,
            alarm: ConfigAlarm::new(system, events),
            log: LogThrottle::new(LOG_INTERVAL),
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
            let permit = self.semaphore.acquire(call.deadline).await?;
            let exchange = self.call_timeout.cap(call.deadline, self.get_list(customer, call));
            permit.hold(self.breaker.call("get_recommendations", exchange)).await
        };
        match self.retry.run(call.deadline, attempt).await {
            Ok(list) => Ok(list),
            // A customer of whom it knows nothing.
            Err(Failed::Answered(ReadRefusal::NotFound)) => Ok(Vec::new()),
            Err(Failed::Answered(ReadRefusal::Refused)) => {
                Err(self.unavailable(customer, NotExecuted::Misdirected.into()))
            }
            Err(Failed::NoAnswer(no_answer)) => Err(self.unavailable(customer, no_answer)),
        }
    }
}

impl RecommendationsAdapter {
    async fn get_list(
        &self,
        customer: &CustomerId,
        call: &Call,
    ) -> Result<Vec<Recommendation>, Failed<ReadRefusal>> {
        let url = format!("{}customers/{customer}/recommendations", self.base_url);
        let reply = self.client.send(self.client.get(url), call.trace.as_ref()).await?;
        read_answer::of_status(reply.status, reply.retry_after)?;
        Ok(wire::read_list(&reply.body().await?)?)
    }

    fn unavailable(
        &self,
        customer: &CustomerId,
        no_answer: NoAnswer,
    ) -> RecommendationsUnavailableError {
        let cause = no_answer.cause;
        if cause == NotExecuted::Misdirected.into() {
            self.alarm.raise(cause.as_str());
        }
        Span::current()
            .record("otel.status_code", "ERROR")
            .record("otel.status_description", read_answer::description(cause));
        if let Some(left_out) = self.log.may_log(cause) {
            let (system, message, cause) =
                (System::Recommendations, message(cause), cause.as_str());
            tracing::warn!(%system, customer_id = %customer, cause, left_out, "{message}");
        }
        RecommendationsUnavailableError(no_answer)
    }
}

/// What the log says of it. Of what was never sent it is certain that an empty list is returned;
/// whether the rest is covered up too is for the core to say.
const fn message(cause: Cause) -> &'static str {
    match cause {
        Cause::NotExecuted(NotExecuted::Shed(shed)) if shed.is_circuit_open() => {
            "recommendations CB open, returning empty"
        }
        Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull | Shed::BulkheadWait)) => {
            "recommendations semaphore full, returning empty"
        }
        Cause::NotExecuted(_) | Cause::Unknown(_) => "recommendations unavailable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::domain::unavailable::Unknown;

    #[test]
    fn the_log_says_returning_empty_only_of_what_is_certain() {
        for (cause, said) in [
            (Shed::ProbesTaken.into(), "recommendations CB open, returning empty"),
            (Shed::BulkheadFull.into(), "recommendations semaphore full, returning empty"),
            (Unknown::TimedOut.into(), "recommendations unavailable"),
        ] {
            assert_eq!(message(cause), said);
        }
    }
}
