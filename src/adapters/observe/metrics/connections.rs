//! The storage's pool as it stands when somebody scrapes. The names are OpenTelemetry's, which calls
//! them still in development.

use super::families::Families;
use crate::adapters::observe::storage_upkeep::{Connections, Durability, StorageUpkeep};
use prometheus::{IntCounterVec, IntGaugeVec};
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
pub(super) struct Pool {
    count: IntGaugeVec,
    pending: IntGaugeVec,
    timeline: IntGaugeVec,
    can_forget: IntGaugeVec,
    suspicions: IntCounterVec,
    store: OnceLock<Arc<dyn StorageUpkeep>>,
}

impl Pool {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            count: families.gauge(
                "db_client_connection_count",
                "Connections of the pool, by whether somebody uses them",
                &["state"],
            ),
            pending: families.gauge(
                "db_client_connection_pending_requests",
                "Callers that wait for a connection of the pool",
                &[],
            ),
            timeline: families.gauge(
                "db_timeline",
                "Timeline of the PostgreSQL server: raised by every promotion; 0 where there is none",
                &[],
            ),
            can_forget: families.gauge(
                "db_can_forget",
                "1 while a failover may lose commits that were answered, unless that is accepted",
                &[],
            ),
            suspicions: families.counter(
                "db_amnesia_suspicions_total",
                "Promotions of another server that may have lost commits that were answered",
                &[],
            ),
            store: OnceLock::new(),
        };
        made.show(Connections::default());
        made.tell(Durability::default());
        made
    }

    /// A second store is not watched.
    pub(super) fn watch(&self, store: Arc<dyn StorageUpkeep>) {
        let _ = self.store.set(store);
    }

    /// Brings the gauges up to this moment.
    pub(super) fn look(&self) {
        if let Some(store) = self.store.get() {
            self.show(store.connections());
            self.tell(store.durability());
        }
    }

    fn tell(&self, Durability { timeline, can_forget, suspicions }: Durability) {
        self.timeline.with_label_values::<&str>(&[]).set(i64::from(timeline));
        self.can_forget.with_label_values::<&str>(&[]).set(i64::from(can_forget));
        let told = self.suspicions.with_label_values::<&str>(&[]);
        told.inc_by(suspicions.saturating_sub(told.get()));
    }

    fn show(&self, Connections { idle, used, waiting, abandoned }: Connections) {
        let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.count.with_label_values(&["idle"]).set(whole(idle));
        self.count.with_label_values(&["used"]).set(whole(used));
        self.count.with_label_values(&["abandoned"]).set(whole(abandoned));
        self.pending.with_label_values::<&str>(&[]).set(whole(waiting));
    }
}
