//! What a scrape shows of an instance that has just begun.

use crate::harness::Harness;
use crate::metrics_page::Scrape;

/// More would be a label that nobody bounded.
const MOST_SERIES: usize = 3_000;

async fn scrape(harness: &Harness) -> Scrape {
    let page = harness.http.get(format!("{}/metrics", harness.admin)).send().await.unwrap();
    Scrape::read(&page.text().await.unwrap())
}

#[tokio::test]
async fn every_family_is_there_before_anything_happened() {
    let harness = Harness::new().await;
    let scrape = scrape(&harness).await;
    scrape.assert_as_told();
    for series in [
        r#"http_requests_total{method="POST",path="/v1/orders/{id}/confirm",status_class="5xx"}"#,
        r#"http_server_request_duration_seconds_count{error_type="",http_request_method="POST",http_response_status_code="202",http_route="/v1/orders/{id}/confirm"}"#,
        r#"http_client_request_duration_seconds_count{error_type="",http_request_method="POST",http_response_status_code="200",server_address="127.0.0.1"}"#,
        r#"circuit_breaker_state{system="sber"}"#,
        r#"app_errors_total{exception="provider_misconfigured",type="integration"}"#,
    ] {
        assert_eq!(scrape.value(series), 0.0, "{series}");
    }
    for system in ["sber", "odnakassa", "catalog", "recommendations"] {
        for name in ["external_health_up", "external_health_probe_age_seconds"] {
            scrape.value(&format!(r#"{name}{{system="{system}"}}"#));
        }
    }
    assert!(scrape.samples.len() < MOST_SERIES, "{} series", scrape.samples.len());
}

#[tokio::test]
async fn who_asks_for_openmetrics_is_led_from_a_bucket_to_a_trace() {
    let harness = Harness::new().await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let order = harness.place().await;
    let confirm = harness.http.post(format!("{}/v1/orders/{order}/confirm", harness.api));
    let confirm = confirm.header("traceparent", format!("00-{trace}-00f067aa0ba902b7-01"));
    assert_eq!(confirm.send().await.unwrap().status(), 200);
    let wish = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    let page = harness.http.get(format!("{}/metrics", harness.admin)).header("accept", wish);
    let page = page.send().await.unwrap();
    let told = page.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(told.starts_with("application/openmetrics-text; version=1.0.0"), "{told}");
    let page = page.text().await.unwrap();
    assert!(page.ends_with("\n# EOF\n"));
    let led = |family: &str, label: &str| {
        let exemplar = format!("# {{trace_id=\"{trace}\"}} ");
        page.lines().any(|line| {
            line.starts_with(family) && line.contains(label) && line.contains(&exemplar)
        })
    };
    let route = r#"http_route="/v1/orders/{id}/confirm""#;
    assert!(led("http_server_request_duration_seconds_bucket", route), "{page}");
    assert!(led("external_call_duration_seconds_bucket", r#"operation="register""#), "{page}");
}
