//! The catalog: products and prices, asked at most once at a time for each product, remembered for a
//! while, and served old, and marked as such, only when the catalog does not answer soon.

mod cache;
mod entry;
mod shared;
mod single_flight;
mod wire;

pub use cache::CacheConfig;

use crate::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use crate::adapters::observe::log_throttle::LogThrottle;
use crate::adapters::outbound::alarm::ConfigAlarm;
use crate::adapters::outbound::http_client::{
    self, BuildError, HttpConfig, PartnerClient, Transport, Url,
};
use crate::adapters::outbound::read_answer::{self, ReadRefusal};
use crate::adapters::outbound::remote_cache::RemoteCacheConfig;
use crate::adapters::resilience::breaker::{Breaker, BreakerConfig, SlowAs};
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::deadline::{CallTimeout, MARGIN};
use crate::adapters::resilience::guards::{GuardConfig, Guards};
use crate::adapters::resilience::observer::Observer;
use crate::adapters::resilience::retry::Retry;
use crate::adapters::resilience::semaphore::Semaphore;
use crate::adapters::resilience::settings::{BulkheadConfig, RetryConfig, TimeoutConfig};
use crate::adapters::resilience::verdict::Failed;
use crate::adapters::resilience::wrong_answers::WrongAnswers;
use crate::core::domain::ids::ProductId;
use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, System, Unknown};
use crate::core::ports::call::Call;
use crate::core::ports::catalog::{
    CatalogError, CatalogPort, CatalogUnavailableError, Offer, Product,
};
use crate::core::ports::clock::Clock;
use crate::core::ports::deadline::Deadline;
use crate::core::ports::trace::TraceParent;
use cache::Cache;
use entry::Entry;
use shared::SharedAnswers;
use single_flight::SingleFlight;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tracing::{Instrument, Span, instrument};

/// So often the log is told of each cause for which an old answer is served.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// No attempt begins later than this after the first one: a reader waits.
const RETRY_WINDOW: Duration = Duration::from_secs(5);

/// How a question ends, for everyone who shares it.
type Answer = Result<Arc<Entry>, Failed<ReadRefusal>>;

#[derive(Debug, Clone)]
pub struct CatalogConfig {
    pub base_url: Url,
    pub guards: GuardConfig,
    pub cache: CacheConfig,
    /// `CACHE_URL`: the cache that instances share, if there is one.
    pub shared: Option<RemoteCacheConfig>,
    /// `CATALOG_STALE_AFTER`: how long a cached answer waits for a fresh one.
    pub stale_after: Duration,
    pub transport: Transport,
}

impl CatalogConfig {
    /// The defaults: reads shed at once, and a slow catalog counts apart from a failing one.
    #[must_use]
    pub fn new(base_url: Url) -> Self {
        Self {
            base_url,
            transport: Transport::default(),
            guards: GuardConfig {
                timeouts: TimeoutConfig {
                    connect: Duration::from_secs(1),
                    read: Duration::from_secs(2),
                    call: Duration::from_secs(4),
                },
                bulkhead: BulkheadConfig {
                    max_concurrent: 100,
                    max_queue: 0,
                    max_wait: Duration::ZERO,
                    ..BulkheadConfig::default()
                },
                breaker: BreakerConfig {
                    min_requests: 20,
                    failure_rate: 0.5,
                    slow_call_threshold: Duration::from_secs(1),
                    slow_as: SlowAs::Rate,
                    half_open_max_in_flight: 3,
                    ..BreakerConfig::default()
                },
                retry: RetryConfig {
                    base: Duration::from_millis(100),
                    max: Duration::from_millis(500),
                    ..RetryConfig::default()
                },
            },
            cache: CacheConfig::default(),
            shared: None,
            stale_after: Duration::from_millis(300),
        }
    }
}

#[derive(Debug)]
pub struct CatalogAdapter {
    source: Arc<Source>,
    questions: SingleFlight<Answer>,
    stale_after: Duration,
    events: Arc<dyn AdapterEvents>,
    alarm: ConfigAlarm,
    fallback_log: LogThrottle<Cause>,
}

/// What a question needs; it may outlive the caller who began it.
#[derive(Debug)]
struct Source {
    base_url: Url,
    client: PartnerClient,
    breaker: Arc<Breaker>,
    semaphore: Arc<Semaphore>,
    call_timeout: CallTimeout,
    retry: Retry,
    cache: Cache,
    wrong_answers: WrongAnswers,
    wall_clock: Arc<dyn Clock>,
}

impl CatalogAdapter {
    /// # Errors
    /// Guards that cannot be, or a client without TLS roots.
    pub fn new(
        config: CatalogConfig,
        clock: MonotonicClock,
        wall_clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
        events: Arc<dyn AdapterEvents>,
    ) -> Result<Self, BuildError> {
        let system = System::Catalog;
        let Guards { breaker, semaphore, call_timeout, retry } =
            Guards::new(system, &config.guards, clock, observer)?;
        let http = HttpConfig::behind(&config.guards, config.base_url.clone(), config.transport);
        let client = http_client::build(&http, Arc::clone(&events))?;
        let shared = config
            .shared
            .map(|url| SharedAnswers::new(url, Arc::clone(&wall_clock), Arc::clone(&events)));
        let source = Source {
            base_url: config.base_url,
            client,
            breaker,
            semaphore,
            call_timeout,
            retry,
            cache: Cache::new(config.cache, shared),
            wrong_answers: WrongAnswers::default(),
            wall_clock,
        };
        Ok(Self {
            source: Arc::new(source),
            questions: SingleFlight::new(),
            stale_after: config.stale_after,
            alarm: ConfigAlarm::new(system, Arc::clone(&events)),
            events,
            fallback_log: LogThrottle::new(LOG_INTERVAL),
        })
    }

    /// Forgets what the catalog said, as if this process had just begun.
    pub fn forget(&self) {
        self.source.cache.forget();
    }

    #[must_use]
    pub fn breaker(&self) -> &Arc<Breaker> {
        &self.source.breaker
    }

    #[must_use]
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.source.semaphore
    }
}

#[async_trait::async_trait]
impl CatalogPort for CatalogAdapter {
    #[instrument(name = "CatalogAdapter.GetProductDetails", target = "catalog-adapter", skip_all, fields(
        external.system = "catalog", deadline.remaining_ms = call.deadline.remaining_ms(),
        circuit_breaker.state, bulkhead.wait_ms, slow_call,
        retry.attempts, fallback.kind, otel.status_code, otel.status_description,
    ))]
    async fn get_product_details(
        &self,
        id: &ProductId,
        call: &Call,
    ) -> Result<Offer, CatalogError> {
        let fresh = self.source.cache.fresh(id).await;
        let (system, hit) = (System::Catalog, fresh.is_some());
        self.events.tell(&AdapterEvent::CacheRead { system, hit });
        if let Some(entry) = fresh {
            return Ok(entry.offer(false));
        }
        // Only the wait for the answer is the caller's; the question has limits of its own.
        let question = self.question(id, call);
        let answer = CallTimeout::new(Duration::MAX).cap(call.deadline, question.clone());
        let mut answer = pin!(answer);
        let answer = match timeout(self.stale_after, answer.as_mut()).await {
            Ok(answer) => answer,
            Err(_elapsed) => match self.serve_stale(id, Unknown::TimedOut.into()).await {
                Some(offer) => {
                    tokio::spawn(question);
                    return Ok(offer);
                }
                None => answer.await,
            },
        };
        match answer {
            Ok(entry) => Ok(entry.offer(false)),
            Err(Failed::Answered(ReadRefusal::NotFound)) => Err(CatalogError::NotFound),
            Err(Failed::Answered(ReadRefusal::Refused)) => Err(self.refused()),
            Err(Failed::NoAnswer(no_answer)) => self.fall_back(id, no_answer).await,
        }
    }
}

impl CatalogAdapter {
    /// The one question about this product that is under way, or a new one.
    fn question(
        &self,
        id: &ProductId,
        call: &Call,
    ) -> impl Future<Output = Answer> + Clone + Send + use<> {
        self.questions.join(id, || {
            let (source, id, trace) = (Arc::clone(&self.source), id.clone(), call.trace.clone());
            async move { source.ask(&id, trace.as_ref()).await }.instrument(Span::current())
        })
    }

    /// The catalog cannot answer: what it said last, if that is not too old.
    async fn fall_back(&self, id: &ProductId, no_answer: NoAnswer) -> Result<Offer, CatalogError> {
        let (system, cause) = (System::Catalog, no_answer.cause);
        if cause == NotExecuted::Misdirected.into() {
            self.alarm.raise("redirected");
        }
        Span::current()
            .record("otel.status_code", "ERROR")
            .record("otel.status_description", read_answer::description(cause));
        if let Some(offer) = self.serve_stale(id, cause).await {
            return Ok(offer);
        }
        self.events.tell(&AdapterEvent::NothingCached { system });
        Err(CatalogUnavailableError(no_answer).into())
    }

    /// What the catalog said last, told as a fallback.
    async fn serve_stale(&self, id: &ProductId, cause: Cause) -> Option<Offer> {
        let system = System::Catalog;
        let entry = self.source.cache.fallback(id).await?;
        self.events.tell(&AdapterEvent::FellBackToCache { system, cause });
        Span::current().record("fallback.kind", "cached");
        tracing::debug!(%system, kind = "cached", cause = cause.as_str(), "fallback");
        if let Some(left_out) = self.fallback_log.may_log(cause) {
            tracing::warn!(
                %system, product_id = %id, cause = cause.as_str(), left_out,
                "catalog unavailable, returning cached"
            );
        }
        Some(entry.offer(true))
    }

    /// The catalog answered that it does not want to: no cache hides that.
    fn refused(&self) -> CatalogError {
        self.alarm.raise("refused");
        Span::current()
            .record("otel.status_code", "ERROR")
            .record("otel.status_description", "refused");
        CatalogUnavailableError(NotExecuted::Misdirected.into()).into()
    }
}

impl Source {
    /// Asks the catalog and remembers what it says. Each attempt has the whole time of a call, so
    /// that a silence is always the catalog's.
    async fn ask(&self, id: &ProductId, trace: Option<&TraceParent>) -> Answer {
        // Another question may have been answered between the caller's look and this one.
        if let Some(entry) = self.cache.remembered(id).await {
            return Ok(entry);
        }
        let attempt = || async {
            let deadline = Deadline::after(self.call_timeout.get() + 2 * MARGIN);
            self.breaker.check()?;
            let permit = self.semaphore.acquire(deadline).await?;
            let exchange = self.call_timeout.cap(deadline, self.get_product(id, trace));
            permit.hold(self.breaker.call("get_product_details", exchange)).await?
        };
        match self.retry.run(Deadline::after(RETRY_WINDOW), attempt).await {
            Ok(product) => {
                let entry = Arc::new(Entry::new(product, self.wall_clock.now()));
                self.cache.put(Arc::clone(&entry)).await;
                Ok(entry)
            }
            Err(Failed::Answered(ReadRefusal::NotFound)) => {
                self.cache.evict(id).await;
                Err(Failed::Answered(ReadRefusal::NotFound))
            }
            Err(failure) => Err(failure),
        }
    }

    /// The inner error is for the caller alone: this product's wrong answer was held against the
    /// catalog before.
    async fn get_product(
        &self,
        id: &ProductId,
        trace: Option<&TraceParent>,
    ) -> Result<Result<Product, Failed<ReadRefusal>>, Failed<ReadRefusal>> {
        let request = self.client.get(format!("{}products/{id}", self.base_url));
        let reply = self.client.send(request, trace).await?;
        read_answer::of_status(reply.status, reply.retry_after)?;
        match wire::read_product(id, &reply.body().await?) {
            Ok(product) => Ok(Ok(product)),
            Err(wrong) if self.wrong_answers.first_of(id.as_str()) => Err(wrong.into()),
            Err(wrong) => Ok(Err(wrong.into())),
        }
    }
}
