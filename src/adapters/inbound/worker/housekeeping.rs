//! What nobody needs any more goes, a small batch at a time.

use crate::adapters::observe::storage_upkeep::{Retention, StorageUpkeep};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Before the first sweep: a service that is often restarted must not grow for ever, and one that has just
/// started has more urgent work.
const FIRST: Duration = Duration::from_secs(15);
/// Between two sweeps, and between two batches of one sweep.
const SWEEP: Duration = Duration::from_secs(600);
const BATCH_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Housekeeping {
    pub database: Arc<dyn StorageUpkeep>,
    pub retention: Retention,
    pub stop: CancellationToken,
}

impl Housekeeping {
    pub async fn run(self) {
        let mut pause = FIRST;
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = sleep(pause) => {}
            }
            pause = match self.database.prune(&self.retention).await {
                Ok(0) => SWEEP,
                Ok(_) => BATCH_PAUSE,
                Err(error) => {
                    tracing::warn!(%error, "old rows cannot be removed");
                    SWEEP
                }
            };
        }
    }
}
