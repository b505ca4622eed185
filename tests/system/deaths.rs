//! `kill -9` at every named step of a payment: nothing is lost and nothing registered twice.

use crate::harness::Harness;
use order_service::sandbox::{Mood, PartnerName};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

/// After a death in the request's own hand and a restart, the order becomes payable exactly once.
async fn dies_at(point: &str) {
    let mut harness = Harness::without_instance().await;
    harness.start(&[]).await;
    let order = harness.place().await;
    harness.kill().await;
    harness.start(&[("DIE_AT", point)]).await;
    let died = harness.try_post(&format!("/v1/orders/{order}/confirm"), json!({})).await;
    assert!(died.is_err(), "{point}: it answered");
    harness.await_death().await;
    harness.start(&[]).await;
    becomes_payable(&harness, &order, point).await;
}

async fn becomes_payable(harness: &Harness, order: &str, point: &str) {
    let payable = harness.until_order(order, "awaiting_payment").await;
    assert_eq!(harness.alive(), 1, "{point}: {:?}", harness.everything());
    let entry = harness.everything().into_iter().find(|entry| entry.order.live).unwrap();
    assert_eq!(json!(entry.order.amount), payable["total"]["amount"], "{point}");
    assert_ne!(payable["payment"]["form_url"], Value::Null, "{point}");
}

#[tokio::test]
async fn death_after_accept() {
    dies_at("after_accept").await;
}

#[tokio::test]
async fn death_before_the_answer_is_stored() {
    dies_at("before_T2").await;
}

#[tokio::test]
async fn death_after_the_answer_is_stored() {
    dies_at("after_T2").await;
}

#[tokio::test]
async fn death_before_the_response() {
    dies_at("before_response").await;
}

#[tokio::test]
async fn death_in_the_middle_of_the_call() {
    for mood in [Mood::Hang, Mood::HangAfterCommit] {
        let mut harness = Harness::new().await;
        harness.partners.set_mode(PartnerName::Sber, mood).await;
        let order = harness.place().await;
        let path = format!("{}/v1/orders/{order}/confirm", harness.api);
        tokio::spawn(harness.http.post(path).send());
        while harness.partners.call_totals(PartnerName::Sber).calls == 0 {
            sleep(Duration::from_millis(5)).await;
        }
        harness.kill().await;
        harness.partners.set_mode(PartnerName::Sber, Mood::Ok).await;
        harness.start(&[]).await;
        becomes_payable(&harness, &order, "mid_call").await;
    }
}

/// A death in a worker's hand: the order waits in the queue, both providers heal, the worker dies.
async fn worker_dies_at(point: &str) {
    let mut harness = Harness::new().await;
    for partner in PartnerName::payment_systems() {
        harness.partners.set_mode(partner, Mood::Down).await;
    }
    let order = harness.place().await;
    let queued = harness.confirm(&order).await;
    assert_eq!(queued.status, 202);
    harness.kill().await;
    harness.partners.set_mode(PartnerName::OdnaKassa, Mood::Ok).await;
    harness.start(&[("DIE_AT", point)]).await;
    harness.await_death().await;
    // What was about to be sent to Sber may have arrived: only Sber can tell.
    harness.partners.set_mode(PartnerName::Sber, Mood::Ok).await;
    harness.start(&[]).await;
    let done = harness.until_final(&queued.body["task_id"]).await;
    assert_eq!(done["status"], "succeeded", "{point}: {done}");
    becomes_payable(&harness, &order, point).await;
}

#[tokio::test]
async fn a_workers_death_after_the_claim() {
    worker_dies_at("after_claim").await;
}

#[tokio::test]
async fn a_workers_death_after_the_intent() {
    worker_dies_at("after_T1").await;
}

#[tokio::test]
async fn a_workers_death_before_the_answer_is_stored() {
    worker_dies_at("before_T2").await;
}
