//! More than there is capacity for.

use crate::client::send;
use crate::load::{Offered, Round, count, millis, open};
use crate::report::{head, round, say};
use crate::stacks::{Database, Stack, Stacks};
use crate::work::{ORDER, Work};
use anyhow::Result;
use std::time::Duration;

const OFFERED: [f64; 5] = [0.5, 1.0, 2.0, 5.0, 10.0];
const CONNECTIONS: usize = 2_000;
const SPAN: Duration = Duration::from_secs(4);

pub async fn run() -> Result<()> {
    let stacks = Stacks::start(&Database::Sqlite, &[]).await?;
    head(
        "Offered load",
        "Orders are placed (SQLite) at a multiple of what 64 clients get through, over 2,000 connections; waits \
         count from when a request was due, and nobody waits longer than 1 s. Given up: not answered in time, \
         or not even sent. The client has one core: what it could not send is in that column too.",
        &[
            "side",
            "capacity /s",
            "offered",
            "accepted /s",
            "of capacity",
            "accepted p50, p99 ms",
            "refused /s",
            "refused p99 ms",
            "given up /s",
        ],
    );
    for (name, stack) in [("bare", &stacks.bare), ("ours", &stacks.ours)] {
        let capacity = round(stack, &Work::place(), 64, SPAN).await?.per_second();
        for factor in OFFERED {
            let seen = offer(stack, capacity * factor).await?;
            tell(name, capacity, factor, &seen);
        }
    }
    Ok(())
}

async fn offer(stack: &Stack, per_second: f64) -> Result<Offered> {
    let request = send("POST", "/v1/orders", "", ORDER);
    open(&stack.process, stack.address, &request, per_second, CONNECTIONS, SPAN).await
}

fn tell(name: &str, capacity: f64, factor: f64, seen: &Offered) {
    let accepted = &seen.accepted;
    let refused = Round { waits: seen.refusal_waits.clone(), ..Round::default() };
    let seconds = accepted.lasted.as_secs_f64();
    say(&format!(
        "| {name} | {capacity:.0} | {factor} | {:.0} | {:.2} | {:.1}, {:.1} | {:.0} | {:.1} | {:.0} |",
        accepted.per_second(),
        accepted.per_second() / capacity,
        accepted.wait(50),
        accepted.wait(99).min(millis(SPAN)),
        count(seen.refused) / seconds,
        refused.wait(99),
        count(seen.given_up) / seconds,
    ));
}
