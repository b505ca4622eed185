//! What was done instead when a system did not answer, and what its cache spared it.

use super::families::{AGE, Families};
use super::labels::{CACHED, CAUSES, Label, fallbacks};
use crate::core::domain::unavailable::{Cause, System};
use crate::core::ports::events::FallbackKind;
use prometheus::{HistogramVec, IntCounterVec};
use std::time::Duration;

/// The one system whose answers are kept.
const WITH_CACHE: System = System::Catalog;

/// What its cache is called where instances share it.
const SHARED: &str = "catalog_shared";

#[derive(Debug)]
pub(super) struct Fallbacks {
    used: IntCounterVec,
    failed: IntCounterVec,
    stale_age: HistogramVec,
    cache_hits: IntCounterVec,
    cache_misses: IntCounterVec,
}

impl Fallbacks {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            used: families.counter(
                "fallback_total",
                "Answers given by other means, by the cause of the missing one",
                &["system", "kind", "reason"],
            ),
            failed: families.counter(
                "fallback_failed_total",
                "Fallbacks that had nothing to give",
                &["system", "kind"],
            ),
            stale_age: families.histogram(
                "stale_response_age_seconds",
                "Age of answers served from a cache because the system could not answer",
                &["system"],
                AGE,
            ),
            cache_hits: families.counter(
                "cache_hits_total",
                "Reads that found what they wanted",
                &["cache"],
            ),
            cache_misses: families.counter(
                "cache_misses_total",
                "Reads that had to look further",
                &["cache"],
            ),
        };
        made.start_at_zero();
        made
    }

    fn start_at_zero(&self) {
        self.stale_age.with_label_values(&[WITH_CACHE.as_str()]);
        for cache in [WITH_CACHE.as_str(), SHARED] {
            self.cache_hits.with_label_values(&[cache]);
            self.cache_misses.with_label_values(&[cache]);
        }
        for system in System::ALL {
            for kind in fallbacks(system) {
                self.failed.with_label_values(&[system.as_str(), kind]);
                for cause in CAUSES.into_iter().filter(|cause| can_lead_to(kind, *cause)) {
                    self.used.with_label_values(&[system.as_str(), kind, cause.as_str()]);
                }
            }
        }
    }

    pub(super) fn used(&self, system: System, kind: FallbackKind, cause: Cause) {
        let labels = [system.as_str(), kind.word(), cause.as_str()];
        self.used.with_label_values(&labels).inc();
    }

    pub(super) fn cache_used(&self, system: System, cause: Cause) {
        self.used.with_label_values(&[system.as_str(), CACHED, cause.as_str()]).inc();
    }

    pub(super) fn nothing_cached(&self, system: System) {
        self.failed.with_label_values(&[system.as_str(), CACHED]).inc();
    }

    pub(super) fn stale(&self, age: Duration) {
        self.stale_age.with_label_values(&[WITH_CACHE.as_str()]).observe(age.as_secs_f64());
    }

    pub(super) fn cache_read(&self, system: System, hit: bool) {
        self.read(system.as_str(), hit);
    }

    pub(super) fn shared_cache_read(&self, hit: bool) {
        self.read(SHARED, hit);
    }

    fn read(&self, cache: &str, hit: bool) {
        let family = if hit { &self.cache_hits } else { &self.cache_misses };
        family.with_label_values(&[cache]).inc();
    }
}

/// Going to another provider is only for what certainly had no effect.
fn can_lead_to(kind: &str, cause: Cause) -> bool {
    kind != FallbackKind::Failover.word() || matches!(cause, Cause::NotExecuted(_))
}
