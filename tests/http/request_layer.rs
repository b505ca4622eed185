//! What every request meets: names, deadlines, limits, and the count.

use crate::harness::{Harness, Options, one_item};
use order_service::adapters::observe::traffic::{Priority, ShedReason};
use std::sync::atomic::Ordering;
use std::time::Duration;

#[tokio::test]
async fn a_request_keeps_its_own_good_name_and_gets_one_instead_of_a_bad_one() {
    let harness = Harness::open();
    let reply = harness.get_with("/health/live", &[("x-request-id", "shop-7.a_b")]).await;
    assert_eq!(reply.header("x-request-id"), "shop-7.a_b");
    let reply = harness.get_with("/nowhere", &[("x-request-id", "a b")]).await;
    assert_eq!(reply.header("x-request-id").len(), 32);
    assert_eq!(reply.json["trace_id"], reply.header("x-request-id"));
}

#[tokio::test]
async fn the_trace_and_the_deadline_go_along_to_the_partners() {
    let harness = Harness::open();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let headers = [("traceparent", trace), ("request-timeout", "700")];
    assert_eq!(harness.get_with("/v1/products/p-1", &headers).await.status, 200);
    let call = harness.catalog.calls.lock().unwrap()[0].clone();
    let told = call.trace.unwrap();
    assert_eq!(told.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_ne!(told.as_str(), trace);
    assert!(call.deadline.remaining() <= Duration::from_millis(700));
}

#[tokio::test]
async fn a_malformed_deadline_is_refused_by_name() {
    let harness = Harness::open();
    for bad in ["soon", "1.5", "-1", "0", "2s"] {
        let reply = harness.get_with("/v1/orders", &[("request-timeout", bad)]).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (400, "invalid_request"), "{bad}");
        assert_eq!(reply.pointers(), ["/request-timeout"]);
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_the_deadline() {
    let harness = Harness::open();
    harness.catalog.hangs.store(true, Ordering::Relaxed);
    let began = tokio::time::Instant::now();
    let reply = harness.get_with("/v1/products/p-1", &[("request-timeout", "500")]).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (504, "deadline_exceeded"));
    assert!(began.elapsed() < Duration::from_secs(1));
    let reply = harness.get_with("/v1/products/p-1", &[("request-timeout", "600000")]).await;
    assert_eq!(reply.status, 504);
    assert!(began.elapsed() < Duration::from_secs(22));
    assert_eq!(
        *harness.traffic.shed.lock().unwrap(),
        [(Priority::Normal, ShedReason::Deadline); 2]
    );
}

#[tokio::test]
async fn when_it_is_full_money_goes_before_reads_and_reads_before_lists() {
    let harness = Harness::with(Options { max_inflight: 16, ..Options::default() });
    let id = harness.order().await;
    harness.catalog.hangs.store(true, Ordering::Relaxed);
    let hanging: Vec<_> = (0..12).map(|_| Box::pin(harness.get("/v1/products/p-9"))).collect();
    let mut hanging = futures_util::future::join_all(hanging);
    assert!(futures_util::poll!(&mut hanging).is_pending());
    assert_eq!(harness.get("/v1/orders?customer_id=c-1").await.code(), "overloaded");
    assert_eq!(harness.get("/v1/customers/c-1/recommendations").await.code(), "overloaded");
    assert_eq!(harness.get(&format!("/v1/orders/{id}")).await.status, 200);
    let more: Vec<_> = (0..2).map(|_| Box::pin(harness.get("/v1/products/p-9"))).collect();
    let mut more = futures_util::future::join_all(more);
    assert!(futures_util::poll!(&mut more).is_pending());
    assert_eq!(harness.get(&format!("/v1/orders/{id}")).await.code(), "overloaded");
    assert_eq!(harness.confirm(&id).await.status, 200);
    let shed: Vec<_> = harness.traffic.shed.lock().unwrap().iter().map(|(who, _)| *who).collect();
    assert_eq!(shed, [Priority::Low, Priority::Low, Priority::Normal]);
    assert_eq!(harness.get("/health/ready").await.status, 200);
}

#[tokio::test]
async fn who_finds_no_place_is_sent_away_at_once_and_health_is_not() {
    let harness = Harness::with(Options { max_inflight: 1, ..Options::default() });
    harness.catalog.hangs.store(true, Ordering::Relaxed);
    let hanging = harness.get("/v1/products/p-1");
    tokio::pin!(hanging);
    assert!(futures_util::poll!(hanging.as_mut()).is_pending());
    let reply = harness.get("/v1/orders").await;
    assert_eq!((reply.status.as_u16(), reply.code()), (503, "overloaded"));
    assert_eq!(reply.header("retry-after"), "1");
    assert_eq!(reply.header("content-type"), "application/problem+json");
    assert_eq!(reply.header("x-request-id").len(), 32);
    let named = [("x-request-id", "mine"), ("accept-language", "ru")];
    let reply = harness.get_with("/v1/orders", &named).await;
    assert_eq!(reply.header("x-request-id"), "mine");
    assert!(reply.json["detail"].as_str().unwrap().starts_with("Сервис"), "{}", reply.json);
    assert_eq!(*harness.traffic.shed.lock().unwrap(), [(Priority::Low, ShedReason::Limit); 2]);
    let ended = harness.traffic.ended.lock().unwrap().clone();
    let refused = ("GET".to_owned(), Some("/v1/orders".to_owned()), 503, Some("overloaded"));
    assert_eq!(ended, [refused.clone(), refused]);
    assert_eq!(harness.get("/health/live").await.status, 200);
    assert_eq!(harness.get("/v1/tasks/1").await.status, 404);
    // The place is free again when its holder is gone.
    drop(Box::pin(hanging));
}

#[tokio::test]
async fn after_the_grace_new_work_is_refused_and_health_still_answers() {
    let harness = Harness::open();
    harness.lifecycle.stop();
    assert_eq!(harness.post("/v1/orders", &one_item()).await.status, 201);
    harness.lifecycle.drain();
    let reply = harness.post("/v1/orders", &one_item()).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (503, "overloaded"));
    assert_eq!(reply.header("connection"), "close");
    assert_eq!(harness.get("/health/live").await.status, 200);
    assert_eq!(harness.get("/health/ready").await.status, 503);
    harness.lifecycle.drained().await;
}

#[tokio::test]
async fn every_request_is_counted_once_under_its_route() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.get(&format!("/v1/orders/{id}")).await;
    harness.get("/v1/orders/17").await;
    harness.get("/nowhere").await;
    let order = Some("/v1/orders/{id}".to_owned());
    let get = || "GET".to_owned();
    assert_eq!(
        *harness.traffic.ended.lock().unwrap(),
        [
            ("POST".to_owned(), Some("/v1/orders".to_owned()), 201, None),
            (get(), order.clone(), 200, None),
            (get(), order, 404, Some("order_not_found")),
            (get(), None, 404, Some("not_found")),
        ]
    );
    assert_eq!(harness.traffic.began.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn a_page_of_another_site_changes_nothing_and_a_foreign_name_shows_nothing() {
    let harness = Harness::open();
    let id = harness.order().await;
    let cancel = format!("/v1/orders/{id}/cancel");
    let host = ("host", "localhost:8080");
    let reply = harness.act(&cancel, &[host, ("origin", "https://evil.example")]).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (403, "forbidden"));
    let rebound = harness.get_with("/v1/orders", &[("host", "evil.example:8080")]).await;
    assert_eq!(rebound.status, 403);
    let own = [host, ("origin", "http://localhost:8080")];
    assert_eq!(harness.act(&cancel, &own).await.status, 200);
}
