//! One instance of several: an adapter with a wall clock of its own.

use crate::stub_partner::{Answer, StubPartner};
use order_service::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use order_service::adapters::outbound::catalog::{CatalogAdapter, CatalogConfig};
use order_service::adapters::outbound::http_client::base_url;
use order_service::adapters::outbound::remote_cache::{CacheUrl, RemoteCacheConfig};
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::observer::Silent;
use order_service::core::domain::ids::ProductId;
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::ports::call::Call;
use order_service::core::ports::catalog::{CatalogError, CatalogPort, Offer};
use order_service::core::ports::clock::Clock as WallClock;
use order_service::core::ports::deadline::Deadline;
use std::io::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;
use tokio::time::{Instant, sleep};

pub const NOW: Timestamp = Timestamp::from_micros(1_764_500_000_000_000);
pub const TTL: Duration = Duration::from_secs(30);
pub const MAX_STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// Long enough for a busy machine, short enough to fail a test.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The throw-away server, or `None` and a loud line.
pub fn redis() -> Option<String> {
    static SAID: Once = Once::new();
    let url = std::env::var("TEST_REDIS_URL").ok();
    if url.is_none() {
        // Past the test harness, which swallows what a passing test prints.
        let line = b"\n*** Redis SKIPPED: TEST_REDIS_URL does not name a server ***\n\n";
        SAID.call_once(|| std::io::stderr().write_all(line).unwrap());
    }
    url
}

/// A product that no other test asks for.
pub fn product() -> String {
    format!("p-{:016x}", fastrand::u64(..))
}

pub fn priced(id: &str, kopecks: i64) -> Answer {
    Answer::Json(format!(
        r#"{{"id":"{id}","name":"Чай","price":{{"amount":{kopecks},"currency":"RUB"}}}}"#
    ))
}

#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl WallClock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

#[derive(Debug, Default)]
struct RecordingEvents(Mutex<Vec<AdapterEvent>>);

impl AdapterEvents for RecordingEvents {
    fn tell(&self, event: &AdapterEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

pub struct Instance {
    pub partner: StubPartner,
    pub adapter: Arc<CatalogAdapter>,
    manual_clock: Arc<ManualClock>,
    events: Arc<RecordingEvents>,
}

impl Instance {
    /// With a catalog that answers by the script, and then is down. It may not be connected yet.
    pub async fn new(redis: &str, script: impl IntoIterator<Item = Answer>) -> Self {
        Self::patient(redis, PATIENCE, script).await
    }

    /// The same with another patience than that of tests on a busy machine.
    pub async fn patient(
        redis: &str,
        patience: Duration,
        script: impl IntoIterator<Item = Answer>,
    ) -> Self {
        Self::with(redis, patience, script, |_| ()).await
    }

    pub async fn with(
        redis: &str,
        patience: Duration,
        script: impl IntoIterator<Item = Answer>,
        adjust: impl FnOnce(&mut CatalogConfig),
    ) -> Self {
        let partner = StubPartner::playing(script).await;
        let mut config = CatalogConfig::new(base_url(&partner.url).unwrap());
        config.guards.retry.max_attempts = 1;
        let url = CacheUrl::parse(redis).unwrap();
        config.shared = Some(RemoteCacheConfig { url, patience });
        adjust(&mut config);
        let manual_clock = Arc::new(ManualClock(AtomicI64::new(NOW.micros())));
        let events = Arc::<RecordingEvents>::default();
        let (clock, observer) = (Arc::clone(&manual_clock) as _, Arc::new(Silent));
        let heard = Arc::clone(&events) as _;
        let adapter =
            CatalogAdapter::new(config, MonotonicClock::tokio(), clock, observer, heard).unwrap();
        Self { partner, adapter: Arc::new(adapter), manual_clock, events }
    }

    /// The same, connected.
    pub async fn connected(redis: &str, script: impl IntoIterator<Item = Answer>) -> Self {
        let instance = Self::new(redis, script).await;
        instance.until_connected().await;
        instance
    }

    pub async fn until_connected(&self) {
        let end = Instant::now() + PATIENCE;
        while !self.is_connected() {
            assert!(Instant::now() < end, "it does not connect");
            sleep(Duration::from_millis(5)).await;
        }
    }

    pub fn is_connected(&self) -> bool {
        format!("{:?}", self.adapter).contains("Link { up: true }")
    }

    /// Sets this instance's wall clock, and no other's.
    pub fn set_clock(&self, seconds: i64) {
        self.manual_clock.0.store(NOW.micros() + seconds * 1_000_000, Ordering::SeqCst);
    }

    pub async fn read(&self, id: &str) -> Result<Offer, CatalogError> {
        let call = Call::new(Deadline::after(Duration::from_secs(10)), None);
        self.adapter.get_product_details(&ProductId::parse(id).unwrap(), &call).await
    }

    /// Hits and misses of the cache behind the memory.
    pub fn looks(&self) -> (usize, usize) {
        let heard = self.events.0.lock().unwrap();
        let count = |hit| {
            let wanted = AdapterEvent::SharedCacheRead { hit };
            heard.iter().filter(|event| **event == wanted).count()
        };
        (count(true), count(false))
    }
}

/// The server seen by itself.
pub struct Server(redis::aio::MultiplexedConnection);

impl Server {
    pub async fn at(url: &str) -> Self {
        let client = redis::Client::open(url).unwrap();
        Self(client.get_multiplexed_async_connection().await.unwrap())
    }

    pub async fn run<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]).query_async(&mut self.0).await.unwrap()
    }
}

pub fn key(id: &str) -> String {
    format!("product-catalog:{id}")
}
