//! From healing to an empty queue.

use crate::outage::place_many;
use crate::report::{head, round, say};
use crate::stacks::{Database, PAYMENT_SYSTEMS, Stacks};
use crate::work::Work;
use anyhow::Result;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const QUEUED: usize = 10_000;
const PATIENCE: Duration = Duration::from_secs(90);

pub async fn run() -> Result<()> {
    head(
        "Draining",
        "10,000 orders were confirmed while every breaker was open; then the breakers are closed. The partner \
         takes 20 calls at a time (`SBER_MAX_CONCURRENT`).",
        &["database", "queued", "seconds until empty", "a second", "processor µs each"],
    );
    for database in Database::all() {
        let stacks = Stacks::start(&database, &[("SBER_MAX_CONCURRENT", "20")]).await?;
        stacks.ours.set_breakers(&PAYMENT_SYSTEMS, "forced_open").await?;
        let orders = place_many(stacks.ours.address, QUEUED).await?;
        let work = Work::confirm_each(orders, 202);
        round(&stacks.ours, &work, 64, Duration::MAX).await?;
        // What is queued is due a little later; nothing of that is the queue's own speed.
        sleep(Duration::from_secs(3)).await;
        let queued = stacks.ours.queued().await?;
        stacks.ours.set_breakers(&PAYMENT_SYSTEMS, "enforce").await?;
        let (begun, spent) = (Instant::now(), stacks.ours.process.spent()?);
        let mut left = queued;
        while left > 0 && begun.elapsed() < PATIENCE {
            sleep(Duration::from_millis(100)).await;
            left = stacks.ours.queued().await?;
        }
        let (took, spent) = (begun.elapsed(), stacks.ours.process.spent()? - spent);
        let done = u32::try_from(queued - left)?;
        let cost = spent.as_secs_f64() * 1e6 / f64::from(done.max(1));
        let rate = f64::from(done) / took.as_secs_f64();
        let took = if left > 0 {
            format!("{left} left after {:.0}", took.as_secs_f64())
        } else {
            format!("{:.1}", took.as_secs_f64())
        };
        say(&format!("| {} | {queued} | {took} | {rate:.0} | {cost:.0} |", database.name()));
    }
    Ok(())
}
