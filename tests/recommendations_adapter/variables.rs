//! What an operator may switch on beyond the ordinary guards, through the configuration and the real
//! adapter, against a partner that slows down or flaps: a limit that finds itself, and an open time
//! that grows.

use crate::stub_partner::{Answer, StubPartner};
use futures_util::future::join_all;
use order_service::adapters::observe::adapter_events::Untold;
use order_service::adapters::observe::metrics::{BuildInfo, Metrics};
use order_service::adapters::outbound::recommendations::RecommendationsAdapter;
use order_service::adapters::resilience::breaker::BreakerState;
use order_service::adapters::resilience::clock::{ManualClock, MonotonicClock};
use order_service::adapters::resilience::observer::Observer;
use order_service::config::Config;
use order_service::core::domain::ids::CustomerId;
use order_service::core::domain::unavailable::{Cause, Shed};
use order_service::core::ports::call::Call;
use order_service::core::ports::deadline::Deadline;
use order_service::core::ports::recommendations::RecommendationsPort;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MOST: usize = 8;

fn recommended() -> Answer {
    Answer::json(r#"{"items":[]}"#)
}

struct Shop {
    partner: StubPartner,
    adapter: RecommendationsAdapter,
    metrics: Arc<Metrics>,
}

impl Shop {
    /// The recommender's adapter as these variables make it.
    fn with(partner: StubPartner, clock: MonotonicClock, variables: &[(&str, &str)]) -> Self {
        let required = [
            ("SBER_BASE_URL", "http://127.0.0.1:9/"),
            ("SBER_TOKEN", "token"),
            ("ODNAKASSA_BASE_URL", "http://127.0.0.1:9/"),
            ("ODNAKASSA_API_KEY", "key"),
            ("CATALOG_BASE_URL", "http://127.0.0.1:9/"),
            ("RECOMMENDATIONS_BASE_URL", partner.url.as_str()),
            ("PAYMENT_RETURN_URL", "https://shop.example/paid"),
        ];
        let all = required.iter().chain(variables);
        let (config, _) =
            Config::read(all.map(|(name, value)| (name.into(), value.into()))).unwrap();
        let metrics = Arc::new(Metrics::new(BuildInfo::CURRENT));
        let observer = Arc::clone(&metrics) as Arc<dyn Observer>;
        let events = Arc::new(Untold);
        let adapter =
            RecommendationsAdapter::new(config.recommendations, clock, observer, events).unwrap();
        metrics.watch(Arc::clone(adapter.breaker()), Arc::clone(adapter.semaphore()));
        Self { partner, adapter, metrics }
    }

    async fn adapting(concurrency: &str) -> Self {
        let partner = StubPartner::held(std::iter::repeat_n(recommended(), 4_000)).await;
        let most = MOST.to_string();
        let variables = [
            ("RECOMMENDATIONS_CONCURRENCY", concurrency),
            ("RECOMMENDATIONS_MAX_CONCURRENT", &most),
            ("RECOMMENDATIONS_CONNECT_TIMEOUT", "5s"),
            ("RECOMMENDATIONS_READ_TIMEOUT", "30s"),
            ("RECOMMENDATIONS_CALL_TIMEOUT", "40s"),
            ("RECOMMENDATIONS_SLOW_CALL_THRESHOLD", "39s"),
        ];
        Self::with(partner, MonotonicClock::tokio(), &variables)
    }

    async fn ask(&self) -> Result<(), Cause> {
        let call = Call::new(Deadline::after(60 * SECOND), None);
        let customer = CustomerId::parse("c-1").unwrap();
        let end = self.adapter.get_recommendations(&customer, &call).await;
        end.map(drop).map_err(|unavailable| unavailable.0.cause)
    }

    /// So many callers at once, whom the partner lets wait this long; how many were shed.
    async fn crowd(&self, callers: usize, took: Duration) -> usize {
        let heard = self.partner.calls();
        let free = self.adapter.semaphore().free().min(callers);
        let answers = async {
            self.partner.until_heard(heard + free).await;
            later(took).await;
            (0..free).for_each(|_| self.partner.let_one_through());
        };
        let (ends, ()) = tokio::join!(join_all((0..callers).map(|_| self.ask())), answers);
        let shed = ends.iter().filter(|end| **end == Err(Shed::BulkheadFull.into())).count();
        assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), callers - shed, "{ends:?}");
        shed
    }

    fn gauge(&self, series: &str) -> usize {
        let page = self.metrics.render();
        let value = page.lines().find_map(|line| line.strip_prefix(series));
        value.unwrap_or_else(|| panic!("no {series}")).trim().parse().unwrap()
    }

    /// What the partner seems to bear, and what is obeyed.
    fn limits(&self) -> (usize, usize) {
        let found = self.gauge(r#"concurrency_limit{scope="recommendations"}"#);
        (found, self.gauge(r#"bulkhead_limit{system="recommendations"}"#))
    }
}

/// Turns tokio's clock, not the world's: no test waits.
async fn later(by: Duration) {
    tokio::time::pause();
    tokio::time::advance(by).await;
    tokio::time::resume();
}

#[tokio::test]
async fn observe_tells_a_limit_and_sheds_nobody() {
    let shop = Shop::adapting("observe").await;
    for _ in 0..5 {
        assert_eq!(shop.crowd(MOST, SECOND).await, 0);
    }
    assert_eq!(shop.limits(), (MOST, MOST));
    for _ in 0..10 {
        assert_eq!(shop.crowd(MOST, 20 * SECOND).await, 0);
    }
    let (found, obeyed) = shop.limits();
    assert!((1..=MOST / 2 + 1).contains(&found), "{found}");
    assert_eq!(obeyed, MOST);
}

#[tokio::test]
async fn adaptive_sheds_above_its_limit_and_recovers() {
    let shop = Shop::adapting("adaptive").await;
    for _ in 0..5 {
        assert_eq!(shop.crowd(MOST, SECOND).await, 0);
    }
    for _ in 0..10 {
        shop.crowd(MOST, 20 * SECOND).await;
    }
    let (found, obeyed) = shop.limits();
    assert!((1..=MOST / 2 + 1).contains(&found), "{found}");
    assert_eq!(obeyed, found);
    assert_eq!(shop.crowd(MOST, SECOND).await, MOST - found, "above it nobody is let in");
    for _ in 0..200 {
        shop.crowd(MOST, SECOND).await;
    }
    assert_eq!(shop.limits(), (MOST, MOST));
    assert_eq!(shop.crowd(MOST, SECOND).await, 0);
}

#[tokio::test]
async fn fixed_is_what_is_configured_however_slow_the_partner() {
    let shop = Shop::adapting("fixed").await;
    for _ in 0..10 {
        assert_eq!(shop.crowd(MOST, 20 * SECOND).await, 0);
    }
    assert_eq!(shop.limits(), (MOST, MOST));
}

/// A partner that fails and comes back, again and again.
struct Flapping {
    shop: Shop,
    clock: ManualClock,
}

impl Flapping {
    async fn with(variables: &[(&str, &str)]) -> Self {
        let clock = ManualClock::new();
        clock.advance(SECOND);
        let common = [
            ("RECOMMENDATIONS_CB_MIN_REQUESTS", "2"),
            ("RECOMMENDATIONS_CB_OPEN_TIMEOUT", "10s"),
            ("RECOMMENDATIONS_CB_OPEN_JITTER", "0"),
            ("RECOMMENDATIONS_CB_HALF_OPEN_REQUESTS", "2"),
        ];
        let partner = StubPartner::playing([]).await;
        let all: Vec<_> = common.iter().chain(variables).copied().collect();
        Self { shop: Shop::with(partner, MonotonicClock::from(&clock), &all), clock }
    }

    /// How long it stays open when the partner falls again; by then it answers.
    async fn fall(&self) -> Duration {
        let breaker = self.shop.adapter.breaker();
        for _ in 0..2 {
            self.shop.partner.then(Answer::Status(500));
            self.shop.ask().await.unwrap_err();
        }
        assert_eq!(breaker.state(), BreakerState::Open);
        let open = breaker.retry_after().unwrap();
        self.clock.advance(open - Duration::from_millis(1));
        assert_eq!(self.shop.ask().await, Err(Shed::BreakerOpen.into()));
        self.clock.advance(Duration::from_millis(1));
        for _ in 0..2 {
            self.shop.partner.then(recommended());
            assert_eq!(self.shop.ask().await, Ok(()));
        }
        assert_eq!(breaker.state(), BreakerState::Closed);
        open
    }
}

#[tokio::test]
async fn the_open_time_grows_while_the_partner_flaps_and_comes_back_with_calm() {
    let flapping = Flapping::with(&[("RECOMMENDATIONS_CB_OPEN_TIMEOUT_MAX", "40s")]).await;
    for seconds in [10, 20, 40, 40] {
        assert_eq!(flapping.fall().await.as_secs(), seconds);
    }
    // Ten open times of calm take one doubling back.
    flapping.clock.advance(100 * SECOND);
    assert_eq!(flapping.fall().await.as_secs(), 40);
    flapping.clock.advance(300 * SECOND);
    assert_eq!(flapping.fall().await.as_secs(), 10);
}

#[tokio::test]
async fn without_a_maximum_of_its_own_the_open_time_stays_as_it_is() {
    let flapping = Flapping::with(&[]).await;
    for _ in 0..4 {
        assert_eq!(flapping.fall().await.as_secs(), 10);
    }
}
