//! What the catalog last said of each product. Fresh entries answer instead of the catalog, stale
//! ones only when it cannot; nothing but an answer of the catalog ever changes an entry. Where
//! instances share a cache, the memory stands before it, and an answer that another instance heard
//! is as old here as it is there.

use super::shared::Shared;
use super::single_flight::Flights;
use crate::core::domain::ids::ProductId;
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::catalog::{Offer, Product};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheConfig {
    /// `CATALOG_CACHE_CAPACITY`: products.
    pub capacity: u64,
    /// `CATALOG_CACHE_TTL`: within it an entry answers without a call.
    pub ttl: Duration,
    /// `CATALOG_MAX_STALE`: older entries are never served.
    pub max_stale: Duration,
}

impl Default for CacheConfig {
    fn default() -> Self {
        Self {
            capacity: 100_000,
            ttl: Duration::from_secs(30),
            max_stale: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// An answer of the catalog.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) product: Product,
    pub(super) as_of: Timestamp,
    /// How old it was when we got it, and since when we have it on the clock that nobody sets.
    age_then: Duration,
    since: Instant,
}

impl Entry {
    /// An answer to ourselves.
    pub(super) fn new(product: Product, as_of: Timestamp) -> Self {
        Self::aged(product, as_of, Duration::ZERO)
    }

    /// An answer that somebody else heard a while ago.
    pub(super) fn aged(product: Product, as_of: Timestamp, age: Duration) -> Self {
        Self { product, as_of, age_then: age, since: Instant::now() }
    }

    pub(super) fn age(&self) -> Duration {
        self.age_then.saturating_add(self.since.elapsed())
    }

    /// As the core wants it.
    pub(super) fn offer(&self, stale: bool) -> Offer {
        let (product, as_of) = (self.product.clone(), self.as_of);
        Offer { product, as_of, age: self.age(), stale }
    }
}

type Memory = moka::future::Cache<ProductId, Arc<Entry>>;

#[derive(Debug)]
pub(super) struct Cache {
    memory: Memory,
    shared: Option<Arc<Shared>>,
    /// Readers who miss together look once into the shared cache.
    looks: Flights<Option<Arc<Entry>>>,
    config: CacheConfig,
}

impl Cache {
    pub(super) fn new(config: CacheConfig, shared: Option<Shared>) -> Self {
        let memory = moka::future::Cache::builder()
            .max_capacity(config.capacity)
            // Only for the memory: what may be served is decided by the entry's age.
            .time_to_live(config.max_stale)
            .build();
        Self { memory, shared: shared.map(Arc::new), looks: Flights::new(), config }
    }

    /// What may be said without asking the catalog, by memory or by the shared cache.
    pub(super) async fn fresh(&self, id: &ProductId) -> Option<Arc<Entry>> {
        match self.remembered(id).await {
            Some(entry) => Some(entry),
            None => self.look(id).await.filter(|entry| entry.age() < self.config.ttl),
        }
    }

    /// The same by memory alone.
    pub(super) async fn remembered(&self, id: &ProductId) -> Option<Arc<Entry>> {
        self.younger(id, self.config.ttl).await
    }

    /// What may be said when the catalog cannot answer. Whoever comes here has looked for something
    /// fresh, so memory knows what the shared cache has, unless it is too full to.
    pub(super) async fn fallback(&self, id: &ProductId) -> Option<Arc<Entry>> {
        let limit = self.config.max_stale;
        match self.younger(id, limit).await {
            Some(entry) => Some(entry),
            None => self.look(id).await.filter(|entry| entry.age() < limit),
        }
    }

    async fn look(&self, id: &ProductId) -> Option<Arc<Entry>> {
        let shared = self.shared.as_ref()?;
        let look = || look(self.memory.clone(), Arc::clone(shared), id.clone());
        self.looks.join(id, look).await
    }

    async fn younger(&self, id: &ProductId, limit: Duration) -> Option<Arc<Entry>> {
        self.memory.get(id).await.filter(|entry| entry.age() < limit)
    }

    pub(super) async fn put(&self, entry: Arc<Entry>) {
        self.memory.insert(entry.product.id.clone(), Arc::clone(&entry)).await;
        if let Some(shared) = &self.shared {
            shared.put(&entry, self.config.max_stale).await;
        }
    }

    pub(super) async fn evict(&self, id: &ProductId) {
        self.memory.invalidate(id).await;
        if let Some(shared) = &self.shared {
            shared.evict(id).await;
        }
    }
}

/// The younger of what memory and the shared cache have; memory takes it in.
async fn look(memory: Memory, shared: Arc<Shared>, id: ProductId) -> Option<Arc<Entry>> {
    let found = shared.get(&id).await.map(Arc::new);
    let known = memory.get(&id).await;
    match (found, known) {
        (Some(found), Some(known)) if known.age() <= found.age() => Some(known),
        (Some(found), _) => {
            memory.insert(id, Arc::clone(&found)).await;
            Some(found)
        }
        (None, known) => known,
    }
}
