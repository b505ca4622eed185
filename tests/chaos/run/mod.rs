//! One run of chaos: instances of the real binary on a real database, partners that remember, clients
//! and payers at work, and everything that can break breaking at random. Then everything heals, and
//! what the clients were told is held against the database and the partners' ledgers.
//!
//! The seed chooses what happens, not when the machine gets to it: a run is not replayed exactly. That
//! is the simulation's office; here everything is real.

mod client;
mod errand;
mod faults;
mod instance;
mod judge;
mod ledger;
mod payer;
mod postgres;
#[path = "../../storage_contract/proxy.rs"]
mod proxy;
mod report;
mod settle;
mod stage;
mod trouble;

pub use report::Report;
pub use stage::{Database, Plan};

use client::Client;
use errand::Errand;
use fastrand::Rng;
use instance::Instance;
use stage::Stage;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// `None`: there is no PostgreSQL here.
pub async fn run(plan: &Plan) -> Option<Report> {
    let (stage, instances) = stage::build(plan).await?;
    let mut rng = Rng::with_seed(plan.seed);
    let mut report = Report::of(plan);

    let reapers: Vec<_> = instances
        .into_iter()
        .map(|instance| tokio::spawn(trouble::reap(Arc::clone(&stage), rng.fork(), instance)))
        .collect();
    let breakers = trouble::begin(&stage, &mut rng, plan.storm);
    let payers = tokio::spawn(payer::pay(Arc::clone(&stage), rng.fork()));
    let clients: Vec<_> = (0..plan.clients)
        .map(|number| tokio::spawn(Client::new(number, Arc::clone(&stage), rng.fork()).work()))
        .collect();

    sleep(plan.storm).await;
    stage.storm.cancel();
    let mut errands: Vec<Errand> = vec![];
    for client in clients {
        errands.extend(client.await.unwrap());
    }
    payers.await.unwrap();
    for breaker in breakers {
        breaker.await.unwrap();
    }
    trouble::heal(&stage).await;
    let mut alive = vec![];
    for reaper in reapers {
        alive.push(reaper.await.unwrap());
    }
    let healed = Instant::now();
    settle::until_quiet(&stage, &mut errands, patience(plan)).await;
    report.quiet_after = healed.elapsed();
    settle::ask_again(&stage, &mut errands).await;
    judge::judge(&stage, &errands, &mut report).await;
    for instance in &alive {
        report.wrong.extend(instance.panics());
    }
    report.count(&stage, &errands);
    stop(stage, alive).await;
    Some(report)
}

/// What nobody calls back about is polled ever more seldom, up to every five minutes: the longer the
/// storm, the longer the last news may take.
fn patience(plan: &Plan) -> Duration {
    Duration::from_secs(60) + (plan.storm * 2).min(Duration::from_secs(400))
}

async fn stop(stage: Arc<Stage>, alive: Vec<Instance>) {
    for mut instance in alive {
        instance.kill().await;
    }
    stage.database.end().await;
}
