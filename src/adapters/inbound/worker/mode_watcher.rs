//! Looks every second whether operators have changed the service's mode on another instance.

use crate::adapters::observe::service_mode::{LOOKED_AT_EVERY, ModeWatch};
use std::sync::Arc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub struct ModeWatcher {
    pub watch: Arc<ModeWatch>,
    pub stop: CancellationToken,
}

impl ModeWatcher {
    /// Until it is stopped. A database that does not answer changes nothing; readiness tells of it.
    pub async fn run(self) {
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = sleep(LOOKED_AT_EVERY) => {}
            }
            let _ = self.watch.look().await;
        }
    }
}
