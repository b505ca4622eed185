//! Load: a number of clients that each wait for their answer, or a rate that waits for nobody.

use crate::client::Connection;
use crate::process::Process;
use crate::work::Work;
use anyhow::Result;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

/// One round of load and what it cost the server.
#[derive(Debug, Clone, Default)]
pub struct Round {
    pub lasted: Duration,
    /// Of each piece of work.
    pub waits: Vec<Duration>,
    /// The server's processor time.
    pub spent: Duration,
}

impl Round {
    pub fn per_second(&self) -> f64 {
        count(self.waits.len()) / self.lasted.as_secs_f64()
    }

    /// Microseconds of processor time for each.
    pub fn cost(&self) -> f64 {
        self.spent.as_secs_f64() * 1e6 / count(self.waits.len()).max(1.0)
    }

    /// Milliseconds that so many hundredths did not wait longer than.
    pub fn wait(&self, percent: usize) -> f64 {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        let place = waits.len() * percent / 100;
        waits.get(place.min(waits.len().saturating_sub(1))).map_or(0.0, |wait| millis(*wait))
    }
}

/// Clients that ask, wait and ask again.
pub async fn closed(
    server: &Process,
    address: &str,
    work: &Work,
    clients: usize,
    span: Duration,
) -> Result<Round> {
    let (begun, spent) = (Instant::now(), server.spent()?);
    let mut running = JoinSet::new();
    for _ in 0..clients {
        let (work, mut connection) = (work.clone(), Connection::new(address));
        running.spawn(async move {
            let mut waits = Vec::new();
            while begun.elapsed() < span {
                let asked = Instant::now();
                if !work.once(&mut connection).await? {
                    break;
                }
                waits.push(asked.elapsed());
            }
            Ok::<_, anyhow::Error>(waits)
        });
    }
    let mut waits = Vec::new();
    while let Some(client) = running.join_next().await {
        waits.extend(client??);
    }
    Ok(Round { lasted: begun.elapsed(), waits, spent: server.spent()? - spent })
}

/// What became of requests that were sent at a rate.
#[derive(Debug, Clone, Default)]
pub struct Offered {
    /// Those that were let in, each from when it was due.
    pub accepted: Round,
    /// Answered with 503.
    pub refused: usize,
    /// Not answered in time, or not sent because all connections still waited.
    pub given_up: usize,
    /// Of the refusals.
    pub refusal_waits: Vec<Duration>,
}

/// Nobody waits longer than that.
const PATIENCE: Duration = Duration::from_secs(1);

/// The same request at a rate, over so many connections.
pub async fn open(
    server: &Process,
    address: &str,
    request: &[u8],
    per_second: f64,
    connections: usize,
    span: Duration,
) -> Result<Offered> {
    let (begun, spent) = (Instant::now(), server.spent()?);
    let every = Duration::from_secs_f64(count(connections) / per_second);
    let mut running = JoinSet::new();
    for number in 0..connections {
        let (request, address) = (request.to_vec(), address.to_owned());
        let first = begun + every.mul_f64(count(number) / count(connections));
        running.spawn(at_rate(address, request, first, every, begun + span));
    }
    let mut all = Offered::default();
    while let Some(one) = running.join_next().await {
        let one = one?;
        all.accepted.waits.extend(one.accepted.waits);
        all.refusal_waits.extend(one.refusal_waits);
        all.refused += one.refused;
        all.given_up += one.given_up;
    }
    all.accepted.lasted = span;
    all.accepted.spent = server.spent()? - spent;
    Ok(all)
}

/// One connection's share. What became due while it still waited is sent late, and counted from when it
/// was due; what is late by more than the patience is not sent at all.
async fn at_rate(
    address: String,
    request: Vec<u8>,
    first: Instant,
    every: Duration,
    end: Instant,
) -> Offered {
    let (mut seen, mut due) = (Offered::default(), first);
    let mut connection = Connection::new(&address);
    while due < end {
        sleep_until(due).await;
        if due.elapsed() > PATIENCE {
            seen.given_up += 1;
        } else {
            let left = PATIENCE.saturating_sub(due.elapsed());
            match timeout(left, connection.ask(&request)).await {
                Ok(Ok(201 | 200)) => seen.accepted.waits.push(due.elapsed()),
                Ok(Ok(503)) => {
                    seen.refused += 1;
                    seen.refusal_waits.push(due.elapsed());
                }
                Ok(_) => seen.given_up += 1,
                Err(_) => {
                    seen.given_up += 1;
                    connection = Connection::new(&address);
                }
            }
        }
        due += every;
    }
    seen
}

pub fn millis(wait: Duration) -> f64 {
    wait.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub const fn count(number: usize) -> f64 {
    number as f64
}
