//! `kill -9` at every named step of a payment: nothing is lost and nothing registered twice.

use crate::service::World;
use order_service::sandbox::{Mood, PartnerName};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

/// After a death in the request's own hand and a restart, the order becomes payable exactly once.
async fn dies_at(point: &str) {
    let mut world = World::asleep().await;
    world.start(&[]).await;
    let order = world.place().await;
    world.kill().await;
    world.start(&[("DIE_AT", point)]).await;
    let died = world.try_post(&format!("/v1/orders/{order}/confirm"), json!({})).await;
    assert!(died.is_err(), "{point}: it answered");
    world.await_death().await;
    world.start(&[]).await;
    becomes_payable(&world, &order, point).await;
}

async fn becomes_payable(world: &World, order: &str, point: &str) {
    let payable = world.until_order(order, "awaiting_payment").await;
    assert_eq!(world.alive(), 1, "{point}: {:?}", world.everything());
    let entry = world.everything().into_iter().find(|entry| entry.order.live).unwrap();
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
        let mut world = World::new().await;
        world.partners.set_mode(PartnerName::Sber, mood).await;
        let order = world.place().await;
        let path = format!("{}/v1/orders/{order}/confirm", world.api);
        tokio::spawn(world.http.post(path).send());
        while world.partners.call_totals(PartnerName::Sber).calls == 0 {
            sleep(Duration::from_millis(5)).await;
        }
        world.kill().await;
        world.partners.set_mode(PartnerName::Sber, Mood::Ok).await;
        world.start(&[]).await;
        becomes_payable(&world, &order, "mid_call").await;
    }
}

/// A death in a worker's hand: the order waits in the queue, both providers heal, the worker dies.
async fn worker_dies_at(point: &str) {
    let mut world = World::new().await;
    for partner in [PartnerName::Sber, PartnerName::Odnakassa] {
        world.partners.set_mode(partner, Mood::Down).await;
    }
    let order = world.place().await;
    let queued = world.confirm(&order).await;
    assert_eq!(queued.status, 202);
    world.kill().await;
    world.partners.set_mode(PartnerName::Odnakassa, Mood::Ok).await;
    world.start(&[("DIE_AT", point)]).await;
    world.await_death().await;
    // What was about to be sent to Sber may have arrived: only Sber can tell.
    world.partners.set_mode(PartnerName::Sber, Mood::Ok).await;
    world.start(&[]).await;
    let done = world.until_final(&queued.body["task_id"]).await;
    assert_eq!(done["status"], "succeeded", "{point}: {done}");
    becomes_payable(&world, &order, point).await;
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
