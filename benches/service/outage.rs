//! Answers while every payment system is open.

use crate::client::Connection;
use crate::report::{compare, compared, round, row, wanted};
use crate::stacks::{Database, PAYMENT_SYSTEMS, Stack, Stacks};
use crate::work::{Work, place};
use anyhow::Result;
use std::time::Duration;

/// Orders confirmed for one row.
const SAMPLE: usize = 6_000;

/// How many wait already.
const WAITING: [usize; 3] = [0, 10_000, 100_000];

pub async fn run() -> Result<()> {
    compared(
        "An outage",
        "Every breaker forced open. Recommendations: the fallback beside a constant. `reject`: a 503 beside a constant one. `queue`: a 202 beside one durable \
         row, while so many tasks wait already.",
    );
    for database in Database::all() {
        rejected(&database).await?;
        if wanted("mode queue") {
            queued(&database).await?;
        }
    }
    Ok(())
}

async fn rejected(database: &Database) -> Result<()> {
    let stacks = Stacks::start(database, &[("PAYMENT_UNAVAILABLE_MODE", "reject")]).await?;
    let order = place(&mut Connection::new(stacks.ours.address)).await?;
    stacks.ours.set_breakers(&PAYMENT_SYSTEMS, "forced_open").await?;
    let constant =
        Work::Same { request: std::sync::Arc::new(crate::client::get("/refusal")), expected: 503 };
    let what = format!("confirm, mode reject, {}", database.name());
    compare(&what, &stacks, (&constant, &Work::confirm(&order, 503)), 64).await?;
    stacks.ours.set_breakers(&["recommendations"], "forced_open").await?;
    let (constant, hints) =
        (Work::get("/constant"), Work::get("/v1/customers/c-1/recommendations"));
    let what = format!("recommendations, {}", database.name());
    compare(&what, &stacks, (&constant, &hints), 64).await
}

async fn queued(database: &Database) -> Result<()> {
    let stacks = Stacks::start(database, &[]).await?;
    stacks.ours.set_breakers(&PAYMENT_SYSTEMS, "forced_open").await?;
    let mut waiting = 0;
    for length in WAITING {
        if length > waiting {
            confirm_new(&stacks.ours, length - waiting).await?;
            waiting = length;
        }
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            bare.push(round(&stacks.bare, &Work::place(), 64, Duration::from_secs(1)).await?);
            ours.push(confirm_new(&stacks.ours, SAMPLE / 3).await?);
            waiting += SAMPLE / 3;
        }
        row(&format!("confirm, mode queue, {length} wait, {}", database.name()), 64, &bare, &ours);
    }
    Ok(())
}

/// Orders that are placed first and then, measured, confirmed into the queue.
async fn confirm_new(stack: &Stack, number: usize) -> Result<crate::load::Round> {
    let orders = place_many(stack.address, number).await?;
    let work = Work::confirm_each(orders, 202);
    round(stack, &work, 64, Duration::MAX).await
}

pub async fn place_many(address: &str, number: usize) -> Result<Vec<String>> {
    const CLIENTS: usize = 64;
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CLIENTS {
        let mut connection = Connection::new(address);
        let share = (number + client) / CLIENTS;
        clients.spawn(async move {
            let mut orders = Vec::with_capacity(share);
            for _ in 0..share {
                orders.push(place(&mut connection).await?);
            }
            Ok::<_, anyhow::Error>(orders)
        });
    }
    let mut orders = Vec::with_capacity(number);
    while let Some(placed) = clients.join_next().await {
        orders.extend(placed??);
    }
    Ok(orders)
}
