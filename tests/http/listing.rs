//! Pages of orders.

use crate::harness::{Harness, one_item};
use serde_json::json;

#[tokio::test]
async fn pages_go_from_the_newest_to_the_oldest_without_gap_or_repeat() {
    let harness = Harness::open();
    let mut placed = Vec::new();
    for _ in 0..5 {
        placed.insert(0, harness.order().await);
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = harness.get(&format!("/v1/orders?limit=2{cursor}")).await;
        assert_eq!(page.status, 200);
        let items = page.json["items"].as_array().unwrap();
        seen.extend(items.iter().map(|order| order["id"].as_str().unwrap().to_owned()));
        // What comes in between does not move the pages.
        harness.order().await;
        match page.json["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, placed);
}

#[tokio::test]
async fn a_page_that_is_exactly_full_is_the_last_one() {
    let harness = Harness::open();
    harness.order().await;
    let page = harness.get("/v1/orders?limit=1").await;
    assert_eq!(page.json["items"].as_array().unwrap().len(), 1);
    assert!(page.json["next_cursor"].is_null());
}

#[tokio::test]
async fn orders_are_found_by_customer_and_status() {
    let harness = Harness::open();
    let id = harness.order().await;
    let mut other = one_item();
    other["customer_id"] = json!("c-2");
    harness.post("/v1/orders", &other).await;
    harness.confirm(&id).await;
    let count = async |query: &str| {
        let page = harness.get(&format!("/v1/orders?{query}")).await;
        page.json["items"].as_array().unwrap().len()
    };
    assert_eq!(count("").await, 2);
    assert_eq!(count("customer_id=c-1").await, 1);
    assert_eq!(count("customer_id=c-1&status=new").await, 0);
    assert_eq!(count("status=awaiting_payment").await, 1);
    assert_eq!(count("customer_id=nobody").await, 0);
    assert_eq!(count("status=new,awaiting_payment").await, 2);
    assert_eq!(count(&format!("ids={id}")).await, 1);
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    let created = order["created_at"].as_str().unwrap();
    assert_eq!(count(&format!("created_from={created}")).await, 2);
    assert_eq!(count(&format!("created_to={created}")).await, 0);
    let updated = order["updated_at"].as_str().unwrap();
    let changed = harness.get(&format!("/v1/orders?updated_since={updated}&sort=updated_at")).await;
    let last = changed.json["items"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["id"], id);
}

#[tokio::test]
async fn a_query_that_is_not_understood_is_refused_whole() {
    let harness = Harness::open();
    for (query, pointers) in [
        ("limit=0", vec!["/limit"]),
        ("limit=101", vec!["/limit"]),
        ("limit=ten", vec!["/limit"]),
        ("cursor=zzz", vec!["/cursor"]),
        ("status=unknown", vec!["/status"]),
        ("status=New", vec!["/status"]),
        ("status=new,", vec!["/status"]),
        ("ids=17", vec!["/ids"]),
        ("created_from=today", vec!["/created_from"]),
        ("sort=price", vec!["/sort"]),
        ("customer_id=..", vec!["/customer_id"]),
        ("customer_id=", vec!["/customer_id"]),
        ("custmer_id=c-1", vec!["/custmer_id"]),
        ("limit=1&limit=2", vec!["/limit"]),
        ("x=1&status=no&limit=0", vec!["/x", "/status", "/limit"]),
    ] {
        let reply = harness.get(&format!("/v1/orders?{query}")).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (400, "invalid_request"), "{query}");
        assert_eq!(reply.pointers(), pointers, "{query}");
    }
}
