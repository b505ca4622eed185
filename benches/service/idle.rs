//! What it takes to do nothing: memory, idle connections, and to be there at all.

use crate::client::Connection;
use crate::report::{head, round, say};
use crate::stacks::{Database, Stack, Stacks};
use crate::work::Work;
use anyhow::Result;
use std::time::Duration;
use tokio::time::sleep;

const CONNECTIONS: u64 = 8_000;

pub async fn run() -> Result<()> {
    let about = format!(
        "Resident memory: after the start, after a second of placing by 64 clients, and what each of \
         {CONNECTIONS} idle connections adds. Ready: from the start of the process to the first connection, \
         on a new SQLite file that `migrate` has made."
    );
    let columns =
        ["side", "ready ms", "idle MB", "idle processor ms/s", "after load MB", "KB a connection"];
    head("At rest", &about, &columns);
    let stacks = Stacks::start(&Database::Sqlite, &[]).await?;
    sleep(Duration::from_secs(1)).await;
    for (name, stack) in [("bare", &stacks.bare), ("ours", &stacks.ours)] {
        tell(name, stack).await?;
    }
    Ok(())
}

async fn tell(name: &str, stack: &Stack) -> Result<()> {
    let (process, ready) = (&stack.process, stack.ready_after.as_millis());
    let (idle, spent) = (process.resident()?, process.spent()?);
    sleep(Duration::from_secs(5)).await;
    let spent = (process.spent()? - spent).as_millis() / 5;
    round(stack, &Work::place(), 64, Duration::from_secs(1)).await?;
    let loaded = process.resident()?;
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = Connection::new(stack.address);
        connection.open().await?;
        connections.push(connection);
    }
    sleep(Duration::from_millis(500)).await;
    let each = process.resident()?.saturating_sub(loaded) / CONNECTIONS;
    let [idle, loaded] = [idle, loaded].map(|bytes| bytes / 1_000_000);
    let kilobytes = format!("{}.{}", each / 1_000, each % 1_000 / 100);
    say(&format!("| {name} | {ready} | {idle} | {spent} | {loaded} | {kilobytes} |"));
    Ok(())
}
