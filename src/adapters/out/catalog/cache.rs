//! What the catalog last said of each product. Fresh entries answer instead of the catalog, stale
//! ones only when it cannot; nothing but an answer of the catalog ever changes an entry.

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
    product: Product,
    as_of: Timestamp,
    /// The same moment on the clock that nobody sets: ages come from here.
    heard: Instant,
}

impl Entry {
    pub(super) fn new(product: Product, as_of: Timestamp) -> Self {
        Self { product, as_of, heard: Instant::now() }
    }

    /// As the core wants it.
    pub(super) fn offer(&self, stale: bool) -> Offer {
        let (product, as_of) = (self.product.clone(), self.as_of);
        Offer { product, as_of, age: self.heard.elapsed(), stale }
    }
}

#[derive(Debug)]
pub(super) struct Cache {
    shelf: Shelf,
    config: CacheConfig,
}

/// Where entries lie: the place for a cache that several instances share.
#[derive(Debug)]
enum Shelf {
    Memory(moka::future::Cache<ProductId, Arc<Entry>>),
}

impl Cache {
    pub(super) fn new(config: CacheConfig) -> Self {
        let memory = moka::future::Cache::builder()
            .max_capacity(config.capacity)
            // Only for the memory: what may be served is decided by `heard`.
            .time_to_live(config.max_stale)
            .build();
        Self { shelf: Shelf::Memory(memory), config }
    }

    /// What may be said without asking the catalog.
    pub(super) async fn fresh(&self, id: &ProductId) -> Option<Arc<Entry>> {
        self.younger(id, self.config.ttl).await
    }

    /// What may be said when the catalog cannot answer.
    pub(super) async fn fallback(&self, id: &ProductId) -> Option<Arc<Entry>> {
        self.younger(id, self.config.max_stale).await
    }

    async fn younger(&self, id: &ProductId, limit: Duration) -> Option<Arc<Entry>> {
        self.shelf.get(id).await.filter(|entry| entry.heard.elapsed() < limit)
    }

    pub(super) async fn put(&self, entry: Arc<Entry>) {
        self.shelf.put(entry).await;
    }

    pub(super) async fn evict(&self, id: &ProductId) {
        self.shelf.evict(id).await;
    }
}

impl Shelf {
    async fn get(&self, id: &ProductId) -> Option<Arc<Entry>> {
        match self {
            Self::Memory(entries) => entries.get(id).await,
        }
    }

    async fn put(&self, entry: Arc<Entry>) {
        match self {
            Self::Memory(entries) => entries.insert(entry.product.id.clone(), entry).await,
        }
    }

    async fn evict(&self, id: &ProductId) {
        match self {
            Self::Memory(entries) => entries.invalidate(id).await,
        }
    }
}
