//! Placing in batches: orders that arrive while the last batches are being committed share the next
//! statement and its fsync. Alone, an order waits for nobody.

use super::placement::{BatchPlacement, SinglePlacement};
use super::session::Sessions;
use crate::core::domain::order::Order;
use crate::core::ports::clock::Clock;
use crate::core::ports::storage_error::StorageError;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Orders that may wait; one more waits outside until its time is over.
pub const QUEUE: usize = 1024;
/// The largest batch.
const BATCH: usize = 256;
/// Batches at once: one commits while the next is executed.
const AT_ONCE: usize = 2;

pub struct QueuedPlacement {
    pub order: Order,
    pub reply: oneshot::Sender<Result<Order, StorageError>>,
}

#[derive(Debug, Clone)]
pub struct PlacementBatcher {
    pub sessions: Sessions,
    pub clock: Option<Arc<dyn Clock>>,
}

impl PlacementBatcher {
    /// Until the store is dropped.
    pub async fn serve(self, mut queue: mpsc::Receiver<QueuedPlacement>) {
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        let mut waiting = Vec::new();
        while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
            if queue.recv_many(&mut waiting, BATCH).await == 0 {
                return;
            }
            // Whose caller gave up is not placed: nothing of it has begun.
            waiting.retain(|placement: &QueuedPlacement| !placement.reply.is_closed());
            if !waiting.is_empty() {
                tokio::spawn(self.clone().commit(std::mem::take(&mut waiting), permit));
            }
        }
    }

    async fn commit(self, batch: Vec<QueuedPlacement>, permit: OwnedSemaphorePermit) {
        let orders: Vec<Order> = batch.iter().map(|placement| placement.order.clone()).collect();
        let now = self.now();
        let placed = self.sessions.run(BatchPlacement(orders), now).await;
        drop(permit);
        match placed {
            Ok(Some(placed)) => {
                for (placement, order) in batch.into_iter().zip(placed) {
                    let _ = placement.reply.send(Ok(order));
                }
            }
            // One of them was wrong, or the answer was lost: each for itself.
            Ok(None) => self.one_by_one(batch, true).await,
            Err(
                StorageError::ForeignExternalId
                | StorageError::ExternalIdTaken(_)
                | StorageError::Corrupt(_)
                | StorageError::UnknownWord(_)
                | StorageError::UnknownProvider(_),
            ) => self.one_by_one(batch, false).await,
            Err(StorageError::Unavailable) => {
                for placement in batch {
                    let _ = placement.reply.send(Err(StorageError::Unavailable));
                }
            }
        }
    }

    async fn one_by_one(&self, batch: Vec<QueuedPlacement>, perhaps_placed: bool) {
        for QueuedPlacement { order, reply } in batch {
            let placement = SinglePlacement { order, perhaps_placed };
            let _ = reply.send(self.sessions.run(placement, self.now()).await);
        }
    }

    fn now(&self) -> Option<i64> {
        self.clock.as_ref().map(|clock| clock.now().micros())
    }
}
