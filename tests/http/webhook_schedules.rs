//! Webhooks under instances that die, receivers that refuse or fall silent: whatever the schedule, every event is taken at least once, nothing is told that did not happen, and no order's event is taken
//! for the first time before an earlier one.

use crate::harness::Harness;
use order_service::core::domain::ids::{LeaseToken, OrderId};
use order_service::core::domain::unavailable::{NoAnswer, Shed, Unknown};
use order_service::core::ports::outbox::Outbox;
use order_service::core::ports::webhook_endpoints::WebhookQueue;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const SCHEDULES: u64 = 200;
const STEPS: usize = 60;

/// SplitMix64: the same seed, the same schedule.
struct Luck(u64);

impl Luck {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % bound
    }
}

/// An instance claims, sends, and dies before it can say so.
async fn deliver_and_die(harness: &Harness, luck: &mut Luck) {
    let queue = &harness.store.store;
    while queue.fan_out(100).await.unwrap() > 0 {}
    let token = LeaseToken::new(u128::from(luck.below(u64::MAX)));
    for endpoint in queue.claim_endpoints(token, Duration::from_secs(60), 10).await.unwrap() {
        for due in queue.due_deliveries(endpoint.id, 4).await.unwrap() {
            let before = due.event.sequence - 1;
            let told = harness.store.events_of(due.event.order, before, 1).await.unwrap();
            harness.receiver.taken.lock().unwrap().push((due.event.to_string(), String::new()));
            assert_eq!(told[0].sequence, due.event.sequence);
        }
    }
}

async fn run(seed: u64) {
    let mut luck = Luck(seed);
    let harness = Harness::open();
    let endpoint = json!({"url": "https://shop.example/hooks"});
    assert_eq!(harness.post("/v1/webhook-endpoints", &endpoint).await.status, 201);
    let mut orders: Vec<String> = Vec::new();
    for _ in 0..STEPS {
        match luck.below(10) {
            0 | 1 => orders.push(harness.order().await),
            2 if !orders.is_empty() => {
                let order = &orders[usize::try_from(luck.below(orders.len() as u64)).unwrap()];
                harness.act(&format!("/v1/orders/{order}/confirm"), &[]).await;
            }
            3 if !orders.is_empty() => {
                let order = &orders[usize::try_from(luck.below(orders.len() as u64)).unwrap()];
                harness.act(&format!("/v1/orders/{order}/cancel"), &[]).await;
            }
            4 => deliver_and_die(&harness, &mut luck).await,
            5 => harness.receiver.answers([Ok(500)]),
            6 => harness.receiver.answers([Err(NoAnswer::from(Unknown::TimedOut).into())]),
            7 => harness.receiver.answers([Err(NoAnswer::from(Shed::BreakerOpen).into())]),
            _ => harness.deliver_webhooks_by(&[5; 50]).await,
        }
        harness.clock.advance(Duration::from_secs(luck.below(30)));
    }
    // Everybody is well again.
    harness.receiver.script.lock().unwrap().clear();
    for _ in 0..20 {
        harness.clock.advance(Duration::from_secs(120));
        harness.deliver_webhooks_by(&[5; 50]).await;
    }
    judge(seed, &harness, &orders).await;
}

async fn judge(seed: u64, harness: &Harness, orders: &[String]) {
    let taken = harness.receiver.ids();
    let mut happened = BTreeSet::new();
    for order in orders {
        let order = OrderId::parse(order).unwrap();
        for event in harness.store.events_of(order, 0, 1_000).await.unwrap() {
            happened.insert(format!("{order}_{}", event.sequence));
        }
    }
    let told: BTreeSet<String> = taken.iter().cloned().collect();
    assert_eq!(told, happened, "seed {seed}: all that happened, and nothing else");
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for id in taken.iter().filter(|id| seen.insert((*id).clone())) {
        let (order, sequence) = id.split_once('_').unwrap();
        let last = last.entry(order).or_default();
        assert_eq!(sequence.parse::<u64>().unwrap(), *last + 1, "seed {seed}: {id}");
        *last += 1;
    }
}

#[tokio::test]
async fn every_event_is_taken_at_least_once_whatever_dies() {
    for seed in 0..SCHEDULES {
        run(seed).await;
    }
}
