//! A breaker for each of many keys (hosts, tenants, operations), bounded in number. A breaker costs
//! a few words and no task, so ten thousand are no burden; but keys that come from outside are
//! never to grow memory without end.

use super::config::BreakerConfig;
use super::guard::Breaker;
use super::shared::Shared;
use super::state::BreakerState;
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::observer::Observer;
use crate::adapters::resilience::settings::InvalidSetting;
use crate::core::domain::unavailable::System;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// How far a newcomer looks for a breaker to replace before it settles for the common one.
const PATIENCE: usize = 128;

/// Breakers by key, with common rules, clock, mode and observer.
///
/// When full, a new key takes the slot of one that is closed, not in use and not lately used. A
/// breaker that is open or half-open is never evicted: forgetting it would let calls through to a
/// partner known to be down. If no slot is found, the newcomer shares one common breaker.
#[derive(Debug)]
pub struct Keyed<K> {
    shared: Arc<Shared>,
    capacity: usize,
    slots: RwLock<Slots<K>>,
    common: Arc<Breaker>,
}

#[derive(Debug)]
struct Slots<K> {
    by_key: HashMap<K, usize>,
    entries: Vec<Entry<K>>,
    hand: usize,
}

#[derive(Debug)]
struct Entry<K> {
    key: K,
    breaker: Arc<Breaker>,
    used: AtomicBool,
}

impl<K: Hash + Eq + Clone> Keyed<K> {
    /// An empty set for at most `capacity` keys.
    ///
    /// # Errors
    ///
    /// Every setting that cannot be.
    pub fn new(
        system: System,
        config: &BreakerConfig,
        capacity: usize,
        clock: MonotonicClock,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Vec<InvalidSetting>> {
        let shared = Arc::new(Shared::new(system, config, clock, observer)?);
        let common = Arc::new(Breaker::of(Arc::clone(&shared)));
        let slots = Slots { by_key: HashMap::new(), entries: Vec::new(), hand: 0 };
        Ok(Self { shared, capacity, slots: RwLock::new(slots), common })
    }

    /// The breaker of `key`, made if need be.
    #[must_use]
    pub fn get(&self, key: &K) -> Arc<Breaker> {
        if let Some(known) = self.read().find(key) {
            return known;
        }
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        // Another may have made it between the two locks.
        if let Some(known) = slots.find(key) {
            return known;
        }
        let Some(slot) = slots.vacate(self.capacity) else { return Arc::clone(&self.common) };
        let breaker = Arc::new(Breaker::of(Arc::clone(&self.shared)));
        slots.put(slot, key.clone(), Arc::clone(&breaker));
        breaker
    }

    /// Keys that have a breaker of their own.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().entries.len()
    }

    /// Whether no key has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys whose breakers are not closed.
    #[must_use]
    pub fn troubled(&self) -> Vec<K> {
        let is_troubled = |entry: &&Entry<K>| entry.breaker.state() != BreakerState::Closed;
        self.read().entries.iter().filter(is_troubled).map(|entry| entry.key.clone()).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, Slots<K>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq + Clone> Slots<K> {
    fn find(&self, key: &K) -> Option<Arc<Breaker>> {
        let entry = &self.entries[*self.by_key.get(key)?];
        entry.used.store(true, Ordering::Relaxed);
        Some(Arc::clone(&entry.breaker))
    }

    /// A slot for one more: a new one, or, by the clock's hand, one that nobody needs.
    fn vacate(&mut self, capacity: usize) -> Option<usize> {
        if self.entries.len() < capacity {
            return Some(self.entries.len());
        }
        for _ in 0..PATIENCE.min(2 * capacity) {
            let slot = self.hand;
            self.hand = (self.hand + 1) % capacity;
            let entry = &self.entries[slot];
            let rested = !entry.used.swap(false, Ordering::Relaxed);
            let unneeded = Arc::strong_count(&entry.breaker) == 1;
            if rested && unneeded && entry.breaker.state() == BreakerState::Closed {
                return Some(slot);
            }
        }
        None
    }

    fn put(&mut self, slot: usize, key: K, breaker: Arc<Breaker>) {
        self.by_key.insert(key.clone(), slot);
        let entry = Entry { key, breaker, used: AtomicBool::new(true) };
        if slot == self.entries.len() {
            self.entries.push(entry);
        } else {
            let evicted = std::mem::replace(&mut self.entries[slot], entry);
            self.by_key.remove(&evicted.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::resilience::observer::Silent;
    use crate::adapters::resilience::verdict::Verdict;
    use std::time::Duration;

    fn keyed(capacity: usize) -> Keyed<u32> {
        let config = BreakerConfig::default();
        Keyed::new(System::Catalog, &config, capacity, MonotonicClock::Coarse, Arc::new(Silent))
            .expect("a valid configuration")
    }

    fn break_down(breaker: &Breaker) {
        while let Ok(permit) = breaker.try_acquire() {
            permit.record(Verdict::Failing, Duration::ZERO);
        }
    }

    #[test]
    fn a_key_keeps_its_breaker_and_shares_it_with_no_other() {
        let hosts = keyed(8);
        break_down(&hosts.get(&1));
        assert_eq!(hosts.get(&1).state(), BreakerState::Open);
        assert_eq!(hosts.get(&2).state(), BreakerState::Closed);
        assert_eq!(hosts.troubled(), [1]);
    }

    #[test]
    fn an_open_breaker_is_never_evicted_however_many_keys_come() {
        let hosts = keyed(4);
        break_down(&hosts.get(&1));
        for host in 2..1_000 {
            let _seen = hosts.get(&host);
        }
        assert_eq!(hosts.len(), 4);
        assert_eq!(hosts.get(&1).state(), BreakerState::Open);
    }

    #[test]
    fn a_breaker_in_use_is_not_evicted() {
        let hosts = keyed(2);
        let held = hosts.get(&1);
        for host in 2..100 {
            let _seen = hosts.get(&host);
        }
        assert!(Arc::ptr_eq(&held, &hosts.get(&1)));
    }

    #[test]
    fn when_every_slot_is_taken_newcomers_share_one_breaker() {
        let hosts = keyed(2);
        break_down(&hosts.get(&1));
        break_down(&hosts.get(&2));
        assert!(Arc::ptr_eq(&hosts.get(&3), &hosts.get(&4)));
        assert_eq!(hosts.len(), 2);
    }
}
