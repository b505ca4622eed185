//! The loop that brings webhooks: it claims endpoints that have something due, and serves each beside the others.

use crate::core::ports::events::{Event, Events, WebhookBacklog};
use crate::core::ports::order_repository::OrderRepository;
use crate::core::ports::webhook_endpoints::WebhookQueue;
use crate::core::use_cases::deliver_webhooks::{DeliverWebhooks, HeldEndpoint};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How soon what has happened is told, at most.
const PAUSE: Duration = Duration::from_millis(500);
/// Before the next try, while the database does not answer.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);
/// Between two looks at what waits.
const LOOK: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct WebhookWorker {
    pub deliver: Arc<DeliverWebhooks>,
    pub queue: Arc<dyn WebhookQueue>,
    pub orders: Arc<dyn OrderRepository>,
    pub events: Arc<dyn Events>,
    /// Endpoints that are served at a time.
    pub at_a_time: usize,
    /// Attempts are spawned here, so that shutdown can wait for them.
    pub tracker: TaskTracker,
    pub stop: CancellationToken,
}

impl WebhookWorker {
    /// Until it is stopped; attempts that have begun go on in the tracker.
    pub async fn run(self) {
        let room = Arc::new(Semaphore::new(self.at_a_time));
        let mut looked: Option<Instant> = None;
        loop {
            if looked.is_none_or(|moment| moment.elapsed() >= LOOK) {
                looked = Some(Instant::now());
                self.look().await;
            }
            let pause = match self.deliver.claim(room.available_permits()).await {
                Ok(held) => {
                    held.into_iter().for_each(|held| self.spawn(&room, held));
                    PAUSE
                }
                Err(error) => {
                    tracing::warn!(%error, "webhooks cannot be claimed");
                    PAUSE_AFTER_FAILURE
                }
            };
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = sleep(pause) => {}
            }
        }
    }

    fn spawn(&self, room: &Arc<Semaphore>, held: HeldEndpoint) {
        // As many were claimed as there are permits, and nobody else takes any.
        let permit = Arc::clone(room).try_acquire_owned().ok();
        let (deliver, stop) = (Arc::clone(&self.deliver), self.stop.clone());
        self.tracker.spawn(async move {
            if let Err(error) = deliver.serve(held, &stop).await {
                tracing::warn!(%error, "what became of a webhook could not be stored: it is sent again");
            }
            drop(permit);
        });
    }

    async fn look(&self) {
        let (Ok(stats), Ok(now)) = (self.queue.webhook_stats().await, self.orders.now().await)
        else {
            return;
        };
        self.events.record(&Event::WebhookBacklog(WebhookBacklog {
            enabled: stats.enabled,
            disabled: stats.disabled,
            pending: stats.pending,
            oldest: stats.oldest.map(|oldest| now.since(oldest)),
        }));
    }
}
