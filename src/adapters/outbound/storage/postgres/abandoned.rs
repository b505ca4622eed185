//! Connections that were given up while the server still works on what they asked: a commit that waits
//! for a standby ends by no time limit. They are counted, and each takes a place from those that work,
//! so that a server which hangs never holds more than twice the pool.

use super::server::Witness;
use super::session::AttemptError;
use crate::adapters::outbound::storage::pool::CountedPool;
use crate::core::ports::storage_error::StorageError;
use sqlx::{Connection, PgConnection, Postgres};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// By then the kernel, too, has given up on a server that is gone.
const FORGOTTEN: Duration = Duration::from_secs(15 * 60);
/// To say good-bye.
const CLOSING: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct AbandonedConnections {
    /// As many as the pool has connections.
    slots: Arc<Semaphore>,
    given_up: Arc<Semaphore>,
    limit: usize,
}

/// The right to work on a connection, or to be given up with it.
#[derive(Debug)]
pub struct Slot {
    permit: OwnedSemaphorePermit,
    given_up: Arc<Semaphore>,
    /// The server that was asked.
    server: watch::Receiver<String>,
}

impl AbandonedConnections {
    pub fn new(max_connections: u32) -> Self {
        let limit = usize::try_from(max_connections).unwrap_or(Semaphore::MAX_PERMITS);
        let slots = || Arc::new(Semaphore::new(limit));
        Self { slots: slots(), given_up: slots(), limit }
    }

    pub fn count(&self) -> usize {
        self.limit - self.given_up.available_permits()
    }

    /// Waits for a place among those that work; fails at once where all are given up.
    pub async fn slot(
        &self,
        pool: &CountedPool<Postgres>,
        witness: &Witness,
    ) -> Result<Slot, AttemptError> {
        let _waiting = pool.wait();
        let slots = Arc::clone(&self.slots);
        let permit = match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) if self.count() == self.limit => return Err(hung()),
            Err(_) => slots.acquire_owned().await.map_err(|_| hung())?,
        };
        Ok(Slot { permit, given_up: Arc::clone(&self.given_up), server: witness.subscribe() })
    }
}

fn hung() -> AttemptError {
    tracing::warn!("PostgreSQL still works on every connection that was given up");
    AttemptError::Refused(StorageError::Unavailable)
}

impl Slot {
    /// Keeps the place until the server has ended what it was asked, or is another one by now.
    pub fn abandon(mut self, mut connection: PgConnection) {
        let Ok(runtime) = Handle::try_current() else { return };
        // There are as many permits as slots, and each abandoned slot takes one.
        let counted = Arc::clone(&self.given_up).try_acquire_owned();
        runtime.spawn(async move {
            let _place = (self.permit, counted);
            let over = tokio::select! {
                ended = connection.ping() => ended.is_ok(),
                _ = self.server.changed() => false,
                () = tokio::time::sleep(FORGOTTEN) => false,
            };
            if over {
                let _ = tokio::time::timeout(CLOSING, connection.close()).await;
            }
        });
    }
}
