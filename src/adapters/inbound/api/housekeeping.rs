//! What the public API does between requests, so that no request has to: forgetting idle clients, and
//! reading changed keys.

use crate::adapters::inbound::api::auth::KeyFile;
use crate::adapters::inbound::api::state::App;
use crate::adapters::observe::adapter_events::AdapterEvent;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How soon a changed file of keys is noticed, and who owes nothing any more forgotten.
const PERIOD: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct ApiHousekeeping {
    pub app: Arc<App>,
    pub stop: CancellationToken,
}

impl ApiHousekeeping {
    /// Ends at once where there is nothing to do.
    pub async fn run(self) {
        while is_needed(&self.app) {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = sleep(PERIOD) => {}
            }
            let app = Arc::clone(&self.app);
            // A round that panicked is made up for by the next one.
            let _ = spawn_blocking(move || run_once(&app)).await;
        }
    }
}

fn is_needed(app: &App) -> bool {
    app.services.quotas.is_some() || app.services.auth.key_file().is_some()
}

fn run_once(app: &App) {
    if let Some(quotas) = &app.services.quotas {
        quotas.forget();
    }
    refresh_keys(app);
}

fn refresh_keys(app: &App) {
    let Some(Err(error)) = app.services.auth.key_file().map(KeyFile::refresh) else { return };
    tracing::error!(%error, "AUTH_JWKS_FILE cannot be used: the keys stay as they were");
    app.services.events.tell(&AdapterEvent::KeysUnusable);
}
