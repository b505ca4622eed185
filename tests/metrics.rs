//! The metrics as a scraper sees them, held against the page that people read: docs/metrics.md.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod metrics_page;

use metrics_page::{Scrape, page, table, words};
use order_service::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use order_service::adapters::observe::metrics::{BuildInfo, Metrics, labels};
use order_service::adapters::observe::systems::{Probed, SystemHealth};
use order_service::adapters::observe::traffic::{Priority, ServedRequest, ShedReason, Traffic};
use order_service::adapters::resilience::breaker::{Breaker, BreakerConfig};
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::observer::{
    BulkheadRejection, CallOutcome, Observer, RetryOutcome,
};
use order_service::adapters::resilience::semaphore::Semaphore;
use order_service::adapters::resilience::settings::BulkheadConfig;
use order_service::adapters::resilience::verdict::Verdict;
use order_service::core::domain::money::Money;
use order_service::core::domain::order::OrderStatus;
use order_service::core::domain::provider::Provider;
use order_service::core::domain::unavailable::{Cause, System, Unknown};
use order_service::core::payment::task::TaskKind;
use order_service::core::ports::events::{
    CallbackOutcome, Event, Events, FallbackKind, IdempotencyResult, ReconcileFinding,
    RegistrationResult, StepOutcome,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Probe(System, Probed);

impl SystemHealth for Probe {
    fn system(&self) -> System {
        self.0
    }

    fn look(&self) -> Probed {
        self.1
    }
}

fn scrape(metrics: &Metrics) -> Scrape {
    Scrape::read(&metrics.render())
}

fn metrics() -> Arc<Metrics> {
    Arc::new(Metrics::new(BuildInfo {
        version: "1.2.3",
        commit: "abc",
        rustc: "1.95.0",
        built_at: "2026-12-01T00:00:00Z",
    }))
}

fn guards(metrics: &Arc<Metrics>, system: System, config: &BreakerConfig) -> Arc<Breaker> {
    let observer: Arc<dyn Observer> = Arc::clone(metrics) as _;
    let breaker = Arc::new(
        Breaker::new(system, config, MonotonicClock::tokio(), Arc::clone(&observer)).unwrap(),
    );
    let bulkhead = BulkheadConfig::default();
    let semaphore = Semaphore::new(system, &bulkhead, MonotonicClock::tokio(), observer).unwrap();
    metrics.watch(Arc::clone(&breaker), Arc::new(semaphore));
    breaker
}

/// Everything that begins to exist only when it happens, happens.
fn busy() -> Arc<Metrics> {
    let metrics = metrics();
    for system in System::ALL {
        guards(&metrics, system, &BreakerConfig::default());
        metrics.watch_health(Arc::new(Probe(system, Probed::Up { age: SECOND })));
    }
    metrics.began("GET");
    metrics.ended(&request("/v1/orders/{id}", 200, None));
    for check in ["database", "shutdown"].into_iter().chain(System::ALL.map(System::as_str)) {
        metrics.checked(check, true);
    }
    metrics.inflight_limit(1024);
    metrics.tell(&exchanged("GET", Some(200), None));
    metrics
}

fn exchanged(
    method: &'static str,
    status: Option<u16>,
    failure: Option<&'static str>,
) -> AdapterEvent {
    AdapterEvent::Exchanged { server: "bank.example".into(), method, status, failure, took: SECOND }
}

fn request<'a>(route: &'a str, status: u16, code: Option<&'static str>) -> ServedRequest<'a> {
    ServedRequest { method: "GET", route: Some(route), status, took: SECOND, trace_id: "ab", code }
}

#[tokio::test]
async fn the_page_lists_every_family_with_its_type_and_labels() {
    scrape(&busy()).assert_as_told();
}

#[tokio::test]
async fn the_page_lists_every_value_of_a_closed_label() {
    let scrape = scrape(&busy());
    let labels = scrape.labels();
    let page = page();
    for row in table(&page, "Closed sets") {
        let [label, families, told] = row.as_slice() else { panic!("{row:?}") };
        for family in words(families) {
            let shown: BTreeSet<&str> = labels
                .iter()
                .filter(|(name, of, _)| *name == family && of == label)
                .map(|(_, _, value)| *value)
                .filter(|value| !value.is_empty())
                .collect();
            assert_eq!(shown, words(told), "{label} of {family}");
        }
    }
}

/// The words of the door's problems, as its table spells them.
fn problem_codes() -> BTreeSet<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/adapters/inbound/http_kit/code.rs");
    let source = std::fs::read_to_string(path).unwrap();
    let (_, table) = source.split_once("\ncodes! {").unwrap();
    let (table, _) = table.split_once("\n}").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("    ") && !line.starts_with("     "));
    rows.map(|row| row.split('"').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn every_problem_of_the_door_has_a_series() {
    let codes = problem_codes();
    assert!(codes.contains("invalid_request") && codes.len() > 20, "{codes:?}");
    let known: BTreeSet<String> =
        labels::APP_ERRORS.iter().map(|(_, word)| (*word).to_owned()).collect();
    assert_eq!(codes.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[tokio::test]
async fn the_page_tells_the_edges_of_every_histogram() {
    let scrape = scrape(&busy());
    let page = page();
    let rows = table(&page, "Buckets");
    let mut told = BTreeSet::new();
    for row in &rows {
        let [name, families, edges] = row.as_slice() else { panic!("{row:?}") };
        let edges: BTreeSet<String> =
            words(edges).into_iter().map(|edge| edge.parse::<f64>().unwrap().to_string()).collect();
        for family in words(families) {
            told.insert(family);
            let prefix = format!("{family}_bucket{{");
            let shown: BTreeSet<String> = scrape
                .samples
                .keys()
                .filter(|series| series.starts_with(&prefix))
                .filter_map(|series| series.split("le=\"").nth(1)?.split('"').next())
                .filter(|edge| *edge != "+Inf")
                .map(str::to_owned)
                .collect();
            assert_eq!(shown, edges, "{name} for {family}");
        }
    }
    let histograms = scrape.types.iter().filter(|(_, kind)| *kind == "histogram");
    assert_eq!(histograms.map(|(name, _)| name.as_str()).collect::<BTreeSet<_>>(), told);
}

#[tokio::test]
async fn what_the_core_tells_is_counted() {
    let metrics = metrics();
    let system = Provider::Sber;
    let kind = TaskKind::RegisterPayment;
    let cause = Cause::Unknown(Unknown::TimedOut);
    for event in [
        Event::OrderPlaced { total: Money::rub(19_900).unwrap() },
        Event::OrderMoved { from: OrderStatus::New, to: OrderStatus::Registering },
        Event::Registration { system, result: RegistrationResult::Queued },
        Event::Reconciled { system, finding: ReconcileFinding::Mismatch },
        Event::Fallback {
            system: System::Payment(Provider::Sber),
            kind: FallbackKind::Queued,
            cause,
        },
        Event::StaleServed { age: Duration::from_secs(45) },
        Event::TaskStep { kind, outcome: StepOutcome::LeaseLost },
        Event::TaskFinished { kind, outcome: "succeeded", age: SECOND },
        Event::Review { kind },
        Event::LateTruth { system },
        Event::StrangeStatus { system },
        Event::Callback { system, outcome: CallbackOutcome::UnknownNumber },
        Event::Idempotency(IdempotencyResult::Replayed),
    ] {
        metrics.record(&event);
    }
    let scrape = scrape(&metrics);
    for series in [
        "orders_created_total",
        r#"order_amount_rub_bucket{le="500"}"#,
        r#"order_transitions_total{from="new",to="registering"}"#,
        r#"payments_registered_total{result="queued",system="sber"}"#,
        r#"payments_reconciled_total{finding="mismatch",system="sber"}"#,
        r#"fallback_total{kind="queued",reason="timeout",system="sber"}"#,
        r#"stale_response_age_seconds_bucket{system="catalog",le="60"}"#,
        r#"task_attempts_total{kind="register_payment",outcome="lease_lost"}"#,
        r#"task_completion_seconds_count{kind="register_payment",outcome="succeeded"}"#,
        r#"app_errors_total{exception="task_review",type="domain"}"#,
        r#"app_errors_total{exception="late_payment",type="domain"}"#,
        r#"task_reviews_total{kind="register_payment"}"#,
        r#"late_payments_total{system="sber"}"#,
        r#"strange_statuses_total{system="sber"}"#,
        r#"payment_callbacks_total{outcome="unknown_number",system="sber"}"#,
        r#"idempotency_total{result="replayed"}"#,
    ] {
        assert_eq!(scrape.value(series), 1.0, "{series}");
    }
    assert_eq!(scrape.value("order_amount_rub_sum"), 199.0);
    assert_eq!(scrape.value(r#"order_amount_rub_bucket{le="100"}"#), 0.0);
}

#[tokio::test]
async fn what_the_adapters_tell_is_counted() {
    let metrics = metrics();
    let system = System::Catalog;
    for event in [
        AdapterEvent::CacheRead { system, hit: true },
        AdapterEvent::CacheRead { system, hit: false },
        AdapterEvent::SharedCacheRead { hit: true },
        AdapterEvent::SharedCacheRead { hit: false },
        AdapterEvent::FellBackToCache { system, cause: Cause::Unknown(Unknown::TimedOut) },
        AdapterEvent::NothingCached { system },
        AdapterEvent::Misconfigured { system: System::Payment(Provider::Sber) },
        AdapterEvent::TaskPoll,
        AdapterEvent::KeysUnusable,
    ] {
        metrics.tell(&event);
    }
    let scrape = scrape(&metrics);
    for series in [
        r#"cache_hits_total{cache="catalog"}"#,
        r#"cache_misses_total{cache="catalog"}"#,
        r#"cache_hits_total{cache="catalog_shared"}"#,
        r#"cache_misses_total{cache="catalog_shared"}"#,
        r#"fallback_total{kind="cached",reason="timeout",system="catalog"}"#,
        r#"fallback_failed_total{kind="cached",system="catalog"}"#,
        r#"app_errors_total{exception="provider_misconfigured",type="integration"}"#,
        r#"system_misconfigured_total{system="sber"}"#,
        r#"app_errors_total{exception="keys_unusable",type="technical"}"#,
    ] {
        assert_eq!(scrape.value(series), 1.0, "{series}");
    }
    assert!(scrape.value("task_poll_last_success_timestamp_seconds") > 1.7e9);
}

#[tokio::test]
async fn requests_are_counted_by_their_route_and_nobody_invents_series() {
    let metrics = metrics();
    metrics.began("GET");
    metrics.began("GET");
    metrics.ended(&request("/v1/orders/{id}", 503, Some("storage_unavailable")));
    metrics.ended(&ServedRequest {
        method: "BREW",
        route: None,
        ..request("", 404, Some("teapot"))
    });
    metrics.shed(Priority::Normal, ShedReason::Deadline);
    metrics.shed(Priority::Normal, ShedReason::RateLimit);
    let scrape = scrape(&metrics);
    for series in [
        r#"http_requests_total{method="GET",path="/v1/orders/{id}",status_class="5xx"}"#,
        r#"http_requests_total{method="_OTHER",path="unmatched",status_class="4xx"}"#,
        r#"http_server_request_duration_seconds_bucket{error_type="503",http_request_method="GET",http_response_status_code="503",http_route="/v1/orders/{id}",le="1"}"#,
        r#"http_server_active_requests{http_request_method="GET"}"#,
        r#"load_shed_total{priority="normal",reason="deadline",scope="inbound"}"#,
        r#"load_shed_total{priority="normal",reason="rate_limit",scope="inbound"}"#,
        r#"deadline_exceeded_total{stage="admission"}"#,
        r#"app_errors_total{exception="storage_unavailable",type="technical"}"#,
        r#"app_errors_total{exception="internal",type="unexpected"}"#,
    ] {
        assert_eq!(scrape.value(series), 1.0, "{series}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_breaker_is_shown_as_it_stands_at_the_scrape() {
    let metrics = metrics();
    let config = BreakerConfig { min_requests: 2, open_jitter: 0.0, ..BreakerConfig::default() };
    let breaker = guards(&metrics, System::Payment(Provider::Sber), &config);
    let gauge = |name: &str| scrape(&metrics).value(&format!(r#"{name}{{system="sber"}}"#));
    let info = |state: &str| {
        let series = format!(r#"circuit_breaker_state_info{{state="{state}",system="sber"}}"#);
        scrape(&metrics).value(&series)
    };
    breaker.try_acquire().unwrap().record(Verdict::Failing, SECOND);
    assert!(gauge("circuit_breaker_window_failure_ratio").is_nan(), "one call proves nothing");
    assert_eq!((gauge("circuit_breaker_state"), info("closed")), (0.0, 1.0));

    breaker.try_acquire().unwrap().record(Verdict::Failing, SECOND);
    assert_eq!((gauge("circuit_breaker_state"), info("open"), info("closed")), (1.0, 1.0, 0.0));
    breaker.check().unwrap_err();
    tokio::time::advance(Duration::from_secs(20)).await;
    assert_eq!(gauge("circuit_breaker_probe_due"), 0.0);
    assert_eq!(gauge("circuit_breaker_open_seconds_total"), 20.0);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(gauge("circuit_breaker_probe_due"), 1.0);
    assert_eq!(gauge("circuit_breaker_state"), 2.0, "though nobody came to probe");

    let probe = breaker.try_acquire().unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!((gauge("circuit_breaker_state"), info("half_open")), (2.0, 1.0));
    assert_eq!(gauge("circuit_breaker_open_seconds_total"), 30.0);
    drop(probe);
    breaker.set_mode(order_service::adapters::resilience::breaker::BreakerMode::ForcedOpen, None);
    assert_eq!((info("forced_open"), info("half_open")), (1.0, 0.0));

    let scrape = scrape(&metrics);
    for series in [
        r#"circuit_breaker_transitions_total{from="closed",system="sber",to="open"}"#,
        r#"circuit_breaker_transitions_total{from="open",system="sber",to="half_open"}"#,
        r#"circuit_breaker_rejected_total{reason="open",system="sber"}"#,
        r#"circuit_breaker_mode{mode="forced_open",system="sber"}"#,
    ] {
        assert_eq!(scrape.value(series), 1.0, "{series}");
    }
    assert_eq!(scrape.value(r#"bulkhead_limit{system="sber"}"#), 20.0);
}

#[tokio::test]
async fn what_the_guards_tell_is_counted() {
    let metrics = metrics();
    let system = System::Payment(Provider::OdnaKassa);
    metrics.called(system, "register", CallOutcome::Failure, SECOND, None);
    metrics.called(system, "cancel", CallOutcome::Ignored, Duration::from_micros(3), None);
    metrics.called(system, "refund", CallOutcome::Ignored, SECOND, None);
    metrics.bulkhead_waited(system, Duration::from_millis(2));
    metrics.bulkhead_rejected(system, BulkheadRejection::WaitTimeout);
    metrics.retried(system, RetryOutcome::Budget);
    let scrape = scrape(&metrics);
    for series in [
        r#"circuit_breaker_calls_total{operation="register",outcome="failure",system="odnakassa"}"#,
        r#"external_call_duration_seconds_bucket{operation="register",outcome="failure",system="odnakassa",le="1"}"#,
        r#"deadline_exceeded_total{stage="before_call"}"#,
        r#"deadline_exceeded_total{stage="in_call"}"#,
        r#"bulkhead_wait_seconds_bucket{system="odnakassa",le="0.0025"}"#,
        r#"bulkhead_rejected_total{system="odnakassa"}"#,
        r#"bulkhead_rejections_total{reason="wait_timeout",system="odnakassa"}"#,
        r#"retry_attempts_total{outcome="budget",system="odnakassa"}"#,
        r#"retry_budget_exhausted_total{system="odnakassa"}"#,
    ] {
        assert_eq!(scrape.value(series), 1.0, "{series}");
    }
}

#[test]
fn an_exchange_with_a_partner_has_its_status_or_the_cause_that_there_is_none() {
    let metrics = metrics();
    for (status, failure) in [(Some(302), None), (Some(503), None), (None, Some("timeout"))] {
        metrics.tell(&exchanged("POST", status, failure));
    }
    let scrape = scrape(&metrics);
    for (status, error) in [("302", ""), ("503", "503"), ("", "timeout")] {
        let series = format!(
            r#"http_client_request_duration_seconds_count{{error_type="{error}",http_request_method="POST",http_response_status_code="{status}",server_address="bank.example"}}"#
        );
        assert_eq!(scrape.value(&series), 1.0, "{series}");
    }
}

#[tokio::test]
async fn everything_is_there_at_zero_before_anything_happened() {
    let scrape = scrape(&metrics());
    for series in [
        r#"retry_attempts_total{outcome="exhausted",system="catalog"}"#,
        r#"bulkhead_rejected_total{system="recommendations"}"#,
        r#"circuit_breaker_rejected_total{reason="half_open_full",system="sber"}"#,
        r#"tasks{kind="refund_payment",status="review"}"#,
        r#"payments_registered_total{result="failed",system="odnakassa"}"#,
        r#"app_errors_total{exception="internal",type="unexpected"}"#,
        "app_shutdown_duration_seconds",
    ] {
        assert_eq!(scrape.value(series), 0.0, "{series}");
    }
    let build = r#"app_build_info{commit="abc",rustc="1.95.0",version="1.2.3"}"#;
    assert_eq!(scrape.value(build), 1.0);
    assert!(scrape.value("process_resident_memory_bytes") > 0.0);
    assert!(scrape.samples.len() < 2_500, "{} series", scrape.samples.len());
}
