//! The database at start: its file is taken, its schema brought up or checked, its store opened.

use crate::adapters::observe::adapter_events::AdapterEvents;
use crate::adapters::outbound::storage::{self, FileLock, OnMissing, Store};
use crate::config::Config;
use anyhow::Context;
use secrecy::ExposeSecret;
use std::sync::Arc;

/// A store, and what must be held as long as it is used.
pub struct Database {
    pub store: Arc<dyn Store>,
    pub file_lock: Option<FileLock>,
}

/// # Errors
/// The file is another process's or is not there, the schema is behind, or nobody answers.
pub async fn open(config: &Config, events: Arc<dyn AdapterEvents>) -> anyhow::Result<Database> {
    let database = &config.service.database;
    let url = database.url.expose_secret();
    let missing = if database.create { OnMissing::Create } else { OnMissing::Refuse };
    let holder = format!("instance {}", config.payment.instance.as_str());
    let file_lock = storage::lock_file(url, &holder, missing).context("the database")?;
    let direct = database.direct_url.as_ref().map_or(url, |direct| direct.expose_secret());
    if database.migrate_on_start {
        storage::migrate(direct).await.context("the database cannot be migrated")?;
    } else {
        storage::check_schema(direct).await.context("the database")?;
    }
    let store = storage::connect(url, settings(config, events))
        .await
        .context("the database cannot be reached")?;
    Ok(Database { store, file_lock })
}

/// How the store is opened.
pub fn settings(config: &Config, events: Arc<dyn AdapterEvents>) -> storage::Settings {
    let database = &config.service.database;
    storage::Settings {
        max_connections: database.max_connections,
        direct_url: database.direct_url.as_ref().map(|direct| direct.expose_secret().to_owned()),
        prepared: database.prepared,
        accept_async: database.accept_async,
        events,
        ..storage::Settings::default()
    }
}
