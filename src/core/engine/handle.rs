//! A run that a client waits for. It is carried by whoever waits; when that is over it goes on by itself,
//! so that a call which has begun is always stored.

use super::Engine;
use super::failpoint::{Failpoint, hit};
use super::run::{Run, RunResult};
use super::waiting_client::WaitingClient;
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::ports::storage_error::StorageError;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

type Work = Pin<Box<dyn Future<Output = Result<RunResult, StorageError>> + Send>>;

/// Dropped, it goes on without anybody waiting.
pub struct RunHandle {
    order: OrderId,
    task: TaskId,
    client: Option<WaitingClient>,
    work: Option<Work>,
    runs: TaskTracker,
}

impl fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunHandle")
            .field("order", &self.order)
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts a run.
    #[must_use]
    pub fn start(self: &Arc<Self>, run: Run) -> RunHandle {
        let (order, task, client) = (run.order_id, run.task_id, run.client.clone());
        let engine = Arc::clone(self);
        let work: Work = Box::pin(async move { engine.run(run).await });
        RunHandle { order, task, client, work: Some(work), runs: self.runs.clone() }
    }
}

impl RunHandle {
    /// How the run rests, or `None` when the patience is over first: then its client has been given
    /// another answer, and nothing is undone any more.
    pub async fn wait(mut self, patience: Duration) -> Option<Result<RunResult, StorageError>> {
        let result = timeout(patience, self.work.as_mut()?).await.ok()?;
        self.work = None;
        hit(Failpoint::BeforeResponse);
        Some(result)
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        let Some(work) = self.work.take() else { return };
        if let Some(client) = &self.client {
            client.has_its_answer();
        }
        let (order_id, task_id) = (self.order, self.task);
        let rest = async move {
            if let Err(error) = work.await {
                tracing::error!(%order_id, %task_id, %error,
                    "a result could not be stored; the resolver finds it out");
            }
        };
        self.runs.spawn(rest.in_current_span());
    }
}
