//! Operations of the storage, and how long each takes.

use super::families::{DB, Families};
use crate::core::ports::storage_error::StorageError;
use prometheus::HistogramVec;
use std::time::Duration;

/// What is asked of the storage, by the words of the metric, with the table that each is mostly about.
const DB_OPERATIONS: [(&str, &str); 22] = [
    ("place", "orders"),
    ("change", "orders"),
    ("aggregate", "orders"),
    ("list", "orders"),
    ("task", "tasks"),
    ("tasks", "tasks"),
    ("find_order", "registrations"),
    ("claim", "tasks"),
    ("release_leases", "tasks"),
    ("keep_orphan", "callbacks"),
    ("read_clock", "callbacks"),
    ("find_reply", "idempotency_keys"),
    ("keep_reply", "idempotency_keys"),
    ("task_stats", "tasks"),
    ("prune", "tasks"),
    ("audit", "audit"),
    ("events_of", "events"),
    ("events", "events"),
    ("change_service_mode", "service_modes"),
    ("webhooks", "webhook_deliveries"),
    ("order_named", "registrations"),
    ("callbacks", "callbacks"),
];

#[derive(Debug)]
pub(super) struct DbOperations {
    durations: HistogramVec,
}

impl DbOperations {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let durations = families.histogram(
            "db_client_operation_duration_seconds",
            "Duration of storage operations; error_type only on failure",
            &["db_operation_name", "db_collection_name", "error_type"],
            DB,
        );
        for (operation, collection) in DB_OPERATIONS {
            durations.with_label_values(&[operation, collection, ""]);
        }
        Self { durations }
    }

    pub(super) fn ended(&self, operation: &str, error: Option<&StorageError>, elapsed: Duration) {
        let Some(collection) = collection_of(operation) else { return };
        let error_type = error.map_or("", word_of);
        self.durations
            .with_label_values(&[operation, collection, error_type])
            .observe(elapsed.as_secs_f64());
    }
}

pub(super) fn collection_of(operation: &str) -> Option<&'static str> {
    DB_OPERATIONS.iter().find(|(name, _)| *name == operation).map(|(_, collection)| *collection)
}

pub(super) const fn word_of(error: &StorageError) -> &'static str {
    match error {
        StorageError::Unavailable => "unavailable",
        StorageError::ForeignExternalId => "foreign_external_id",
        StorageError::ExternalIdTaken(_) => "external_id_taken",
        StorageError::Corrupt(_) => "corrupt",
        StorageError::UnknownWord(_) => "unknown_word",
        StorageError::UnknownProvider(_) => "unknown_provider",
    }
}
