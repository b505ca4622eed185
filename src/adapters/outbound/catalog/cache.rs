//! What the catalog last said of each product. Fresh entries answer instead of the catalog, stale
//! ones only when it cannot; nothing but an answer of the catalog ever changes an entry. Where
//! instances share a cache, the memory stands before it, and an answer that another instance heard
//! is as old here as it is there.

use super::entry::Entry;
use super::shared::SharedAnswers;
use super::single_flight::SingleFlight;
use crate::core::domain::ids::ProductId;
use std::sync::Arc;
use std::time::Duration;

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

type Memory = moka::future::Cache<ProductId, Arc<Entry>>;

#[derive(Debug)]
pub(super) struct Cache {
    memory: Memory,
    shared: Option<Arc<SharedAnswers>>,
    /// Readers who miss together look once into the shared cache.
    looks: SingleFlight<Option<Arc<Entry>>>,
    config: CacheConfig,
}

impl Cache {
    pub(super) fn new(config: CacheConfig, shared: Option<SharedAnswers>) -> Self {
        let memory = moka::future::Cache::builder()
            .max_capacity(config.capacity)
            // Only for the memory: what may be served is decided by the entry's age.
            .time_to_live(config.max_stale)
            .build();
        Self { memory, shared: shared.map(Arc::new), looks: SingleFlight::new(), config }
    }

    /// Everything that this process remembers.
    pub(super) fn forget(&self) {
        self.memory.invalidate_all();
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
async fn look(memory: Memory, shared: Arc<SharedAnswers>, id: ProductId) -> Option<Arc<Entry>> {
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
