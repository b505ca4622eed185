//! One run of chaos: instances of the real binary on a real database, partners that remember, clients
//! and payers at work, and everything that can break breaking at random. Then everything heals, and
//! what the clients were told is held against the database and the partners' ledgers.
//!
//! The seed chooses what happens, not when the machine gets to it: a run is not replayed exactly. That
//! is the simulation's office; here everything is real.

mod client;
mod client_session;
mod faults;
mod harness;
mod instance;
mod judge;
mod ledger;
mod payer;
mod postgres;
#[path = "../../storage_contract/proxy.rs"]
mod proxy;
mod report;
mod settle;
mod trouble;

pub use harness::{Database, Plan};
pub use report::Report;

use client::Client;
use client_session::ClientSession;
use fastrand::Rng;
use harness::Harness;
use instance::Instance;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// `None`: there is no PostgreSQL here.
pub async fn run(plan: &Plan) -> Option<Report> {
    let (harness, instances) = harness::build(plan).await?;
    let mut rng = Rng::with_seed(plan.seed);
    let mut report = Report::of(plan);

    let reapers: Vec<_> = instances
        .into_iter()
        .map(|instance| tokio::spawn(trouble::reap(Arc::clone(&harness), rng.fork(), instance)))
        .collect();
    let breakers = trouble::begin(&harness, &mut rng, plan.storm);
    let payers = tokio::spawn(payer::pay(Arc::clone(&harness), rng.fork()));
    let clients: Vec<_> = (0..plan.clients)
        .map(|number| tokio::spawn(Client::new(number, Arc::clone(&harness), rng.fork()).work()))
        .collect();

    sleep(plan.storm).await;
    harness.storm.cancel();
    let mut sessions: Vec<ClientSession> = vec![];
    for client in clients {
        sessions.extend(client.await.unwrap());
    }
    payers.await.unwrap();
    for breaker in breakers {
        breaker.await.unwrap();
    }
    trouble::heal(&harness).await;
    let mut alive = vec![];
    for reaper in reapers {
        alive.push(reaper.await.unwrap());
    }
    let healed = Instant::now();
    settle::until_quiet(&harness, &mut sessions, patience(plan)).await;
    report.quiet_after = healed.elapsed();
    settle::ask_again(&harness, &mut sessions).await;
    judge::judge(&harness, &sessions, &mut report).await;
    for instance in &alive {
        report.wrong.extend(instance.panics());
    }
    report.count(&harness, &sessions);
    stop(harness, alive).await;
    Some(report)
}

/// What nobody calls back about is polled ever more seldom, up to every five minutes: the longer the
/// storm, the longer the last news may take.
fn patience(plan: &Plan) -> Duration {
    Duration::from_secs(60) + (plan.storm * 2).min(Duration::from_secs(400))
}

async fn stop(harness: Arc<Harness>, alive: Vec<Instance>) {
    for mut instance in alive {
        instance.kill().await;
    }
    harness.database.end().await;
}
