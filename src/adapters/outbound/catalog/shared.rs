//! The catalog's answers between instances. What lies there is believed no more than the catalog
//! itself: it is read by the same rules, and whatever breaks one is a miss.
//!
//! **Its age** has two witnesses, and the one that says older is believed. The entry says when the
//! catalog answered, by the clock of the instance that heard it; against our own clock that is wrong
//! by as much as the two differ. The Redis says how long the entry has lain there, by one clock that
//! is nobody's of us; that is wrong by as much as it came late or that clock was set back. For a price
//! to look younger than it is, both must err at the same time. An entry from the future proves that
//! a clock is wrong, and is not used.

use super::entry::Entry;
use super::wire;
use crate::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use crate::adapters::outbound::remote_cache::{Found, RemoteCache, RemoteCacheConfig};
use crate::core::domain::ids::ProductId;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::clock::Clock;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

const PREFIX: &str = "product-catalog:";

/// A name of the longest, all of it escaped, and the rest.
const LONGEST: usize = 8 * 1024;

/// Clocks that are kept in step differ by less.
const TOLERANCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct SharedAnswers {
    remote: RemoteCache,
    wall_clock: Arc<dyn Clock>,
    events: Arc<dyn AdapterEvents>,
}

/// Beside the product, which lies there in the catalog's own words.
#[derive(Debug, Serialize, Deserialize)]
struct Marks {
    /// When the catalog said so: microseconds since 1970.
    as_of: i64,
    /// For how long it was put there.
    lives_ms: u64,
}

#[derive(Serialize)]
struct Kept<'a> {
    #[serde(flatten)]
    product: wire::ProductWords<'a>,
    #[serde(flatten)]
    marks: Marks,
}

impl SharedAnswers {
    pub(super) fn new(
        config: RemoteCacheConfig,
        wall_clock: Arc<dyn Clock>,
        events: Arc<dyn AdapterEvents>,
    ) -> Self {
        Self { remote: RemoteCache::new(config), wall_clock, events }
    }

    pub(super) async fn get(&self, id: &ProductId) -> Option<Entry> {
        let found = self.remote.get(&key(id), LONGEST).await;
        let entry = found.and_then(|found| read(id, &found, self.wall_clock.now()));
        self.events.tell(&AdapterEvent::SharedCacheRead { hit: entry.is_some() });
        entry
    }

    pub(super) async fn put(&self, entry: &Entry, lives: Duration) {
        let bytes = write(entry, lives);
        self.remote.put(&key(&entry.product.id), &bytes, lives).await;
    }

    pub(super) async fn evict(&self, id: &ProductId) {
        self.remote.remove(&key(id)).await;
    }
}

fn key(id: &ProductId) -> String {
    format!("{PREFIX}{id}")
}

fn write(entry: &Entry, lives: Duration) -> Vec<u8> {
    let marks = Marks {
        as_of: entry.as_of.micros(),
        lives_ms: u64::try_from(lives.as_millis()).unwrap_or(u64::MAX),
    };
    let kept = Kept { product: wire::ProductWords::of(&entry.product), marks };
    serde_json::to_vec(&kept).expect("strings and numbers under string keys")
}

fn read(asked: &ProductId, found: &Found, now: Timestamp) -> Option<Entry> {
    let product = wire::read_product(asked, &found.bytes).ok()?;
    let marks: Marks = serde_json::from_slice(&found.bytes).ok()?;
    let as_of = Timestamp::from_micros(marks.as_of);
    if as_of > now + TOLERANCE {
        return None;
    }
    // More time left than it was given: somebody else has had a hand in it.
    let lain = Duration::from_millis(marks.lives_ms).checked_sub(found.left)?;
    let age = lain.max(now.since(as_of)) + found.took;
    Some(Entry::aged(product, as_of, age))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::domain::money::Money;
    use crate::core::ports::catalog::Product;

    const NOW: Timestamp = Timestamp::from_micros(1_764_500_000_000_000);
    const DAY: Duration = Duration::from_secs(86_400);

    fn id() -> ProductId {
        ProductId::parse("p-1").unwrap()
    }

    fn entry(name: &str) -> Entry {
        let product =
            Product { id: id(), name: name.to_owned(), price: Money::rub(19_900).unwrap() };
        Entry::new(product, NOW)
    }

    /// Read by a clock that is `later` than the writer's, with `left` to live by the Redis.
    fn age(later: i64, left: Duration) -> Option<u64> {
        let bytes = write(&entry("Чай"), DAY);
        let found = Found { bytes, left, took: Duration::ZERO };
        let now = Timestamp::from_micros(NOW.micros() + later * 1_000_000);
        read(&id(), &found, now).map(|entry| entry.age().as_secs())
    }

    #[test]
    fn of_two_witnesses_the_one_who_says_older_is_believed() {
        let hour = Duration::from_secs(3_600);
        assert_eq!(age(3_600, DAY - hour), Some(3_600));
        assert_eq!(age(60, DAY - hour), Some(3_600), "our clock is behind the writer's");
        assert_eq!(age(7_200, DAY - hour), Some(7_200), "our clock is ahead of it");
        assert_eq!(age(3_600, DAY), Some(3_600), "the clock of the Redis was set back");
        assert_eq!(age(0, DAY - hour), Some(3_600));
    }

    #[test]
    fn what_comes_from_the_future_or_lives_too_long_is_not_used() {
        assert_eq!(age(-1, DAY), Some(0), "as exact as clocks are");
        assert_eq!(age(-2, DAY), None);
        assert_eq!(age(0, DAY + Duration::from_millis(1)), None);
    }

    #[test]
    fn the_time_that_the_answer_took_counts_as_age() {
        let took = Duration::from_secs(2);
        let found = Found { bytes: write(&entry("n"), DAY), left: DAY, took };
        assert!(read(&id(), &found, NOW).unwrap().age() >= took);
    }

    #[test]
    fn the_longest_entry_fits() {
        let longest = entry(&"\u{1}".repeat(1024));
        let bytes = write(&longest, DAY);
        assert!(bytes.len() <= LONGEST, "{}", bytes.len());
        let found = Found { bytes, left: DAY, took: Duration::ZERO };
        assert_eq!(read(&id(), &found, NOW).unwrap().product, longest.product);
    }
}
