//! The recommender's adapter against a partner that answers, lies and falls silent.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../stub_partner/mod.rs"]
#[expect(dead_code, reason = "other tests want more of their partner")]
mod stub_partner;
mod variables;

use order_service::adapters::observe::adapter_events::Untold;
use order_service::adapters::outbound::http_client::base_url;
use order_service::adapters::outbound::recommendations::{
    RecommendationsAdapter, RecommendationsConfig,
};
use order_service::adapters::resilience::breaker::BreakerState;
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::observer::Silent;
use order_service::core::domain::ids::CustomerId;
use order_service::core::domain::unavailable::{Cause, NotExecuted, Shed, Unknown};
use order_service::core::ports::call::Call;
use order_service::core::ports::deadline::Deadline;
use order_service::core::ports::recommendations::{Recommendation, RecommendationsPort};
use order_service::core::ports::trace::TraceParent;
use std::sync::Arc;
use std::time::Duration;
use stub_partner::{Answer, StubPartner};

const HINT: &str = r#"{"items":[{"product_id":"p-2","name":"Мёд","why":"tea"}],"page":1}"#;

struct Shop {
    partner: StubPartner,
    adapter: RecommendationsAdapter,
}

impl Shop {
    fn with(partner: StubPartner, adjust: impl FnOnce(&mut RecommendationsConfig)) -> Self {
        let mut config = RecommendationsConfig::new(base_url(&partner.url).unwrap());
        config.guards.timeouts.read = Duration::from_millis(100);
        adjust(&mut config);
        let (observer, events) = (Arc::new(Silent), Arc::new(Untold));
        let adapter =
            RecommendationsAdapter::new(config, MonotonicClock::tokio(), observer, events).unwrap();
        Self { partner, adapter }
    }

    async fn playing(script: impl IntoIterator<Item = Answer>) -> Self {
        Self::with(StubPartner::playing(script).await, |_| ())
    }

    async fn ask(&self) -> Result<Vec<Recommendation>, Cause> {
        self.ask_within(Duration::from_secs(10)).await
    }

    async fn ask_within(&self, wait: Duration) -> Result<Vec<Recommendation>, Cause> {
        let call = Call::new(Deadline::after(wait), None);
        let customer = CustomerId::parse("c-1").unwrap();
        self.adapter.get_recommendations(&customer, &call).await.map_err(|error| error.0.cause)
    }
}

#[tokio::test]
async fn hints_are_asked_for_by_the_customers_id_in_the_callers_trace() {
    let shop = Shop::playing([Answer::json(HINT)]).await;
    let trace = TraceParent::new(7, 8);
    let call = Call::new(Deadline::after(Duration::from_secs(1)), Some(trace.clone()));
    let customer = CustomerId::parse("c-1").unwrap();
    let hints = shop.adapter.get_recommendations(&customer, &call).await.unwrap();

    let [hint] = hints.as_slice() else { panic!("{hints:?}") };
    assert_eq!((hint.product_id.as_str(), hint.name.as_str()), ("p-2", "Мёд"));
    let asked = shop.partner.heard().remove(0);
    assert!(asked.starts_with("GET /customers/c-1/recommendations HTTP/1.1\r\n"), "{asked}");
    let told = asked.lines().find_map(|line| line.strip_prefix("traceparent: ")).unwrap();
    assert_eq!(TraceParent::parse(told).unwrap().trace_id(), trace.trace_id());
}

#[tokio::test]
async fn a_customer_without_hints_has_an_empty_list() {
    let shop = Shop::playing([Answer::Status(404), Answer::json(r#"{"items":[]}"#)]).await;
    assert_eq!(shop.ask().await, Ok(Vec::new()));
    assert_eq!(shop.ask().await, Ok(Vec::new()));
}

#[tokio::test]
async fn each_silence_is_told_by_its_cause() {
    for (silence, cause) in [
        (Answer::Status(500), Cause::Unknown(Unknown::PartnerFailed)),
        (Answer::Status(429), Cause::NotExecuted(NotExecuted::Throttled)),
        (Answer::Status(403), Cause::NotExecuted(NotExecuted::Misdirected)),
        (
            Answer::With(301, "Location: http://127.0.0.1:1/"),
            Cause::NotExecuted(NotExecuted::Misdirected),
        ),
        (Answer::Html("<html>"), Cause::Unknown(Unknown::Unreadable)),
        (
            Answer::json(r#"{"items":[{"product_id":"a/b","name":"n"}]}"#),
            Cause::Unknown(Unknown::Unreadable),
        ),
        (Answer::Truncated, Cause::Unknown(Unknown::Broken)),
        (Answer::Huge, Cause::Unknown(Unknown::Unreadable)),
        (Answer::Reset, Cause::Unknown(Unknown::Broken)),
        (Answer::Hang, Cause::Unknown(Unknown::TimedOut)),
    ] {
        let shop = Shop::playing([]).await;
        shop.partner.then(silence.clone());
        assert_eq!(shop.ask().await, Err(cause), "{silence:?}");
        assert_eq!(shop.partner.calls(), 1, "hints are not worth a second try");
    }
}

#[tokio::test]
async fn a_caller_in_a_hurry_is_not_the_recommenders_fault() {
    let shop = Shop::with(StubPartner::playing([Answer::Hang]).await, |config| {
        config.guards.timeouts.read = Duration::from_secs(1);
        config.guards.breaker.min_requests = 1;
    });
    assert_eq!(
        shop.ask_within(Duration::from_millis(100)).await,
        Err(Cause::NotExecuted(NotExecuted::Shed(Shed::DeadlineTooShort)))
    );
    assert_eq!(shop.partner.calls(), 0);
    assert_eq!(
        shop.ask_within(Duration::from_millis(200)).await,
        Err(Cause::Unknown(Unknown::DeadlinePassed))
    );
    assert_eq!(shop.adapter.breaker().state(), BreakerState::Closed);
}

#[tokio::test]
async fn an_open_breaker_sends_nothing() {
    let shop = Shop::with(StubPartner::playing([Answer::Status(500)]).await, |config| {
        config.guards.breaker.min_requests = 1;
    });
    assert_eq!(shop.ask().await, Err(Cause::Unknown(Unknown::PartnerFailed)));
    assert_eq!(shop.adapter.breaker().state(), BreakerState::Open);
    assert_eq!(shop.ask().await, Err(Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen))));
    assert_eq!(shop.partner.calls(), 1);
}

#[tokio::test]
async fn a_full_semaphore_sheds_at_once() {
    let shop = Shop::with(StubPartner::held([Answer::json(HINT)]).await, |config| {
        config.guards.bulkhead.max_concurrent = 1;
    });
    let shed = async {
        shop.partner.until_heard(1).await;
        let end = shop.ask().await;
        shop.partner.let_one_through();
        end
    };
    let (served, shed) = tokio::join!(shop.ask(), shed);
    assert_eq!(served.map(|hints| hints.len()), Ok(1));
    assert_eq!(
        (shed, shop.partner.calls()),
        (Err(Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull))), 1)
    );
}
