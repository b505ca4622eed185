//! What nobody needs any more goes, a small batch at a time.

use crate::adapters::observe::storage_upkeep::StorageUpkeep;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Between two sweeps, and between two batches of one sweep.
const SWEEP: Duration = Duration::from_secs(600);
const BATCH_PAUSE: Duration = Duration::from_millis(100);

/// Idempotency keys are kept for a day: the time within which a client may repeat.
const KEYS: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug)]
pub struct Housekeeping {
    pub database: Arc<dyn StorageUpkeep>,
    /// `TASK_RETENTION`.
    pub retention: Duration,
    pub stop: CancellationToken,
}

impl Housekeeping {
    pub async fn run(self) {
        let mut pause = SWEEP;
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = sleep(pause) => {}
            }
            pause = match self.database.prune(self.retention, KEYS).await {
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
