//! The storage's pool as it stands when somebody scrapes. The names are OpenTelemetry's, which calls
//! them still in development.

use super::families::Families;
use crate::adapters::observe::storage_upkeep::{Connections, StorageUpkeep};
use prometheus::IntGaugeVec;
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
pub(super) struct Pool {
    count: IntGaugeVec,
    pending: IntGaugeVec,
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
            store: OnceLock::new(),
        };
        made.show(Connections::default());
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
        }
    }

    fn show(&self, Connections { idle, used, waiting }: Connections) {
        let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.count.with_label_values(&["idle"]).set(whole(idle));
        self.count.with_label_values(&["used"]).set(whole(used));
        self.pending.with_label_values::<&str>(&[]).set(whole(waiting));
    }
}
