//! Shops that want to be told: endpoints by HTTP, and what is brought to them.

use crate::harness::{Harness, one_item};
use crate::tokens::{guarded, token};
use order_service::core::domain::unavailable::{NoAnswer, Shed, Unknown};
use serde_json::{Value, json};
use std::time::Duration;

const ENDPOINTS: &str = "/v1/webhook-endpoints";

async fn registered(harness: &Harness) -> (String, Value) {
    let body = json!({"url": "https://shop.example/hooks", "description": "books"});
    let reply = harness.post(ENDPOINTS, &body).await;
    assert_eq!(reply.status, 201, "{:?}", reply.json);
    let id = reply.json["id"].as_str().unwrap().to_owned();
    assert_eq!(reply.header("location"), format!("{ENDPOINTS}/{id}"));
    (id, reply.json)
}

async fn deliveries(harness: &Harness, id: &str, query: &str) -> Value {
    harness.get(&format!("{ENDPOINTS}/{id}/deliveries{query}")).await.json
}

#[tokio::test]
async fn an_endpoint_is_registered_shown_changed_and_deleted() {
    let harness = Harness::open();
    let (id, created) = registered(&harness).await;
    assert!(created["secret"].as_str().unwrap().starts_with("whsec_"));
    let path = format!("{ENDPOINTS}/{id}");
    let mut expected = created.clone();
    expected.as_object_mut().unwrap().remove("secret");
    assert_eq!(harness.get(&path).await.json, expected, "the secret is shown once");
    assert_eq!(harness.get(ENDPOINTS).await.json, json!({"items": [expected]}));

    let change = json!({"enabled": false, "event_types": ["payment.paid", "payment.paid"]});
    let changed = harness.patch(&path, &change).await.json;
    assert_eq!(
        (&changed["enabled"], &changed["disabled_reason"]),
        (&json!(false), &json!("by_owner"))
    );
    assert_eq!(changed["event_types"], json!(["payment.paid"]));
    assert_eq!(
        (&changed["url"], &changed["description"]),
        (&created["url"], &created["description"])
    );
    let enabled = harness.patch(&path, &json!({"enabled": true})).await.json;
    assert_eq!((&enabled["enabled"], &enabled["disabled_reason"]), (&json!(true), &Value::Null));

    let rotated = harness.post(&format!("{path}/rotate"), &json!({"overlap": 0})).await.json;
    assert_ne!(rotated["secret"], created["secret"]);
    assert_ne!(rotated["public_key"], created["public_key"]);

    assert_eq!(harness.delete(&path).await.status, 204);
    for reply in [harness.delete(&path).await, harness.get(&path).await] {
        assert_eq!((reply.status.as_u16(), reply.code()), (404, "webhook_endpoint_not_found"));
    }
}

#[tokio::test]
async fn everything_that_is_wrong_with_an_endpoint_is_told_at_once() {
    let harness = Harness::open();
    let bad = json!({"url": "http://inside/", "event_types": ["order.eaten", 7], "description": 1, "x": 1});
    let refused = harness.post(ENDPOINTS, &bad).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (400, "invalid_request"));
    let mut pointers = refused.pointers();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/description", "/event_types/0", "/event_types/1", "/url", "/x"]);
    let (id, _) = registered(&harness).await;
    let path = format!("{ENDPOINTS}/{id}");
    for (action, body, pointer) in [
        ("rotate", json!({"overlap": 604_801}), "/overlap"),
        ("redeliver", json!({}), ""),
        ("redeliver", json!({"event_id": "x"}), "/event_id"),
        ("redeliver", json!({"since": "yesterday"}), "/since"),
        ("redeliver", json!({"since": "2026-01-01T00:00:00Z", "which": "some"}), "/which"),
        ("redeliver", json!({"since": "2026-01-01T00:00:00Z", "event_id": "x"}), ""),
    ] {
        let refused = harness.post(&format!("{path}/{action}"), &body).await;
        assert_eq!((refused.status.as_u16(), refused.pointers()), (400, vec![pointer]), "{body}");
    }
    for _ in 1..20 {
        registered(&harness).await;
    }
    let body = json!({"url": "https://shop.example/"});
    assert_eq!(harness.post(ENDPOINTS, &body).await.code(), "too_many_endpoints");
}

#[tokio::test]
async fn a_test_says_what_the_receiver_answered() {
    let harness = Harness::open();
    let (id, _) = registered(&harness).await;
    harness.receiver.answers([Ok(500), Err(NoAnswer::from(Unknown::TimedOut).into())]);
    let tested = async || harness.post(&format!("{ENDPOINTS}/{id}/test"), &json!({})).await.json;
    let answered = json!({"delivered": false, "response_status": 500, "error": null,
        "duration_ms": 7, "response_excerpt": "thanks"});
    assert_eq!(tested().await, answered);
    let silent = tested().await;
    assert_eq!((&silent["delivered"], &silent["response_status"]), (&json!(false), &Value::Null));
    assert!(silent["error"].is_string());
    assert_eq!(tested().await["delivered"], json!(true));
    let (name, body) = harness.receiver.taken.lock().unwrap().last().unwrap().clone();
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["type"], &body["id"]), (&json!("webhook.test"), &json!(name)));
    assert_eq!(deliveries(&harness, &id, "").await["items"], json!([]), "it is kept nowhere");
}

#[tokio::test]
async fn what_happens_is_brought_as_the_lists_tell_it_and_in_order() {
    let harness = Harness::open();
    let (id, _) = registered(&harness).await;
    let order = harness.order().await;
    assert_eq!(harness.confirm(&order).await.status, 200);
    harness.receiver.answers([Ok(500)]);
    harness.deliver_webhooks().await;
    assert_eq!(harness.receiver.ids(), [format!("{order}_1")], "what follows waits for it");
    let waiting = deliveries(&harness, &id, "?state=pending").await;
    assert_eq!(waiting["items"].as_array().unwrap().len(), 2);
    harness.clock.advance(Duration::from_secs(10));
    harness.deliver_webhooks().await;
    let taken = harness.receiver.taken.lock().unwrap().clone();
    let ids: Vec<_> = taken.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(ids, [format!("{order}_1"), format!("{order}_1"), format!("{order}_2")]);
    let told = harness.get(&format!("/v1/orders/{order}/events")).await.json;
    for ((_, body), event) in taken[1..].iter().zip(told["items"].as_array().unwrap()) {
        assert_eq!(&serde_json::from_str::<Value>(body).unwrap(), event);
    }
    let page = deliveries(&harness, &id, "?limit=1").await;
    assert_eq!(page["items"][0]["event_id"], json!(format!("{order}_2")));
    let cursor = page["next_cursor"].as_str().unwrap();
    let page = deliveries(&harness, &id, &format!("?limit=1&cursor={cursor}")).await;
    let first = &page["items"][0];
    assert_eq!((&first["state"], &first["attempts"]), (&json!("delivered"), &json!(2)));
    assert_eq!((&first["next_attempt_at"], &page["next_cursor"]), (&Value::Null, &Value::Null));
    assert_eq!(first["last_attempt"]["response_status"], json!(204));
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_left_alone_until_its_shop_enables_it() {
    let harness = Harness::open();
    let (id, _) = registered(&harness).await;
    let path = format!("{ENDPOINTS}/{id}");
    let first = harness.order().await;
    harness.receiver.answers([Ok(410)]);
    harness.deliver_webhooks().await;
    let shown = harness.get(&path).await.json;
    assert_eq!(shown["disabled_reason"], json!("gone"));
    harness.order().await;
    harness.clock.advance(Duration::from_secs(3_600));
    harness.deliver_webhooks().await;
    assert_eq!(harness.receiver.ids().len(), 1);
    harness.patch(&path, &json!({"enabled": true})).await;
    let all = json!({"since": "2020-01-01T00:00:00Z", "which": "all"});
    let again = harness.post(&format!("{path}/redeliver"), &all).await;
    assert_eq!((again.status.as_u16(), again.json), (202, json!({"queued": 2})));
    harness.deliver_webhooks().await;
    assert_eq!(harness.receiver.ids().len(), 3);
    let one = json!({"event_id": format!("{first}_1")});
    let again = harness.post(&format!("{path}/redeliver"), &one).await;
    assert_eq!(again.json, json!({"queued": 1}));
    harness.deliver_webhooks().await;
    assert_eq!(harness.receiver.ids().last().unwrap(), &format!("{first}_1"));
}

#[tokio::test]
async fn what_a_guard_keeps_back_is_no_attempt_and_a_schedule_has_an_end() {
    let harness = Harness::open();
    let (id, _) = registered(&harness).await;
    harness.order().await;
    harness.receiver.answers([Err(NoAnswer::from(Shed::BreakerOpen).into())]);
    harness.deliver_webhooks().await;
    let waiting = deliveries(&harness, &id, "").await;
    let waiting = &waiting["items"][0];
    assert_eq!((&waiting["state"], &waiting["attempts"]), (&json!("pending"), &json!(0)));
    assert_eq!(waiting["last_attempt"], Value::Null);
    harness.receiver.answers([Ok(500); 20]);
    for _ in 0..20 {
        harness.clock.advance(Duration::from_secs(90_000));
        harness.deliver_webhooks().await;
    }
    let failed = deliveries(&harness, &id, "?state=failed").await;
    assert_eq!(failed["items"][0]["attempts"], json!(3), "the first and one for each pause");
    let since = json!({"since": "2020-01-01T00:00:00Z"});
    let again = harness.post(&format!("{ENDPOINTS}/{id}/redeliver"), &since).await;
    assert_eq!(again.json, json!({"queued": 1}));
}

#[tokio::test]
async fn endpoints_have_a_scope_of_their_own_and_are_told_of_what_their_owner_may_see() {
    let harness = guarded();
    let body = json!({"url": "https://shop.example/hooks"});
    let bearer = |sub: &str, scope: &str| format!("Bearer {}", token(sub, scope));
    let register = async |bearer: &str| {
        harness.post_with(ENDPOINTS, &body, &[("authorization", bearer)]).await
    };
    let refused = register(&bearer("c-1", "orders")).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (403, "forbidden"));
    let challenge = r#"Bearer error="insufficient_scope", scope="webhooks""#;
    assert_eq!(refused.header("www-authenticate"), challenge);
    let (own, shop) = (bearer("c-1", "webhooks"), bearer("shop", "webhooks orders:any"));
    assert_eq!(register(&own).await.status, 201);
    let id = register(&shop).await.json["id"].as_str().unwrap().to_owned();
    let path = format!("{ENDPOINTS}/{id}");
    assert_eq!(harness.get_with(&path, &[("authorization", &own)]).await.status, 404);
    let orders = harness.get_with("/v1/orders", &[("authorization", &own)]).await;
    assert_eq!(orders.status, 403, "it is no scope for orders");
    for customer in ["c-1", "c-2"] {
        let mut order = one_item();
        order["customer_id"] = json!(customer);
        let placed = harness.post_with("/v1/orders", &order, &[("authorization", &shop)]).await;
        assert_eq!(placed.status, 201);
    }
    harness.deliver_webhooks().await;
    assert_eq!(harness.receiver.ids().len(), 3, "two to the shop, and one to the customer");
}
