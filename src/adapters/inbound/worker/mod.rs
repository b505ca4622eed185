//! The loop that runs due tasks: it takes no more than the partners' guards would let through, so
//! that a dead partner leaves the database in peace and a healed one is not stormed.

mod housekeeping;
mod lanes;

pub use housekeeping::Housekeeping;

use crate::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use crate::adapters::observe::spans;
use crate::core::domain::provider::Provider;
use crate::core::engine::Engine;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::{Claimed, Wakeup};
use crate::core::ports::trace::TraceParent;
use lanes::Lanes;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// A claim that takes longer is given up: the loop must outlive a database that hangs.
const CLAIM_LIMIT: Duration = Duration::from_secs(10);

/// Tasks of a lane without capacity that are looked at in one `TASK_BACKOFF_MAX`: enough to end what has
/// to end, and no work for the database.
const OVERDUE: usize = 2;

#[derive(Debug)]
pub struct Worker {
    pub engine: Arc<Engine>,
    pub events: Arc<dyn AdapterEvents>,
    /// `TASK_WORKERS`: runs at a time.
    pub workers: usize,
    /// `TASK_POLL_INTERVAL`.
    pub poll_interval: Duration,
    /// Runs are spawned here, so that shutdown can wait for them.
    pub tracker: TaskTracker,
    pub stop: CancellationToken,
}

impl Worker {
    /// Claims and runs until it is stopped; runs that have begun go on in the tracker.
    pub async fn run(self) {
        let lanes = Arc::new(Lanes::new(self.workers, self.engine.gateway.providers().collect()));
        let mut wakeups = 0;
        while !self.stop.is_cancelled() {
            let found = self.claim_round(&lanes).await;
            if found {
                continue;
            }
            tokio::select! {
                // In this order and not by lot, so that a simulated run replays exactly.
                biased;
                () = self.stop.cancelled() => break,
                () = self.engine.watch.due() => {}
                seen = self.engine.queue.wakeup(Wakeup::TaskDue, wakeups) => wakeups = seen,
                () = lanes.freed() => {}
                () = sleep(self.pause()) => {}
            }
        }
    }

    /// One claim for each lane that has capacity. `true` when a lane may have more.
    async fn claim_round(&self, lanes: &Arc<Lanes>) -> bool {
        let mut more = false;
        for lane in lanes.in_turn() {
            let share = self.share(lane);
            let overdue = lanes.is_overdue(lane, share > 0, self.engine.policy.backoff_max);
            let limit = lanes.room(lane).min(if overdue { OVERDUE } else { share });
            if limit == 0 {
                continue;
            }
            match timeout(CLAIM_LIMIT, self.engine.claim(lane, limit)).await {
                Ok(Ok(claimed)) => {
                    self.events.tell(&AdapterEvent::TaskPoll);
                    more |= claimed.len() == limit;
                    claimed.into_iter().for_each(|claimed| self.spawn(lanes, lane, claimed));
                }
                Ok(Err(StorageError::Unavailable)) | Err(_) => {
                    tracing::warn!("tasks cannot be claimed: the storage does not answer");
                    return false;
                }
                Ok(Err(
                    error @ (StorageError::ForeignExternalId
                    | StorageError::Corrupt(_)
                    | StorageError::UnknownWord(_)
                    | StorageError::UnknownProvider(_)),
                )) => {
                    tracing::error!(%error, "tasks cannot be claimed");
                    return false;
                }
            }
        }
        more && lanes.any_room()
    }

    /// Live requests go first: a quarter of what the guards would let through, and at least one.
    fn share(&self, lane: Option<Provider>) -> usize {
        let free = |provider| self.engine.gateway.capacity(provider).free;
        let free = match lane {
            Some(provider) => free(provider),
            None => self.engine.gateway.providers().map(free).max().unwrap_or(0),
        };
        if free == 0 { 0 } else { (free / 4).max(1) }
    }

    fn spawn(&self, lanes: &Arc<Lanes>, lane: Option<Provider>, claimed: Claimed) {
        let (engine, slot) = (Arc::clone(&self.engine), lanes.occupy(lane));
        let span = task_span(&claimed);
        let run = async move {
            let (order_id, task_id) = (claimed.order_id, claimed.task_id);
            if let Err(error) = engine.run_claimed(claimed).await {
                tracing::error!(%order_id, %task_id, %error, "a task's result could not be stored");
                spans::set_error(&Span::current(), "a task's result could not be stored");
            }
            drop(slot);
        };
        self.tracker.spawn(run.instrument(span));
    }

    /// Instances that were started together shall not poll together.
    fn pause(&self) -> Duration {
        self.poll_interval.mul_f64(0.75 + fastrand::f64() / 2.0)
    }
}

/// A trace of its own: the request that asked for the task may be a day gone. A link leads to it.
fn task_span(claimed: &Claimed) -> Span {
    let span = tracing::info_span!(
        parent: None,
        "payment_task.process",
        otel.kind = "consumer",
        task.id = %claimed.task_id,
        task.kind = claimed.kind.as_str(),
        task.attempt = claimed.attempts + 1,
        order.id = %claimed.order_id,
        order.status = Empty,
        payment.method = Empty,
        fallback.kind = Empty,
        trace_id = Empty,
    );
    let creator = claimed.trace.as_deref().and_then(TraceParent::parse);
    if let Some(creator) = &creator {
        spans::add_link(&span, creator);
    }
    if let Some(trace) = spans::trace_parent_of(&span).or(creator) {
        span.record("trace_id", trace.trace_id());
    }
    span
}
