//! Placing an order, and reading it back.

use crate::harness::{Harness, one_item, request};
use axum::body::Body;
use http::Request;
use order_service::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Shed, Unknown};
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[tokio::test]
async fn an_order_is_placed_with_the_catalogs_prices() {
    let harness = Harness::open();
    let placed = harness.post("/v1/orders", &one_item()).await;
    assert_eq!(placed.status, 201);
    let id = placed.json["id"].as_str().unwrap();
    assert_eq!(placed.header("location"), format!("/v1/orders/{id}"));
    assert_eq!(placed.header("content-type"), "application/json");
    assert_eq!(placed.header("cache-control"), "no-store");
    let when = &placed.json["created_at"];
    assert_eq!(
        placed.json,
        json!({
            "id": id,
            "customer_id": "c-1",
            "external_id": null,
            "status": "new",
            "items": [{
                "product_id": "p-1",
                "name": "Product p-1",
                "quantity": 2,
                "unit_price": {"amount": 10_000, "currency": "RUB"},
                "price_stale": false,
                "vat": null,
            }],
            "total": {"amount": 20_000, "currency": "RUB"},
            "description": null,
            "metadata": {},
            "payment": null,
            "task_id": null,
            "created_at": when,
            "updated_at": when,
        })
    );
}

#[tokio::test]
async fn an_order_reads_back_as_it_was_answered_and_is_not_sent_twice() {
    let harness = Harness::open();
    let placed = harness.post("/v1/orders", &one_item()).await;
    let path = placed.header("location").to_owned();
    let read = harness.get(&path).await;
    assert_eq!(read.status, 200);
    assert_eq!(read.bytes, placed.bytes);
    let tag = read.header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    for known in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
        let again = harness.get_with(&path, &[("if-none-match", &known)]).await;
        assert_eq!(again.status, 304, "{known}");
        assert!(again.bytes.is_empty());
        assert_eq!(again.header("etag"), tag);
    }
    harness.confirm(placed.json["id"].as_str().unwrap()).await;
    let changed = harness.get_with(&path, &[("if-none-match", &tag)]).await;
    assert_eq!(changed.status, 200);
}

#[tokio::test]
async fn an_order_that_nobody_made_does_not_exist() {
    let harness = Harness::open();
    for id in ["0193b3c4-5d6e-7f80-91a2-b3c4d5e6f708", "17", "%FF", "..a", "0193B3C4"] {
        let reply = harness.get(&format!("/v1/orders/{id}")).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (404, "order_not_found"), "{id}");
    }
}

#[tokio::test]
async fn an_unknown_product_is_shown_where_it_stands() {
    let harness = Harness::open();
    let items = json!([
        {"product_id": "p-1", "quantity": 1},
        {"product_id": "gone", "quantity": 1},
        {"product_id": "away", "quantity": 1},
    ]);
    let body = json!({"customer_id": "c-1", "items": items});
    let reply = harness.post("/v1/orders", &body).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (422, "product_not_found"));
    assert_eq!(reply.json["product_id"], "gone");
    assert_eq!(reply.pointers(), ["/items/1/product_id", "/items/2/product_id"]);
    let again = [("idempotency-key", "k-1")];
    let first = harness.post_with("/v1/orders", &body, &again).await;
    let again = harness.post_with("/v1/orders", &body, &again).await;
    assert_eq!(again.pointers(), first.pointers(), "a replay names them all as well");
}

#[tokio::test]
async fn a_product_in_another_currency_is_a_fault_of_the_order() {
    let harness = Harness::open();
    let items = json!([
        {"product_id": "p-1", "quantity": 1},
        {"product_id": "p-usd", "quantity": 1},
    ]);
    let body = json!({"customer_id": "c-1", "items": items});
    let reply = harness.post("/v1/orders", &body).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (422, "currency_not_supported"));
    assert_eq!(reply.pointers(), ["/items/1/product_id"]);
    assert!(reply.headers.get("retry-after").is_none(), "another try does not help");
}

#[tokio::test]
async fn a_total_that_is_not_the_expected_one_places_nothing_and_tells_both() {
    let harness = Harness::open();
    let body = |amount: i64| {
        let mut body = one_item();
        body["expected_total"] = json!({"amount": amount, "currency": "RUB"});
        body
    };
    let key = [("idempotency-key", "k-1")];
    let reply = harness.post_with("/v1/orders", &body(19_999), &key).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (409, "price_changed"));
    assert_eq!(reply.json["expected_total"], json!({"amount": 19_999, "currency": "RUB"}));
    assert_eq!(reply.json["total"], json!({"amount": 20_000, "currency": "RUB"}));
    assert_eq!(harness.get("/v1/orders").await.json["items"], json!([]));
    let reply = harness.post_with("/v1/orders", &body(20_000), &key).await;
    assert_eq!(reply.status, 201, "a refusal that may pass keeps no key: {}", reply.json);
}

#[tokio::test]
async fn a_senseless_order_is_refused() {
    let harness = Harness::open();
    let item = json!({"product_id": "p-1", "quantity": 1});
    let twice = json!({"customer_id": "c-1", "items": [item, item]});
    let reply = harness.post("/v1/orders", &twice).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (422, "order_invalid"));
    harness.catalog.free.store(true, Ordering::Relaxed);
    let reply = harness.post("/v1/orders", &one_item()).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (422, "order_invalid"));
}

#[tokio::test]
async fn everything_that_is_wrong_with_a_body_is_told_at_once() {
    let harness = Harness::open();
    let body = json!({"customer": "c", "items": [{"product_id": "..", "quantity": 0}]});
    let reply = harness.post("/v1/orders", &body).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (400, "invalid_request"));
    assert_eq!(
        reply.pointers(),
        ["/customer", "/customer_id", "/items/0/product_id", "/items/0/quantity"]
    );
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused_by_what_is_wrong_with_it() {
    let harness = Harness::open();
    let send = async |content_type: &'static str, body: Vec<u8>| {
        let request = Request::post("/v1/orders").header("content-type", content_type);
        let reply = harness.send(request.body(Body::from(body)).unwrap()).await;
        (reply.status.as_u16(), reply.code().to_owned())
    };
    let expect = |status, code: &str| (status, code.to_owned());
    for broken in [&b""[..], b"{", b"{\"customer_id\":\xff}", b"{} {}", b"[[[[1e999"] {
        assert_eq!(send("application/json", broken.to_vec()).await, expect(400, "invalid_request"));
    }
    let deep = "[".repeat(2_000).into_bytes();
    assert_eq!(send("application/json", deep).await, expect(400, "invalid_request"));
    let good = one_item().to_string().into_bytes();
    assert_eq!(send("text/plain", good.clone()).await, expect(415, "unsupported_media_type"));
    assert_eq!(send("application/json; charset=utf-8", good).await.0, 201);
    let large = vec![b' '; 4_097];
    assert_eq!(send("application/json", large).await, expect(413, "payload_too_large"));
}

#[tokio::test]
async fn a_catalog_that_cannot_answer_is_a_503_with_its_own_advice() {
    let harness = Harness::open();
    let silence = NoAnswer {
        cause: Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen)),
        retry_after: Some(Duration::from_millis(1_200)),
    };
    *harness.catalog.down.lock().unwrap() = Some(silence);
    let reply = harness.post("/v1/orders", &one_item()).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (503, "catalog_unavailable"));
    assert_eq!(reply.json["product_id"], "p-1");
    assert_eq!(reply.header("retry-after"), "2");
    *harness.catalog.down.lock().unwrap() =
        Some(NoAnswer::new(Cause::Unknown(Unknown::DeadlinePassed)));
    let reply = harness.post("/v1/orders", &one_item()).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (504, "deadline_exceeded"));
}

#[tokio::test]
async fn a_cached_price_serves_while_it_is_young_enough_and_says_so() {
    let harness = Harness::open();
    *harness.catalog.stale.lock().unwrap() = Some(Duration::from_secs(599));
    let placed = harness.post("/v1/orders", &one_item()).await;
    assert_eq!(placed.status, 201);
    assert_eq!(placed.json["items"][0]["price_stale"], true);
    *harness.catalog.stale.lock().unwrap() = Some(Duration::from_secs(600));
    let reply = harness.post("/v1/orders", &one_item()).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (503, "catalog_unavailable"));
}

#[tokio::test]
async fn a_client_that_hangs_up_cancels_nothing() {
    let harness = Harness::open();
    let request = request("POST", "/v1/orders", &[], Some(&one_item()));
    {
        let serving = harness.send(request);
        tokio::pin!(serving);
        // Polled until the work is on its way, then dropped like a connection.
        assert!(futures_util::poll!(serving.as_mut()).is_pending());
    }
    harness.app.services.detached.close();
    harness.app.services.detached.wait().await;
    let listed = harness.get("/v1/orders").await;
    assert_eq!(listed.json["items"].as_array().unwrap().len(), 1);
    assert_eq!(harness.traffic.ended.lock().unwrap()[0].2, 499);
}

#[tokio::test]
async fn what_a_shop_says_of_an_order_is_given_back_but_for_the_buyer() {
    let harness = Harness::open();
    let said = json!({
        "customer_id": null,
        "items": [{"product_id": "p-1", "quantity": 1, "vat": "vat10"}],
        "external_id": "A-1/2", "description": "Чай", "metadata": {"utm": "mail"},
        "buyer": {"email": "buyer@example.com"},
    });
    let placed = harness.post("/v1/orders", &said).await;
    assert_eq!(placed.status, 201, "{}", placed.json);
    assert_eq!(placed.json["customer_id"], json!(null), "a guest");
    for member in ["external_id", "description", "metadata"] {
        assert_eq!(placed.json[member], said[member]);
    }
    assert_eq!(placed.json["items"][0]["vat"], "vat10");
    let read = harness.get(placed.header("location")).await;
    assert_eq!(read.bytes, placed.bytes);
    assert!(!String::from_utf8(read.bytes).unwrap().contains("buyer@example.com"));
    // The payment system hears it all.
    let id = placed.json["id"].as_str().unwrap();
    harness.confirm(id).await;
    let sent = harness.sber.registered.lock().unwrap()[0].0.checkout.clone();
    assert_eq!(sent.description.as_deref(), Some("Чай"));
    let buyer = sent.receipt.unwrap().buyer.unwrap();
    assert_eq!(buyer.email.as_deref(), Some("buyer@example.com"));
}

#[tokio::test]
async fn a_shop_finds_its_order_by_its_own_number_and_cannot_place_it_twice() {
    let harness = Harness::open();
    let mut said = one_item();
    said["external_id"] = json!("A-1");
    let placed = harness.post("/v1/orders", &said).await;
    let again = harness.post("/v1/orders", &said).await;
    assert_eq!((again.status.as_u16(), again.code()), (409, "external_id_taken"));
    assert_eq!(again.json["order_id"], placed.json["id"]);
    let found = harness.get("/v1/orders?external_id=A-1").await;
    assert_eq!(found.json["items"], json!([placed.json]));
    let other = harness.get("/v1/orders?external_id=A-2").await;
    assert_eq!(other.json["items"], json!([]));
    let bad = harness.get("/v1/orders?external_id=").await;
    assert_eq!((bad.status.as_u16(), bad.pointers()), (400, vec!["/external_id"]));
}

#[tokio::test]
async fn every_word_belongs_to_what_a_key_stands_for() {
    let harness = Harness::open();
    let key = [("idempotency-key", "k")];
    let mut said = one_item();
    said["metadata"] = json!({"a": "1"});
    let placed = harness.post_with("/v1/orders", &said, &key).await;
    assert_eq!(harness.post_with("/v1/orders", &said, &key).await.bytes, placed.bytes);
    for (member, other) in [
        ("metadata", json!({"a": "2"})),
        ("description", json!("x")),
        ("external_id", json!("x")),
        ("buyer", json!({"phone": "+79991234567"})),
    ] {
        let mut changed = said.clone();
        changed[member] = other;
        let reply = harness.post_with("/v1/orders", &changed, &key).await;
        assert_eq!(reply.code(), "idempotency_key_reused", "{member}");
    }
}
