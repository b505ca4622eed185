//! Products and recommendations.

use crate::harness::Harness;
use order_service::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Shed, Unknown};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_product_is_shown_with_its_price_and_its_age() {
    let harness = Harness::open();
    let fresh = harness.get("/v1/products/p-1").await;
    let expected = |stale: bool| {
        json!({
            "id": "p-1",
            "name": "Product p-1",
            "price": {"amount": 10_000, "currency": "RUB"},
            "stale": stale,
            "as_of": "2025-11-30T10:36:40Z",
        })
    };
    assert_eq!((fresh.status.as_u16(), fresh.json.clone()), (200, expected(false)));
    assert_eq!(fresh.header("age"), "");
    *harness.catalog.stale.lock().unwrap() = Some(Duration::from_millis(90_500));
    let stale = harness.get("/v1/products/p-1").await;
    assert_eq!((stale.status.as_u16(), stale.json.clone()), (200, expected(true)));
    assert_eq!(stale.header("age"), "90");
}

#[tokio::test]
async fn a_product_that_cannot_be_shown_says_why() {
    let harness = Harness::open();
    let reply = harness.get("/v1/products/gone").await;
    assert_eq!((reply.status.as_u16(), reply.code()), (404, "product_not_found"));
    for malformed in ["a%20b", "%2E%2E", "%C3%A9", "%FF", &"x".repeat(65)] {
        let reply = harness.get(&format!("/v1/products/{malformed}")).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (400, "invalid_request"), "{malformed}");
        assert_eq!(reply.pointers(), ["/id"]);
    }
    assert_eq!(harness.get("/v1/products/p-1?fresh=1").await.pointers(), ["/fresh"]);
    *harness.catalog.down.lock().unwrap() =
        Some(NoAnswer::new(Cause::NotExecuted(NotExecuted::Unreachable)));
    let reply = harness.get("/v1/products/p-1").await;
    assert_eq!((reply.status.as_u16(), reply.code()), (503, "catalog_unavailable"));
    assert_eq!(reply.header("retry-after"), "5");
}

#[tokio::test]
async fn recommendations_are_hints_or_an_honest_nothing() {
    let harness = Harness::open();
    let path = "/v1/customers/c-1/recommendations";
    let reply = harness.get(path).await;
    let hint = json!({"product_id": "p-7", "name": "Product p-7"});
    assert_eq!(reply.json, json!({"items": [hint], "degraded": false}));
    *harness.recommender.down.lock().unwrap() =
        Some(Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen)));
    let reply = harness.get(path).await;
    assert_eq!((reply.status.as_u16(), reply.json), (200, json!({"items": [], "degraded": true})));
    // This service does not cover up what was reached and failed.
    *harness.recommender.down.lock().unwrap() = Some(Cause::Unknown(Unknown::TimedOut));
    let reply = harness.get(path).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (503, "recommendations_unavailable"));
    // And no service covers up that it asks wrongly.
    *harness.recommender.down.lock().unwrap() = Some(Cause::NotExecuted(NotExecuted::Misdirected));
    assert_eq!(harness.get(path).await.status, 503);
    let reply = harness.get("/v1/customers/%2E/recommendations").await;
    assert_eq!((reply.status.as_u16(), reply.pointers()), (400, vec!["/id"]));
}
