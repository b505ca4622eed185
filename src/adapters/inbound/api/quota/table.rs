//! What is remembered of each client: one number, in a table that has an end.

use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::ShrinkableKeyedStateStore;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So that two clients seldom wait for one another, and never longer than one sum takes.
const SHARDS: usize = 64;
/// Of how many, in a full shard, the least active one makes room.
const SAMPLE: usize = 8;

/// By the client's digest, the moment up to which its requests are paid for. In a full table a new
/// client takes the room of one that asked little, which may then begin afresh: better to let a few
/// through too many than to grow without end, or to send every newcomer away.
#[derive(Debug)]
pub(super) struct Table {
    shards: Vec<Mutex<HashMap<u64, Nanos>>>,
    capacity: usize,
}

impl Table {
    pub(super) fn new(clients: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, capacity: clients.div_ceil(SHARDS).max(1) }
    }

    fn shard(&self, client: u64) -> MutexGuard<'_, HashMap<u64, Nanos>> {
        let index = usize::try_from(client % SHARDS as u64).expect("less than SHARDS");
        lock(&self.shards[index])
    }
}

fn lock(shard: &Mutex<HashMap<u64, Nanos>>) -> MutexGuard<'_, HashMap<u64, Nanos>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StateStore for Table {
    type Key = u64;

    fn measure_and_replace<T, F, E>(&self, client: &u64, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut shard = self.shard(*client);
        let before = shard.get(client).copied();
        let (outcome, after) = measure(before)?;
        if before.is_none() && shard.len() >= self.capacity {
            let least = shard.iter().take(SAMPLE).min_by_key(|(_, paid_up_to)| **paid_up_to);
            if let Some(least) = least.map(|(client, _)| *client) {
                shard.remove(&least);
            }
        }
        shard.insert(*client, after);
        Ok(outcome)
    }
}

impl ShrinkableKeyedStateStore<u64> for Table {
    fn retain_recent(&self, drop_below: Nanos) {
        for shard in &self.shards {
            lock(shard).retain(|_, paid_up_to| *paid_up_to > drop_below);
        }
    }

    fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| lock(shard).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(table: &Table, client: u64, paid_up_to: u64) {
        let paid = |_| Ok::<_, ()>(((), Nanos::new(paid_up_to)));
        table.measure_and_replace(&client, paid).unwrap();
    }

    #[test]
    fn a_full_table_grows_no_further_and_keeps_the_busiest() {
        let table = Table::new(4 * SHARDS);
        for client in 0..20_000 {
            measure(&table, client, client);
            measure(&table, 0, u64::MAX);
        }
        assert_eq!(table.len(), 4 * SHARDS);
        assert!(lock(&table.shards[0]).contains_key(&0), "the busiest is remembered");
    }

    #[test]
    fn a_refusal_remembers_nobody() {
        let table = Table::new(1);
        let refused = |_| Err::<((), Nanos), _>("no");
        assert_eq!(table.measure_and_replace(&7, refused), Err("no"));
        assert!(table.is_empty());
    }
}
