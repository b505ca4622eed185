//! One effect for one idempotency key.

use crate::harness::{Harness, Reply, one_item, request};
use order_service::adapters::observe::storage_upkeep::{Retention, StorageUpkeep};
use order_service::core::domain::unavailable::{Cause, NoAnswer, Unknown};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::Duration;

async fn place(harness: &Harness, key: &str, body: &Value) -> Reply {
    harness.post_with("/v1/orders", body, &[("idempotency-key", key)]).await
}

/// All of a problem but the trace that it was told in.
fn told(reply: &Reply) -> Value {
    let mut body = reply.json.clone();
    body["trace_id"].take();
    body
}

async fn orders(harness: &Harness) -> usize {
    harness.get("/v1/orders").await.json["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_repeat_gets_the_first_reply_byte_for_byte() {
    let harness = Harness::open();
    let first = place(&harness, "k-1", &one_item()).await;
    assert_eq!((first.status.as_u16(), first.header("idempotency-replayed")), (201, ""));
    harness.confirm(first.json["id"].as_str().unwrap()).await;
    // The draft's quotes, another order of members: the same key, the same request.
    let body = json!({"items": [{"quantity": 2, "product_id": "p-1"}], "customer_id": "c-1"});
    let again = place(&harness, "\"k-1\"", &body).await;
    assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (201, "true"));
    assert_eq!(again.bytes, first.bytes);
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(again.header("content-type"), "application/json");
    assert_eq!(orders(&harness).await, 1);
}

#[tokio::test]
async fn another_request_under_the_same_key_is_refused() {
    let harness = Harness::open();
    place(&harness, "k-1", &one_item()).await;
    let mut other = one_item();
    other["items"][0]["quantity"] = json!(3);
    let reply = place(&harness, "k-1", &other).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (422, "idempotency_key_reused"));
    assert_eq!(orders(&harness).await, 1);
    assert_eq!(place(&harness, "k-2", &other).await.status, 201);
}

#[tokio::test]
async fn a_final_refusal_is_kept_and_an_outage_is_not() {
    let harness = Harness::open();
    let unknown = json!({"customer_id": "c-1", "items": [{"product_id": "gone", "quantity": 1}]});
    let first = place(&harness, "k-1", &unknown).await;
    assert_eq!((first.status.as_u16(), first.code()), (422, "product_not_found"));
    let again = place(&harness, "k-1", &unknown).await;
    assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (422, "true"));
    assert_eq!(again.header("content-type"), "application/problem+json");
    assert_eq!(told(&again), told(&first));
    assert_eq!(again.pointers(), ["/items/0/product_id"]);

    *harness.catalog.down.lock().unwrap() = Some(NoAnswer::new(Cause::Unknown(Unknown::TimedOut)));
    assert_eq!(place(&harness, "k-2", &one_item()).await.status, 503);
    *harness.catalog.down.lock().unwrap() = None;
    let healed = place(&harness, "k-2", &one_item()).await;
    assert_eq!((healed.status.as_u16(), healed.header("idempotency-replayed")), (201, ""));
}

#[tokio::test]
async fn a_refusal_is_repeated_in_the_language_of_who_repeats() {
    let harness = Harness::open();
    let twice = json!({"product_id": "p-1", "quantity": 1});
    let senseless = json!({"customer_id": "c-1", "items": [twice.clone(), twice]});
    let first = place(&harness, "k-1", &senseless).await;
    assert_eq!((first.status.as_u16(), first.code()), (422, "order_invalid"));
    assert_eq!(first.json["detail"], "A product may stand in an order once.");
    let russian = [("idempotency-key", "k-1"), ("accept-language", "ru")];
    let again = harness.post_with("/v1/orders", &senseless, &russian).await;
    assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (422, "true"));
    assert_eq!(again.json["detail"], "Товар может стоять в заказе только один раз.");
}

#[tokio::test]
async fn while_the_first_is_under_way_a_repeat_waits_outside() {
    let harness = Harness::open();
    harness.catalog.hangs.store(true, Ordering::Relaxed);
    let first = request("POST", "/v1/orders", &[("idempotency-key", "k-1")], Some(&one_item()));
    let serving = harness.send(first);
    tokio::pin!(serving);
    assert!(futures_util::poll!(serving.as_mut()).is_pending());
    let reply = place(&harness, "k-1", &one_item()).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (409, "idempotency_in_progress"));
    let other = json!({"customer_id": "c-2", "items": [{"product_id": "p-1", "quantity": 1}]});
    let reply = place(&harness, "k-1", &other).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (422, "idempotency_key_reused"));
}

#[tokio::test]
async fn a_malformed_key_is_refused_by_name_and_elsewhere_ignored() {
    let harness = Harness::open();
    for bad in ["", "\"\"", "a b", &"x".repeat(256)] {
        let reply = place(&harness, bad, &one_item()).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (400, "invalid_request"), "{bad}");
        assert_eq!(reply.pointers(), ["/idempotency-key"]);
    }
    let twice = [("idempotency-key", "a"), ("idempotency-key", "b")];
    assert_eq!(harness.post_with("/v1/orders", &one_item(), &twice).await.status, 400);
    assert_eq!(orders(&harness).await, 0);
    assert_eq!(place(&harness, &"x".repeat(255), &one_item()).await.status, 201);
    assert_eq!(harness.get_with("/v1/orders", &[("idempotency-key", "a b")]).await.status, 200);
}

#[tokio::test]
async fn a_refund_is_made_once_for_its_key() {
    let harness = Harness::open();
    let id = harness.paid_order().await;
    let path = format!("/v1/orders/{id}/refund");
    let part = json!({"amount": {"amount": 5_000, "currency": "RUB"}});
    let refund = async |key: &str, body: &Value| {
        harness.post_with(&path, body, &[("idempotency-key", key)]).await
    };
    let first = refund("r-1", &part).await;
    assert_eq!(first.status, 200, "{}", first.json);
    let again = refund("r-1", &part).await;
    assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (200, "true"));
    assert_eq!(again.bytes, first.bytes);
    let other = refund("r-1", &json!({})).await;
    assert_eq!((other.status.as_u16(), other.code()), (422, "idempotency_key_reused"));

    let much = json!({"amount": {"amount": 15_001, "currency": "RUB"}});
    let refused = refund("r-2", &much).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (422, "refund_exceeds_payment"));
    let again = refund("r-2", &much).await;
    assert_eq!((told(&again), again.header("idempotency-replayed")), (told(&refused), "true"));

    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    assert_eq!(order["payment"]["refunded"]["amount"], 5_000);
}

#[tokio::test]
async fn a_refunds_key_outlives_the_day_for_which_requests_are_kept() {
    let harness = Harness::open();
    let id = harness.paid_order().await;
    let path = format!("/v1/orders/{id}/refund");
    let part = json!({"amount": {"amount": 5_000, "currency": "RUB"}});
    let refund = async |body: &Value| {
        let kept = Duration::from_secs(86_400);
        let forget = Retention {
            tasks: kept,
            keys: Duration::ZERO,
            callbacks: kept,
            audit: kept,
            buyers: kept,
            orders: None,
        };
        harness.store.prune(&forget).await.unwrap();
        harness.post_with(&path, body, &[("idempotency-key", "r-1")]).await
    };
    let first = refund(&part).await;
    assert_eq!((first.status.as_u16(), first.header("idempotency-replayed")), (200, ""));
    for body in [&part, &json!({})] {
        let again = refund(body).await;
        assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (200, "true"));
        assert_eq!(again.json["payment"]["refunded"]["amount"], 5_000);
    }
    let other = refund(&json!({"amount": {"amount": 5_001, "currency": "RUB"}})).await;
    assert_eq!((other.status.as_u16(), other.code()), (422, "idempotency_key_reused"));
}

#[tokio::test]
async fn a_refund_under_way_is_known_by_its_task() {
    let harness = Harness::open();
    let id = harness.paid_order().await;
    let path = format!("/v1/orders/{id}/refund");
    let key = [("idempotency-key", "r-1")];
    harness.sber.behave(crate::fakes::Behaviour::BreakerOpen);
    let first = harness.act(&path, &key).await;
    assert_eq!(first.status, 202, "{}", first.json);
    let again = harness.act(&path, &key).await;
    assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (202, "true"));
    assert_eq!(again.bytes, first.bytes);
    assert_eq!(again.header("location"), first.header("location"));
    let other = harness.act(&path, &[("idempotency-key", "r-2")]).await;
    assert_eq!((other.status.as_u16(), other.code()), (409, "refund_in_progress"));
}

#[tokio::test]
async fn of_two_instances_that_are_asked_at_once_one_answers() {
    let harness = Harness::open();
    let id = harness.paid_order().await;
    let path = format!("/v1/orders/{id}/refund");
    let key = [("idempotency-key", "r-1")];
    let first = harness.act(&path, &key).await;
    assert_eq!(first.status, 200, "{}", first.json);
    // The other looked for the key before the first was done, and at the order after it.
    harness.store.looks_before_kept.store(1, Ordering::Relaxed);
    let second = harness.act(&path, &key).await;
    assert_eq!((second.status.as_u16(), second.header("idempotency-replayed")), (200, "true"));
    assert_eq!(second.bytes, first.bytes);

    let first = place(&harness, "k-1", &one_item()).await;
    harness.catalog.free.store(true, Ordering::Relaxed);
    harness.store.looks_before_kept.store(1, Ordering::Relaxed);
    let second = place(&harness, "k-1", &one_item()).await;
    assert_eq!((second.status.as_u16(), second.header("idempotency-replayed")), (201, "true"));
    assert_eq!(second.bytes, first.bytes);
}

#[tokio::test]
async fn a_refusal_that_cannot_be_kept_is_not_given() {
    let harness = Harness::open();
    let unknown = json!({"customer_id": "c-1", "items": [{"product_id": "gone", "quantity": 1}]});
    harness.store.keeps_no_outcomes.store(true, Ordering::Relaxed);
    let reply = place(&harness, "k-1", &unknown).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (503, "storage_unavailable"));
}
