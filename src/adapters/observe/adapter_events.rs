//! What happened in an adapter that somebody counts: the adapters tell, the metrics listen. What the core
//! tells is in its own port, [`Events`](crate::core::ports::events::Events).

use crate::core::domain::unavailable::{Cause, System};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub trait AdapterEvents: Send + Sync + fmt::Debug {
    fn tell(&self, event: &AdapterEvent);
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Untold;

impl AdapterEvents for Untold {
    fn tell(&self, _: &AdapterEvent) {}
}

#[derive(Debug, Clone, PartialEq)]
pub enum AdapterEvent {
    /// One HTTP exchange with a partner is over: up to the head of its answer, or its end without.
    Exchanged {
        server: Arc<str>,
        method: &'static str,
        status: Option<u16>,
        /// Why there was none.
        failure: Option<&'static str>,
        took: Duration,
    },
    /// A read went through the system's cache; `hit` when a fresh entry answered it.
    CacheRead { system: System, hit: bool },
    /// A read of the catalog went on to the cache that instances share; `hit` when something usable
    /// lay there.
    SharedCacheRead { hit: bool },
    /// The system did not answer, and its cache did.
    FellBackToCache { system: System, cause: Cause },
    /// Nor did its cache.
    NothingCached { system: System },
    /// The provider refuses our address, credentials or account.
    Misconfigured { system: System },
    /// A row that this version cannot read was left out of a list.
    RowSetAside,
    /// The workers looked for due tasks.
    TaskPoll,
    /// The keys that tokens are checked with were changed into something that is none.
    KeysUnusable,
}
