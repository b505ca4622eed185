//! The catalog's adapter against a partner that answers, lies and falls silent.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[expect(dead_code, reason = "other tests want more of their partner")]
mod stub_partner;

use order_service::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use order_service::adapters::outbound::catalog::{CatalogAdapter, CatalogConfig};
use order_service::adapters::outbound::http_client::base_url;
use order_service::adapters::resilience::breaker::BreakerState;
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::observer::Silent;
use order_service::core::domain::ids::ProductId;
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::domain::unavailable::{Cause, NotExecuted, Shed, System, Unknown};
use order_service::core::ports::call::Call;
use order_service::core::ports::catalog::{
    CatalogError, CatalogPort, CatalogUnavailableError, Offer,
};
use order_service::core::ports::clock::Clock;
use order_service::core::ports::deadline::Deadline;
use order_service::core::ports::trace::TraceParent;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stub_partner::{Answer, StubPartner};

const NOW: Timestamp = Timestamp::from_micros(1_764_500_000_000_000);
const TTL: Duration = Duration::from_secs(30);
const MAX_STALE: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug)]
struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        NOW
    }
}

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<AdapterEvent>>);

impl AdapterEvents for Heard {
    fn tell(&self, event: &AdapterEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl Heard {
    fn count(&self, event: &AdapterEvent) -> usize {
        self.0.lock().unwrap().iter().filter(|heard| *heard == event).count()
    }
}

struct Shop {
    partner: StubPartner,
    adapter: CatalogAdapter,
    events: Arc<Heard>,
}

impl Shop {
    /// One attempt a read, and a breaker that the first failure opens only where a test says so.
    async fn with(partner: StubPartner, adjust: impl FnOnce(&mut CatalogConfig)) -> Self {
        let mut config = CatalogConfig::new(base_url(&partner.url).unwrap());
        config.guards.retry.max_attempts = 1;
        config.guards.timeouts.read = Duration::from_millis(100);
        adjust(&mut config);
        let events = Arc::new(Heard::default());
        let heard: Arc<dyn AdapterEvents> = Arc::clone(&events) as _;
        let (clock, observer) = (Arc::new(StoppedClock), Arc::new(Silent));
        let adapter =
            CatalogAdapter::new(config, MonotonicClock::tokio(), clock, observer, heard).unwrap();
        Self { partner, adapter, events }
    }

    async fn playing(script: impl IntoIterator<Item = Answer>) -> Self {
        Self::with(StubPartner::playing(script).await, |_| ()).await
    }

    async fn read(&self, id: &str) -> Result<Offer, CatalogError> {
        self.read_within(id, Duration::from_secs(10)).await
    }

    async fn read_within(&self, id: &str, wait: Duration) -> Result<Offer, CatalogError> {
        let call = Call::new(Deadline::after(wait), None);
        self.adapter.get_product_details(&ProductId::parse(id).unwrap(), &call).await
    }

    async fn cause(&self, id: &str) -> Cause {
        cause_of(self.read(id).await)
    }

    fn fallbacks(&self, cause: Cause) -> usize {
        self.events.count(&AdapterEvent::FellBackToCache { system: System::Catalog, cause })
    }
}

fn cause_of(read: Result<Offer, CatalogError>) -> Cause {
    match read.unwrap_err() {
        CatalogError::Unavailable(error) => error.0.cause,
        CatalogError::NotFound => panic!("the product was said not to exist"),
    }
}

fn product(id: &str, kopecks: i64) -> Answer {
    Answer::Json(format!(
        r#"{{"id":"{id}","name":"Чай","price":{{"amount":{kopecks},"currency":"RUB"}},"new":1}}"#
    ))
}

/// Turns tokio's clock, not the world's: no test waits.
async fn later(by: Duration) {
    tokio::time::pause();
    tokio::time::advance(by).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_product_is_asked_for_by_its_id_in_the_callers_trace() {
    let shop = Shop::playing([product("p-1", 19_900)]).await;
    let trace = TraceParent::new(7, 8);
    let call = Call::new(Deadline::after(TTL), Some(trace.clone()));
    let id = ProductId::parse("p-1").unwrap();
    let offer = shop.adapter.get_product_details(&id, &call).await.unwrap();

    assert_eq!((offer.product.id, offer.product.name.as_str()), (id, "Чай"));
    assert_eq!(offer.product.price.minor(), 19_900);
    assert_eq!((offer.as_of, offer.stale), (NOW, false));
    let asked = shop.partner.heard().remove(0);
    assert!(asked.starts_with("GET /products/p-1 HTTP/1.1\r\n"), "{asked}");
    let told = asked.lines().find_map(|line| line.strip_prefix("traceparent: ")).unwrap();
    assert_eq!(TraceParent::parse(told).unwrap().trace_id(), trace.trace_id());
    assert!(!asked.to_lowercase().contains("authorization"));
}

#[tokio::test]
async fn within_its_time_an_answer_is_not_asked_for_again() {
    let shop = Shop::playing([product("p-1", 1), product("p-1", 2)]).await;
    assert_eq!(shop.read("p-1").await.unwrap().product.price.minor(), 1);
    later(TTL - Duration::from_secs(1)).await;
    let offer = shop.read("p-1").await.unwrap();
    assert_eq!((offer.product.price.minor(), offer.stale), (1, false));
    assert_eq!((offer.age.as_secs(), shop.partner.calls()), (29, 1));
    later(Duration::from_secs(1)).await;
    assert_eq!(shop.read("p-1").await.unwrap().product.price.minor(), 2);

    let read = |hit| AdapterEvent::CacheRead { system: System::Catalog, hit };
    assert_eq!((shop.events.count(&read(true)), shop.events.count(&read(false))), (1, 2));
}

#[tokio::test]
async fn when_the_catalog_cannot_answer_the_last_answer_is_served_and_marked() {
    let silences = [
        (Answer::Status(500), Cause::Unknown(Unknown::PartnerFailed)),
        (Answer::Status(408), Cause::Unknown(Unknown::PartnerFailed)),
        (Answer::Status(429), Cause::NotExecuted(NotExecuted::Throttled)),
        (Answer::Status(204), Cause::Unknown(Unknown::Unreadable)),
        (
            Answer::With(302, "Location: http://127.0.0.1:1/"),
            Cause::NotExecuted(NotExecuted::Misdirected),
        ),
        (Answer::Html("<html>login</html>"), Cause::Unknown(Unknown::Unreadable)),
        (Answer::json(r#"{"id":"p-1","name":"n"}"#), Cause::Unknown(Unknown::Unreadable)),
        (product("p-2", 1), Cause::Unknown(Unknown::Unreadable)),
        (product("p-1", -1), Cause::Unknown(Unknown::Unreadable)),
        (Answer::Truncated, Cause::Unknown(Unknown::Broken)),
        (Answer::Huge, Cause::Unknown(Unknown::Unreadable)),
        (Answer::Reset, Cause::Unknown(Unknown::Broken)),
        (Answer::Hang, Cause::Unknown(Unknown::TimedOut)),
    ];
    let shop = Shop::playing([product("p-1", 100)]).await;
    let first = shop.read("p-1").await.unwrap();
    for (silence, cause) in silences {
        let before = shop.fallbacks(cause);
        later(TTL).await;
        shop.partner.then(silence.clone());
        let offer = shop.read("p-1").await.unwrap();
        assert!(offer.stale && offer.age >= TTL, "{silence:?}");
        assert_eq!((&offer.product, offer.as_of), (&first.product, NOW), "{silence:?}");
        assert_eq!(shop.fallbacks(cause), before + 1, "{silence:?}");
    }
}

#[tokio::test]
async fn a_catalog_that_is_gone_leaves_what_it_said() {
    let shop = Shop::playing([product("p-1", 100)]).await;
    shop.read("p-1").await.unwrap();
    later(TTL).await;
    let Shop { partner, adapter, events } = shop;
    let nobody = StubPartner::playing([]).await;
    drop(partner);
    tokio::task::yield_now().await;
    let shop = Shop { partner: nobody, adapter, events };
    assert!(shop.read("p-1").await.unwrap().stale);
    assert_eq!(shop.fallbacks(Cause::NotExecuted(NotExecuted::Unreachable)), 1);
    assert_eq!(shop.cause("p-2").await, Cause::NotExecuted(NotExecuted::Unreachable));
}

#[tokio::test]
async fn nothing_is_served_beyond_the_stale_limit() {
    let shop = Shop::playing([product("p-1", 100)]).await;
    shop.read("p-1").await.unwrap();
    later(MAX_STALE - Duration::from_secs(1)).await;
    assert!(shop.read("p-1").await.unwrap().stale);
    later(Duration::from_secs(1)).await;
    assert_eq!(shop.cause("p-1").await, Cause::Unknown(Unknown::PartnerFailed));
    let nothing = AdapterEvent::NothingCached { system: System::Catalog };
    assert_eq!(shop.events.count(&nothing), 1);
}

#[tokio::test]
async fn a_product_that_is_gone_is_gone_from_the_cache_too() {
    let shop = Shop::playing([product("p-1", 100), Answer::Status(404)]).await;
    shop.read("p-1").await.unwrap();
    later(TTL).await;
    assert_eq!(shop.read("p-1").await, Err(CatalogError::NotFound));
    assert_eq!(shop.cause("p-1").await, Cause::Unknown(Unknown::PartnerFailed));
    assert_eq!(shop.partner.calls(), 3, "that there is no product is not remembered");
}

#[tokio::test]
async fn a_refusal_is_not_hidden_by_the_cache() {
    let shop = Shop::playing([product("p-1", 100), Answer::Status(403)]).await;
    shop.read("p-1").await.unwrap();
    later(TTL).await;
    assert_eq!(shop.cause("p-1").await, Cause::NotExecuted(NotExecuted::Misdirected));
    assert_eq!(shop.events.count(&AdapterEvent::Misconfigured { system: System::Catalog }), 1);
}

#[tokio::test]
async fn readers_who_miss_together_share_one_question() {
    let shop = Shop::with(StubPartner::held([product("p-1", 100)]).await, |_| ()).await;
    let reads = futures_util::future::join_all((0..50).map(|_| shop.read("p-1")));
    let answered = async {
        shop.partner.until_heard(1).await;
        shop.partner.let_one_through();
    };
    let (offers, ()) = tokio::join!(reads, answered);
    assert!(offers.into_iter().all(|offer| offer.unwrap().product.price.minor() == 100));
    assert_eq!(shop.partner.calls(), 1);
}

#[tokio::test]
async fn a_reader_in_a_hurry_takes_nothing_from_the_others() {
    let shop = Shop::with(StubPartner::held([product("p-1", 100)]).await, |config| {
        config.guards.timeouts.read = Duration::from_secs(2);
    })
    .await;
    let hurried = async {
        let end = shop.read_within("p-1", Duration::from_millis(200)).await;
        shop.partner.let_one_through();
        cause_of(end)
    };
    let (hurried, patient) = tokio::join!(hurried, shop.read("p-1"));
    assert_eq!(hurried, Cause::Unknown(Unknown::DeadlinePassed));
    assert_eq!(patient.unwrap().product.price.minor(), 100);
    assert_eq!(shop.partner.calls(), 1);
}

#[tokio::test]
async fn with_too_little_time_nothing_is_asked_but_the_cache() {
    let shop = Shop::playing([product("p-1", 100)]).await;
    let moment = Duration::from_millis(100);
    assert_eq!(
        cause_of(shop.read_within("p-1", moment).await),
        Cause::NotExecuted(NotExecuted::Shed(Shed::DeadlineTooShort))
    );
    assert_eq!(shop.partner.calls(), 0);
    shop.read("p-1").await.unwrap();
    assert!(!shop.read_within("p-1", moment).await.unwrap().stale);
    later(TTL).await;
    assert!(shop.read_within("p-1", moment).await.unwrap().stale);
    assert_eq!(shop.partner.calls(), 1);
}

#[tokio::test]
async fn a_silence_is_asked_again_and_an_answer_is_not() {
    let retrying = |config: &mut CatalogConfig| {
        config.guards.retry.max_attempts = 3;
        config.guards.retry.base = Duration::from_millis(1);
        config.guards.retry.max = Duration::from_millis(2);
    };
    let script = [Answer::Status(500), Answer::Reset, product("p-1", 100), Answer::Status(404)];
    let shop = Shop::with(StubPartner::playing(script).await, retrying).await;
    assert!(!shop.read("p-1").await.unwrap().stale);
    assert_eq!(shop.partner.calls(), 3);
    assert_eq!(shop.read("p-2").await, Err(CatalogError::NotFound));
    assert_eq!(shop.partner.calls(), 4);
}

#[tokio::test]
async fn what_is_cached_waits_a_moment_for_a_catalog_that_hangs_and_is_refreshed_behind() {
    let script = [product("p-1", 100), product("p-1", 200)];
    let shop = Shop::with(StubPartner::held(script).await, |config| {
        config.guards.timeouts.read = Duration::from_secs(2);
        config.stale_after = Duration::from_millis(50);
    })
    .await;
    let answered = async {
        shop.partner.until_heard(1).await;
        shop.partner.let_one_through();
    };
    // With nothing to serve the reader waits.
    let (first, ()) = tokio::join!(shop.read("p-1"), answered);
    assert!(!first.unwrap().stale);
    later(TTL).await;
    let offer = shop.read("p-1").await.unwrap();
    assert_eq!((offer.product.price.minor(), offer.stale), (100, true));
    assert_eq!(shop.fallbacks(Cause::Unknown(Unknown::TimedOut)), 1);
    shop.partner.until_heard(2).await;
    shop.partner.let_one_through();
    let refreshed = loop {
        let offer = shop.read("p-1").await.unwrap();
        if !offer.stale {
            break offer;
        }
    };
    assert_eq!((refreshed.product.price.minor(), shop.partner.calls()), (200, 2));
}

#[tokio::test]
async fn one_product_without_a_price_shuts_the_catalog_for_nobody() {
    let bad = || Answer::json(r#"{"id":"p-9","name":"n"}"#);
    let script = std::iter::repeat_with(bad).take(30).chain([product("p-1", 100)]);
    let shop = Shop::playing(script).await;
    for _ in 0..30 {
        assert_eq!(shop.cause("p-9").await, Cause::Unknown(Unknown::Unreadable));
    }
    assert!(shop.read("p-1").await.is_ok());
    assert_eq!(shop.adapter.breaker().snapshot().window.failures, 1);
}

#[tokio::test]
async fn many_products_without_a_price_are_an_illness_of_the_catalog() {
    let bad = || Answer::json(r#"{"name":"n"}"#);
    let shop = Shop::playing(std::iter::repeat_with(bad).take(20)).await;
    for product in 0..20 {
        shop.cause(&format!("p-{product}")).await;
    }
    assert_eq!(shop.cause("p-1").await, Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen)));
}

#[tokio::test]
async fn an_open_breaker_sends_nothing() {
    let script = [product("p-1", 100), Answer::Status(500)];
    let shop = Shop::with(StubPartner::playing(script).await, |config| {
        config.guards.breaker.min_requests = 2;
    })
    .await;
    shop.read("p-1").await.unwrap();
    assert_eq!(shop.cause("p-2").await, Cause::Unknown(Unknown::PartnerFailed));
    assert_eq!(shop.adapter.breaker().state(), BreakerState::Open);

    later(Duration::from_secs(29)).await;
    let refused = shop.read("p-2").await.unwrap_err();
    let CatalogError::Unavailable(CatalogUnavailableError(no_answer)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(no_answer.cause, Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen)));
    assert!(no_answer.retry_after.unwrap() <= Duration::from_secs(5));
    later(Duration::from_secs(1)).await;
    assert!(shop.read("p-1").await.unwrap().stale);
    assert_eq!(shop.fallbacks(Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen))), 1);
    assert_eq!(shop.partner.calls(), 2);
}

#[tokio::test]
async fn a_full_semaphore_sheds_at_once() {
    let shop = Shop::with(StubPartner::held([product("p-1", 100)]).await, |config| {
        config.guards.bulkhead.max_concurrent = 1;
    })
    .await;
    let shed = async {
        shop.partner.until_heard(1).await;
        let cause = shop.cause("p-2").await;
        shop.partner.let_one_through();
        cause
    };
    let (served, shed) = tokio::join!(shop.read("p-1"), shed);
    assert!(served.is_ok());
    assert_eq!(
        (shed, shop.partner.calls()),
        (Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull)), 1)
    );
}

/// Where a subscriber writes its lines.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn warnings(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().filter(|line| line.contains("WARN")).map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn the_log_tells_of_stale_answers_once_a_second_and_the_count_of_all() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);

    let shop = Shop::playing([product("p-1", 100)]).await;
    shop.read("p-1").await.unwrap();
    later(TTL).await;
    tokio::time::pause();
    shop.adapter
        .breaker()
        .set_mode(order_service::adapters::resilience::breaker::BreakerMode::ForcedOpen, None);
    for _ in 0..5 {
        assert!(shop.read("p-1").await.unwrap().stale);
    }
    assert_eq!(shop.fallbacks(Cause::NotExecuted(NotExecuted::Shed(Shed::ForcedOpen))), 5);
    let lines = log.warnings();
    assert_eq!(lines.len(), 1, "{lines:?}");
    for word in
        ["catalog unavailable, returning cached", "product_id=p-1", r#"cause="forced_open""#]
    {
        assert!(lines[0].contains(word), "{}", lines[0]);
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    shop.read("p-1").await.unwrap();
    assert_eq!(log.warnings().len(), 2);
}
