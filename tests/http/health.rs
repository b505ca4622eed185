//! Alive, and ready.

use crate::harness::{Harness, Options};
use order_service::adapters::resilience::breaker::BreakerState;
use order_service::core::domain::unavailable::System;
use serde_json::json;
use std::sync::atomic::Ordering;

#[tokio::test]
async fn being_alive_depends_on_nothing_outside() {
    let harness = Harness::open();
    harness.store.down.store(true, Ordering::Relaxed);
    let reply = harness.get("/health/live").await;
    assert_eq!((reply.status.as_u16(), &reply.json["status"]), (200, &json!("up")));
}

#[tokio::test]
async fn readiness_names_each_check() {
    let harness = Harness::open();
    let reply = harness.get("/health/ready").await;
    assert_eq!((reply.status.as_u16(), &reply.json["status"]), (200, &json!("up")));
    let checks = reply.json["checks"].as_object().unwrap();
    let names: Vec<_> = checks.keys().map(String::as_str).collect();
    let mut expected = [&System::ALL.map(System::as_str)[..], &["database", "shutdown"]].concat();
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(checks["database"], json!({"status": "up", "required": true}));
    assert_eq!(
        checks["sber"],
        json!({"status": "up", "required": false, "breaker": "closed", "mode": "enforce"})
    );
}

#[tokio::test]
async fn a_lost_database_or_a_coming_end_is_not_ready() {
    let harness = Harness::open();
    harness.store.down.store(true, Ordering::Relaxed);
    let reply = harness.get("/health/ready").await;
    assert_eq!((reply.status.as_u16(), &reply.json["status"]), (503, &json!("down")));
    assert_eq!(reply.json["checks"]["database"]["status"], "down");
    assert!(harness.traffic.checked.lock().unwrap().contains(&("database", false)));
    harness.store.down.store(false, Ordering::Relaxed);
    assert_eq!(harness.get("/health/ready").await.status, 200);
    harness.lifecycle.stop();
    let reply = harness.get("/health/ready").await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.json["checks"]["shutdown"]["status"], "down");
}

#[tokio::test]
async fn an_open_breaker_is_shown_and_counts_only_when_strict() {
    for (strict, status) in [(false, 200), (true, 503)] {
        let harness = Harness::with(Options { strict, ..Options::default() });
        *harness.guards[0].state.lock().unwrap() = BreakerState::Open;
        let reply = harness.get("/health/ready").await;
        assert_eq!(reply.status, status);
        let sber = &reply.json["checks"]["sber"];
        assert_eq!((&sber["status"], &sber["breaker"]), (&json!("down"), &json!("open")));
        *harness.guards[0].state.lock().unwrap() = BreakerState::HalfOpen;
        assert_eq!(harness.get("/health/ready").await.status, 200);
    }
}
