//! Decisions in batches: those that arrive while others are being committed share the next transaction, its
//! trips and its fsync. Alone, a decision waits for nobody. A batch waits for no row that somebody holds and
//! stands for nothing that went wrong: whatever it could not do is decided by itself, as if there were no batches.

use super::change::{OrderChange, decide_all};
use super::listen::Channel;
use super::session::{AttemptError, Sessions, Tx, Work};
use super::sql;
use crate::adapters::outbound::storage::wakeups::WakeupSet;
use crate::core::domain::ids::OrderId;
use crate::core::ports::clock::Clock;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Decisions that may wait; one more waits outside until its time is over.
pub const QUEUE: usize = 1024;
/// The largest batch.
const BATCH: usize = 64;
/// Batches at once: one commits while the next is executed.
const AT_ONCE: usize = 2;

/// `None` when it is committed, and all are woken.
pub type Undecided = Option<OrderChange>;

pub struct QueuedChange {
    pub change: OrderChange,
    pub reply: oneshot::Sender<Undecided>,
}

#[derive(Debug, Clone)]
pub struct ChangeBatcher {
    pub sessions: Sessions,
    pub clock: Option<Arc<dyn Clock>>,
    pub channel: Arc<Channel>,
}

impl ChangeBatcher {
    /// Until the store is dropped.
    pub async fn serve(self, mut queue: mpsc::Receiver<QueuedChange>) {
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        let mut waiting = Vec::new();
        while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
            if queue.recv_many(&mut waiting, BATCH).await == 0 {
                return;
            }
            // Whose caller gave up is not decided: nothing of it has begun.
            waiting.retain(|queued: &QueuedChange| !queued.reply.is_closed());
            if !waiting.is_empty() {
                tokio::spawn(self.clone().commit(std::mem::take(&mut waiting), permit));
            }
        }
    }

    async fn commit(self, batch: Vec<QueuedChange>, permit: OwnedSemaphorePermit) {
        let (changes, replies): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|queued| (queued.change, queued.reply)).unzip();
        let changes = Arc::new(Mutex::new(changes));
        let work =
            ChangeBatch { changes: Arc::clone(&changes), channel: Arc::clone(&self.channel) };
        let now = self.clock.as_ref().map(|clock| clock.now().micros());
        let mut decided = self.sessions.run(work, now).await.unwrap_or_default();
        drop(permit);
        let mut wakeups = WakeupSet::default();
        decided.values().for_each(|woken| wakeups.join(*woken));
        let changes = std::mem::take(&mut *changes.lock().await);
        for (change, reply) in changes.into_iter().zip(replies) {
            let committed = decided.remove(&change.id).is_some();
            // A caller that has gone does not want to know.
            let _ = reply.send((!committed).then_some(change));
        }
        self.channel.wake(wakeups);
    }
}

/// Shared, because what an attempt could not do is handed back.
struct ChangeBatch {
    changes: Arc<Mutex<Vec<OrderChange>>>,
    channel: Arc<Channel>,
}

#[async_trait::async_trait]
impl Work for ChangeBatch {
    type Output = HashMap<OrderId, WakeupSet>;
    const TRANSACTION: bool = true;

    /// Of two on one order the first; nothing after a lost answer: each by itself looks for its own mark.
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<Self::Output, AttemptError> {
        if tx.attempt > 0 {
            return Ok(HashMap::new());
        }
        let mut changes = self.changes.lock().await;
        let ids: Vec<_> = changes.iter().map(|change| change.id.to_string()).collect();
        let free: Vec<String> = sqlx::query_scalar(sql::LOCK_FREE_ORDERS)
            .bind(ids)
            .fetch_all(&mut *tx.connection)
            .await?;
        let mut free: HashSet<OrderId> = free.iter().filter_map(|id| OrderId::parse(id)).collect();
        let locked = changes.iter_mut().filter(|change| free.remove(&change.id)).collect();
        decide_all(locked, sql::LOAD_FREE, &self.channel, tx).await
    }
}
