//! Whoever breaks things: the partners' weather, the reapers of instances, the scissors at the
//! database's wire and the hand at its switch.

use super::faults::{callback_policy, fault, mood};
use super::harness::{Harness, Store};
use super::instance::Instance;
use super::proxy::{Cut, Proxy};
use fastrand::Rng;
use order_service::sandbox::{CallbackPolicy, Mood, PartnerName};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// A pause; `false` when the storm ended in it.
pub async fn pause(harness: &Harness, rng: &mut Rng, millis: std::ops::Range<u64>) -> bool {
    let pause = Duration::from_millis(rng.u64(millis));
    harness.storm.run_until_cancelled(sleep(pause)).await.is_some()
}

/// All but the reapers.
pub fn begin(harness: &Arc<Harness>, rng: &mut Rng, storm: Duration) -> Vec<JoinHandle<()>> {
    let mut all = vec![];
    for partner in PartnerName::payment_systems().chain([PartnerName::Catalog]) {
        all.push(tokio::spawn(weather(Arc::clone(harness), rng.fork(), partner)));
    }
    all.push(tokio::spawn(post(Arc::clone(harness), rng.fork(), storm)));
    if matches!(harness.database, Store::Postgres { .. }) {
        all.push(tokio::spawn(cut_wires(Arc::clone(harness), rng.fork())));
        all.push(tokio::spawn(switch_off(Arc::clone(harness), rng.fork())));
    }
    all
}

/// Fair, then a mood or a scripted fault, then fair again.
async fn weather(harness: Arc<Harness>, mut rng: Rng, partner: PartnerName) {
    let pays = PartnerName::payment_systems().any(|paid| paid == partner);
    while pause(&harness, &mut rng, 50..800).await {
        Harness::bump(&harness.tally.faults);
        if pays && rng.u8(..3) > 0 {
            let id = harness.partners.add_fault(partner, fault(&mut rng, partner));
            pause(&harness, &mut rng, 300..2_000).await;
            harness.partners.remove_fault(partner, id);
        } else {
            harness.partners.set_mode(partner, mood(&mut rng, pays)).await;
            pause(&harness, &mut rng, 100..1_500).await;
            harness.partners.set_mode(partner, Mood::Ok).await;
        }
    }
}

/// Callbacks get lost, forged, late, repeated, and addressed to other instances.
async fn post(harness: Arc<Harness>, mut rng: Rng, storm: Duration) {
    let began = Instant::now();
    while pause(&harness, &mut rng, 200..1_000).await {
        let late = began.elapsed() > storm / 3;
        harness.partners.set_callback_url(rng.choice(&harness.apis).map(String::as_str));
        for partner in PartnerName::payment_systems() {
            harness.partners.set_callback_policy(partner, callback_policy(&mut rng, late));
        }
    }
}

/// Kills, stops and restarts one instance until the storm is over; then it runs.
pub async fn reap(harness: Arc<Harness>, mut rng: Rng, mut instance: Instance) -> Instance {
    while pause(&harness, &mut rng, 300..3_000).await {
        if rng.u8(..5) > 1 {
            instance.kill().await;
            Harness::bump(&harness.tally.kills);
        } else {
            let ended = instance.term().await;
            if !ended.is_some_and(|status| status.success()) {
                harness.complain(format!("{} ended by {ended:?} after SIGTERM", instance.name));
            }
            Harness::bump(&harness.tally.terms);
        }
        pause(&harness, &mut rng, 0..400).await;
        let took = instance.start().await;
        harness.restarts.lock().unwrap().push(took);
    }
    instance
}

async fn cut_wires(harness: Arc<Harness>, mut rng: Rng) {
    let Store::Postgres { proxy, .. } = &harness.database else { return };
    while pause(&harness, &mut rng, 200..1_500).await {
        let tally = &harness.tally;
        let (cut, counter) = if rng.bool() {
            (Cut::Before, &tally.cut_before)
        } else {
            (Cut::After, &tally.cut_after)
        };
        proxy.cut(cut);
        while !proxy.has_cut() && pause(&harness, &mut rng, 10..20).await {}
        if has_fallen(proxy) {
            Harness::bump(counter);
        }
    }
}

/// Whether the blade fell; if not, it is taken away.
fn has_fallen(proxy: &Proxy) -> bool {
    let fallen = proxy.has_cut();
    proxy.cut(Cut::Never);
    fallen
}

async fn switch_off(harness: Arc<Harness>, mut rng: Rng) {
    let Store::Postgres { base, .. } = &harness.database else { return };
    while pause(&harness, &mut rng, 3_000..9_000).await {
        if !base.restart().await {
            return;
        }
        Harness::bump(&harness.tally.database_restarts);
    }
}

pub async fn heal(harness: &Harness) {
    harness.partners.set_callback_url(harness.apis.first().map(String::as_str));
    for partner in PartnerName::payment_systems() {
        harness.partners.set_callback_policy(partner, CallbackPolicy::default());
    }
}
