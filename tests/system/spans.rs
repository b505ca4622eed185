//! The traces that a collector gets: joined to the client's, known to the partners, whole.

use crate::collector::{Collector, attribute, hex};
use crate::harness::{Harness, Reply};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use order_service::sandbox::{Mood, PartnerName};
use serde_json::json;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENT: &str = "00f067aa0ba902b7";

async fn traced() -> (Harness, Collector) {
    let (mut harness, collector) = (Harness::without_instance().await, Collector::start().await);
    harness.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    harness.set("OTEL_BSP_SCHEDULE_DELAY", "20");
    harness.start(&[]).await;
    (harness, collector)
}

async fn confirm_traced(harness: &Harness, order: &str) -> Reply {
    let url = format!("{}/v1/orders/{order}/confirm", harness.api);
    let traceparent = format!("00-{TRACE}-{CLIENT}-01");
    let sent = harness.http.post(url).header("traceparent", traceparent).send().await.unwrap();
    let (status, headers) = (sent.status().as_u16(), sent.headers().clone());
    let body = serde_json::from_str(&sent.text().await.unwrap()).unwrap();
    Reply { status, headers, body }
}

fn is_child(span: &Span, parent: &Span) -> bool {
    span.parent_span_id == parent.span_id && span.trace_id == parent.trace_id
}

fn event<'a>(span: &'a Span, name: &str) -> &'a str {
    let found = span.events.iter().find(|event| event.name == name);
    found.map_or_else(|| panic!("no {name} in {span:?}"), |event| event.name.as_str())
}

#[tokio::test]
async fn a_trace_goes_from_the_client_through_us_to_the_partner() {
    let (harness, collector) = traced().await;
    let order = harness.place().await;
    assert_eq!(confirm_traced(&harness, &order).await.status, 200);

    let server = collector.span("POST /v1/orders/{id}/confirm", Some(TRACE)).await;
    assert_eq!(hex(&server.parent_span_id), CLIENT);
    assert_eq!(server.kind(), SpanKind::Server);
    for (key, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/v1/orders/{id}/confirm"),
        ("http.response.status_code", "200"),
        ("url.scheme", "http"),
        ("order.id", &order),
        ("trace_id", TRACE),
    ] {
        assert_eq!(attribute(&server, key), value);
    }
    let use_case = collector.span("ConfirmOrder", Some(TRACE)).await;
    assert!(is_child(&use_case, &server), "{use_case:?}");
    for (key, value) in [
        ("order.id", order.as_str()),
        ("order.status", "awaiting_payment"),
        ("payment.method", "sber"),
    ] {
        assert_eq!(attribute(&use_case, key), value);
    }
    let adapter = collector.span("SberAdapter.Register", Some(TRACE)).await;
    assert!(is_child(&adapter, &use_case), "{adapter:?}");
    for (key, value) in [
        ("external.system", "sber"),
        ("circuit_breaker.state", "closed"),
        ("bulkhead.wait_ms", "0"),
    ] {
        assert_eq!(attribute(&adapter, key), value);
    }
    attribute(&adapter, "deadline.remaining_ms");
    let client = collector.span("POST", Some(TRACE)).await;
    assert!(is_child(&client, &adapter), "{client:?}");
    assert_eq!(client.kind(), SpanKind::Client);
    assert!(attribute(&client, "url.full").ends_with("/register.do"));

    let told = harness.partners.calls(PartnerName::Sber);
    let told = told.iter().find(|call| call.operation == "register.do").unwrap();
    let name = format!("00-{TRACE}-{}-01", hex(&client.span_id));
    assert_eq!(told.traceparent.as_deref(), Some(name.as_str()), "the partner knows our span");
    let storage = collector.span("change orders", Some(TRACE)).await;
    assert_eq!(attribute(&storage, "db.system.name"), "sqlite");
    assert!(is_child(&storage, &use_case), "{storage:?} {use_case:?}");
}

#[tokio::test]
async fn a_task_is_a_trace_of_its_own_that_leads_back_to_its_request() {
    let (harness, collector) = traced().await;
    for partner in PartnerName::payment_systems() {
        harness.partners.set_mode(partner, Mood::Down).await;
    }
    let order = harness.place().await;
    let queued = confirm_traced(&harness, &order).await;
    assert_eq!(queued.status, 202, "{}", queued.body);
    let use_case = collector.span("ConfirmOrder", Some(TRACE)).await;
    event(&use_case, "fallback");
    assert_eq!(attribute(&use_case, "fallback.kind"), "queued");

    let request = collector.span("POST /v1/orders/{id}/confirm", Some(TRACE)).await;
    let task = collector.span("payment_task.process", None).await;
    assert_eq!(task.kind(), SpanKind::Consumer);
    assert_eq!(task.parent_span_id, Vec::<u8>::new());
    assert_ne!(task.trace_id, request.trace_id);
    let link = &task.links[0];
    assert_eq!((&link.trace_id, &link.span_id), (&request.trace_id, &request.span_id));
    assert_eq!(attribute(&task, "task.id"), queued.body["task_id"].to_string());
    assert_eq!(attribute(&task, "task.kind"), "register_payment");
    attribute(&task, "task.attempt");
    let trace = hex(&task.trace_id);
    assert_eq!(attribute(&task, "trace_id"), trace);
    let adapter = collector.span("SberAdapter.Register", Some(&trace)).await;
    assert!(is_child(&adapter, &task));
}

#[tokio::test]
async fn a_refusal_is_an_event_and_an_error_of_the_adapters_span() {
    let (harness, collector) = traced().await;
    let order = harness.place().await;
    let url = format!("{}/admin/systems/sber/breaker", harness.admin);
    let forced = harness.http.put(url).header("content-type", "application/json");
    let forced = forced.body(json!({"mode": "forced_open"}).to_string()).send().await.unwrap();
    assert!(forced.status().is_success());
    assert_eq!(confirm_traced(&harness, &order).await.status, 200);
    let adapter = collector.span("SberAdapter.Register", Some(TRACE)).await;
    event(&adapter, "circuit_breaker.rejected");
    assert_eq!(attribute(&adapter, "circuit_breaker.state"), "open");
    let status = adapter.status.unwrap();
    assert_eq!((status.code(), status.message.as_str()), (StatusCode::Error, "circuit open"));
    let use_case = collector.span("ConfirmOrder", Some(TRACE)).await;
    assert_eq!(attribute(&use_case, "fallback.kind"), "failover");
}

#[tokio::test]
async fn each_retry_is_an_event_and_a_span_that_says_its_number() {
    let (harness, collector) = traced().await;
    harness.partners.set_mode(PartnerName::Catalog, Mood::Error500).await;
    let url = format!("{}/v1/products/p-1", harness.api);
    let traceparent = format!("00-{TRACE}-{CLIENT}-01");
    let failed = harness.http.get(url).header("traceparent", traceparent).send().await.unwrap();
    assert_eq!(failed.status(), 503);
    let server = collector.span("GET /v1/products/{id}", Some(TRACE)).await;
    assert_eq!(server.status.as_ref().unwrap().code(), StatusCode::Error);
    assert_eq!(attribute(&server, "error.type"), "catalog_unavailable");
    let adapter = collector.span("CatalogAdapter.GetProductDetails", Some(TRACE)).await;
    event(&adapter, "retry");
    attribute(&adapter, "retry.attempts");
    let mut resends = collector.all("GET", TRACE);
    resends
        .retain(|span| span.attributes.iter().any(|pair| pair.key == "http.request.resend_count"));
    let counts: Vec<_> =
        resends.iter().map(|span| attribute(span, "http.request.resend_count")).collect();
    assert_eq!(counts, ["1", "2"]);
}

#[tokio::test]
async fn a_call_that_finds_no_place_is_an_event() {
    let (mut harness, collector) = (Harness::without_instance().await, Collector::start().await);
    harness.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    harness.set("OTEL_BSP_SCHEDULE_DELAY", "20");
    harness.set("SBER_MAX_CONCURRENT", "1");
    harness.set("SBER_MAX_QUEUE", "0");
    harness.start(&[]).await;
    harness.partners.set_mode(PartnerName::Sber, Mood::Hang).await;
    let (first, second) = (harness.place().await, harness.place().await);
    let hanging = harness.confirm(&first);
    let refused = async {
        while harness.partners.call_totals(PartnerName::Sber).in_flight == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        confirm_traced(&harness, &second).await
    };
    let (_, refused) = tokio::join!(hanging, refused);
    assert_eq!((refused.status, &refused.body["provider"]), (200, &json!("odnakassa")));
    let adapter = collector.span("SberAdapter.Register", Some(TRACE)).await;
    event(&adapter, "bulkhead.rejected");
    assert_eq!(adapter.status.unwrap().code(), StatusCode::Error);
}

#[tokio::test]
async fn who_samples_nothing_tells_the_partners_so() {
    let (mut harness, collector) = (Harness::without_instance().await, Collector::start().await);
    harness.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    harness.set("OTEL_TRACES_SAMPLER", "always_off");
    harness.start(&[]).await;
    let order = harness.place().await;
    let confirmed = harness.confirm(&order).await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.body);
    let trace = confirmed.headers["x-request-id"].to_str().unwrap();
    let told = harness.partners.calls(PartnerName::Sber);
    let told = told.iter().find(|call| call.operation == "register.do").unwrap();
    let told = told.traceparent.as_deref().unwrap();
    assert!(told.starts_with(&format!("00-{trace}-")) && told.ends_with("-00"), "{told}");
}
