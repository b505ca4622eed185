//! What the door sees to between requests, so that no request has to.

use crate::adapters::r#in::http::auth::KeyFile;
use crate::adapters::r#in::http::state::App;
use crate::core::ports::events::Event;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How soon a changed file of keys is noticed.
const ROUND: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Upkeep {
    pub app: Arc<App>,
    pub stop: CancellationToken,
}

impl Upkeep {
    /// Ends at once where there is nothing to see to.
    pub async fn run(self) {
        while self.app.services.auth.key_file().is_some() {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = sleep(ROUND) => {}
            }
            let app = Arc::clone(&self.app);
            // A round that panicked is made up for by the next one.
            let _ = spawn_blocking(move || see_to_keys(&app)).await;
        }
    }
}

fn see_to_keys(app: &App) {
    let Some(Err(fault)) = app.services.auth.key_file().map(KeyFile::refresh) else { return };
    tracing::error!(%fault, "AUTH_JWKS_FILE cannot be used: the keys stay as they were");
    app.services.events.record(&Event::KeysUnusable);
}
