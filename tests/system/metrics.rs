//! What a scrape shows of an instance that has just begun.

use crate::metrics_page::Scrape;
use crate::service::World;

/// More would be a label that nobody bounded.
const MOST_SERIES: usize = 3_000;

async fn scrape(world: &World) -> Scrape {
    let page = world.http.get(format!("{}/metrics", world.admin)).send().await.unwrap();
    Scrape::read(&page.text().await.unwrap())
}

#[tokio::test]
async fn every_family_is_there_before_anything_happened() {
    let world = World::new().await;
    let scrape = scrape(&world).await;
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
