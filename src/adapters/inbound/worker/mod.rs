//! The loop that runs due tasks: it takes no more than the partners' guards would let through, so
//! that a dead partner leaves the database in peace and a healed one is not stormed.

mod housekeeping;
mod lanes;
mod mode_watcher;
mod webhooks;

pub use housekeeping::Housekeeping;
pub use mode_watcher::ModeWatcher;
pub use webhooks::WebhookWorker;

use crate::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use crate::adapters::observe::spans;
use crate::core::domain::provider::Provider;
use crate::core::engine::Engine;
use crate::core::ports::payment::Capacity;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::task_queue::{Claimed, Wakeup};
use crate::core::ports::trace::TraceParent;
use lanes::{Lanes, Serving};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// A claim that takes longer is given up: the loop must outlive a database that hangs.
const CLAIM_LIMIT: Duration = Duration::from_secs(10);

/// So long a claim waits for more runs to end, when some have and more tasks are due.
const GATHER: Duration = Duration::from_millis(5);

/// With less room than this a lane may be no more than half-open.
const PROBES: usize = 3;

/// Tasks of a lane without capacity that are looked at in one `TASK_BACKOFF_MAX`: enough to end what has
/// to end, and no work for the database.
const OVERDUE: usize = 2;

#[derive(Debug)]
pub struct Worker {
    pub engine: Arc<Engine>,
    pub events: Arc<dyn AdapterEvents>,
    /// `TASK_WORKERS`: runs at a time of each payment system at least; half of its limit if that is more.
    pub workers: usize,
    /// `TASK_POLL_INTERVAL`.
    pub poll_interval: Duration,
    /// Runs are spawned here, so that shutdown can wait for them.
    pub tracker: TaskTracker,
    pub stop: CancellationToken,
}

/// Which lanes are asked for tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Something became due, or has not been looked for lately.
    Everywhere,
    /// There is room again, and nothing else has changed.
    WhereMoreIs,
}

impl Worker {
    /// Claims and runs until it is stopped; runs that have begun go on in the tracker.
    pub async fn run(self) {
        let lanes = Arc::new(Lanes::new(self.workers, self.engine.gateway.providers().collect()));
        let (mut wakeups, mut look) = (0, Look::Everywhere);
        while !self.stop.is_cancelled() {
            if self.claim_each_lane(&lanes, look).await {
                look = Look::WhereMoreIs;
                continue;
            }
            look = tokio::select! {
                // In this order and not by lot, so that a simulated run replays exactly.
                biased;
                () = self.stop.cancelled() => break,
                () = self.engine.watch.due() => Look::Everywhere,
                seen = self.engine.queue.wakeup(Wakeup::TaskDue, wakeups) => {
                    wakeups = seen;
                    Look::Everywhere
                }
                () = self.room_again(&lanes) => Look::WhereMoreIs,
                () = sleep(self.pause()) => Look::Everywhere,
            };
        }
    }

    /// One claim for each lane that is looked at and has room. `true` when one may have more, and room for it.
    async fn claim_each_lane(&self, lanes: &Arc<Lanes>, look: Look) -> bool {
        for lane in lanes.rotated() {
            if look == Look::WhereMoreIs && !lanes.has_more(lane) {
                continue;
            }
            let serving = self.serving(lane);
            let open = serving.is_some_and(|serving| serving.free > 0);
            let overdue = lanes.is_overdue(lane, open, self.engine.policy.backoff_max);
            let room = serving.map_or(0, |serving| lanes.room(lane, serving));
            let limit = if overdue { OVERDUE } else { room };
            if limit == 0 {
                continue;
            }
            match timeout(CLAIM_LIMIT, self.engine.claim(lane, limit)).await {
                Ok(Ok(claimed)) => {
                    self.events.tell(&AdapterEvent::TaskPoll);
                    let all = claimed.len() == limit;
                    lanes
                        .found(lane, all || (open && self.brings_forward(lanes, lane, room).await));
                    claimed.into_iter().for_each(|claimed| self.spawn(lanes, lane, claimed));
                }
                Ok(Err(StorageError::Unavailable)) | Err(_) => {
                    tracing::warn!("tasks cannot be claimed: the storage does not answer");
                    return false;
                }
                Ok(Err(
                    error @ (StorageError::ForeignExternalId
                    | StorageError::ExternalIdTaken(_)
                    | StorageError::Corrupt(_)
                    | StorageError::UnknownWord(_)
                    | StorageError::UnknownProvider(_)),
                )) => {
                    tracing::error!(%error, "tasks cannot be claimed");
                    return false;
                }
            }
        }
        self.has_room_for_more(lanes)
    }

    /// A lane that is open again has found nothing more that is due: whether something was held back and is due now.
    /// A few at a time, so that a payment system which fails anew has not moved them all.
    async fn brings_forward(&self, lanes: &Lanes, lane: Option<Provider>, room: usize) -> bool {
        // One or two places may be a breaker's probes.
        if !lanes.holds_back(lane) || room < PROBES {
            return false;
        }
        match self.engine.queue.bring_forward(lane, room * 2).await {
            Ok(0) => {
                lanes.holds_nothing_back(lane);
                false
            }
            Ok(_) => true,
            // The claim after this one tells of it.
            Err(_) => false,
        }
    }

    /// The provider that would be asked for the lane's tasks at this moment.
    fn serving(&self, lane: Option<Provider>) -> Option<Serving> {
        let serving = |provider| {
            let Capacity { free, limit, .. } = self.engine.gateway.capacity(provider);
            Serving { provider, free, limit }
        };
        match lane {
            Some(provider) => Some(serving(provider)),
            None => {
                let mut preferred = self.engine.policy.providers.iter().map(serving);
                preferred.find(|serving| serving.free > 0)
            }
        }
    }

    /// Resolves when runs have ended and there is enough room for a claim to be worth it, or a moment later:
    /// one claim for each run that ends would cost as much as the runs.
    async fn room_again(&self, lanes: &Lanes) {
        lanes.freed().await;
        let enough = async {
            while !self.has_room_for_more(lanes) {
                lanes.freed().await;
            }
        };
        // With less room than that it is claimed all the same.
        let _ = timeout(GATHER, enough).await;
    }

    fn has_room_for_more(&self, lanes: &Lanes) -> bool {
        let is_ample = |serving, lane| lanes.is_ample(lanes.room(lane, serving), serving);
        let mut with_more = lanes.all().filter(|lane| lanes.has_more(*lane));
        with_more.any(|lane| self.serving(lane).is_some_and(|serving| is_ample(serving, lane)))
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
