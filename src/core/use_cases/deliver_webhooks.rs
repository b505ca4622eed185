//! Bring events to the shops that asked for them: each at least once, an order's in their sequence, however long a
//! receiver is away. One that is dead costs the others nothing: what waits for it waits in the database.

use crate::core::domain::ids::{LeaseToken, WebhookEndpointId};
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::webhook::WebhookId;
use crate::core::domain::webhook::schedule::{AfterAttempt, Tried, WebhookSchedule};
use crate::core::ports::clock::Entropy;
use crate::core::ports::events::{Event, Events, WebhookOutcome};
use crate::core::ports::order_repository::OrderRepository;
use crate::core::ports::outbox::{Outbox, StoredEvent};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::webhook_endpoints::{
    AttemptRecord, DeliveryState, DeliveryStep, DisabledReason, WebhookDelivery, WebhookEndpoint,
    WebhookQueue,
};
use crate::core::ports::webhooks::{Attempt, Webhook, WebhookSender};
use futures_util::stream::{self, StreamExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Events that become deliveries in one transaction.
const FAN_OUT: usize = 200;
/// How long an endpoint is one instance's; no attempt is begun that might outlast it.
const LEASE: Duration = Duration::from_secs(60);

/// Brings webhooks, a step at a time; what calls it decides how often.
#[derive(Debug)]
pub struct DeliverWebhooks {
    /// What is to be brought where.
    pub queue: Arc<dyn WebhookQueue>,
    /// What is told.
    pub outbox: Arc<dyn Outbox>,
    /// Whose clock tells what is due.
    pub orders: Arc<dyn OrderRepository>,
    /// Makes an attempt.
    pub sender: Arc<dyn WebhookSender>,
    /// When there is another one: `WEBHOOK_SCHEDULE`.
    pub schedule: WebhookSchedule,
    /// Attempts to one endpoint at a time: each of another order.
    pub at_a_time: usize,
    /// The longest that an attempt takes: `WEBHOOK_TIMEOUT`.
    pub timeout: Duration,
    /// How an event is written, as the API shows it.
    pub body: fn(&StoredEvent) -> String,
    /// Where leases and luck come from.
    pub entropy: Arc<dyn Entropy>,
    /// Who counts.
    pub events: Arc<dyn Events>,
}

/// An endpoint whose lease is held.
#[derive(Debug)]
pub struct HeldEndpoint {
    endpoint: WebhookEndpoint,
    token: LeaseToken,
    /// No attempt is begun later.
    until: Instant,
}

/// What was found at an endpoint.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    /// A guard keeps it closed for so long.
    pause: Duration,
    disable: Option<DisabledReason>,
    lease_lost: bool,
}

impl Found {
    fn ends(self) -> bool {
        !self.pause.is_zero() || self.disable.is_some() || self.lease_lost
    }

    fn and(self, other: Self) -> Self {
        Self {
            pause: self.pause.max(other.pause),
            disable: self.disable.or(other.disable),
            lease_lost: self.lease_lost || other.lease_lost,
        }
    }
}

impl DeliverWebhooks {
    /// Makes deliveries of what has happened, and takes leases on at most so many endpoints that have something due.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn claim(&self, limit: usize) -> Result<Vec<HeldEndpoint>, StorageError> {
        while self.queue.fan_out(FAN_OUT).await? > 0 {}
        let token = LeaseToken::new(self.entropy.bits());
        let until = Instant::now() + LEASE.saturating_sub(self.timeout * 2);
        let claimed = self.queue.claim_endpoints(token, LEASE, limit).await?;
        Ok(claimed.into_iter().map(|endpoint| HeldEndpoint { endpoint, token, until }).collect())
    }

    /// Brings what is due at an endpoint, until nothing is, a guard closes it, the lease nears its end, or this
    /// instance is to stop; then gives it back. What has begun is always brought to its end.
    ///
    /// # Errors
    /// The storage cannot answer: the lease runs out by itself, and what was sent is sent once more.
    pub async fn serve(
        &self,
        held: HeldEndpoint,
        stop: &CancellationToken,
    ) -> Result<(), StorageError> {
        let HeldEndpoint { endpoint, token, until } = held;
        let lease = (endpoint.id, token);
        let mut found = Found::default();
        while !found.ends() && !stop.is_cancelled() && Instant::now() < until {
            let due = self.queue.due_deliveries(endpoint.id, self.at_a_time).await?;
            if due.is_empty() {
                break;
            }
            let now = self.orders.now().await?;
            let attempts = stream::iter(due).map(|one| self.attempt(&endpoint, token, one, now));
            let mut attempts = std::pin::pin!(attempts.buffer_unordered(self.at_a_time.max(1)));
            while let Some(one) = attempts.next().await {
                found = found.and(one?);
            }
        }
        if found.lease_lost {
            return Ok(());
        }
        if found.disable.is_some() {
            tracing::warn!(endpoint_id = %endpoint.id, "a webhook endpoint is gone (410): disabled");
            self.events.record(&Event::WebhookDisabled);
        }
        self.queue.release_endpoint(lease, found.pause, found.disable).await
    }

    async fn attempt(
        &self,
        endpoint: &WebhookEndpoint,
        token: LeaseToken,
        delivery: WebhookDelivery,
        now: Timestamp,
    ) -> Result<Found, StorageError> {
        let event = delivery.event;
        let told = self.outbox.events_of(event.order, event.sequence.saturating_sub(1), 1).await?;
        let told = told.first().filter(|told| told.sequence == event.sequence);
        let Some(told) = told else { return self.forgotten(endpoint, token, &delivery).await };
        let body = (self.body)(told);
        let keys = endpoint.signing_keys(now);
        let id = WebhookId::from(event);
        let url = &endpoint.url;
        let webhook =
            Webhook { endpoint: endpoint.id, url, id: &id, at: now, body: &body, keys: &keys };
        let attempt = self.sender.send(&webhook).await;
        let tried = Tried { failed: delivery.attempts, age: now.since(delivery.created_at) };
        let after = self.schedule.after(attempt.result, tried, self.luck());
        self.settle(endpoint.id, token, &delivery, (attempt, after, now)).await
    }

    async fn settle(
        &self,
        endpoint: WebhookEndpointId,
        token: LeaseToken,
        delivery: &WebhookDelivery,
        (attempt, after, now): (Attempt, AfterAttempt, Timestamp),
    ) -> Result<Found, StorageError> {
        let (state, due_in, outcome) = match after {
            AfterAttempt::Delivered => {
                (DeliveryState::Delivered, Duration::ZERO, WebhookOutcome::Delivered)
            }
            AfterAttempt::Retry(pause) => (DeliveryState::Pending, pause, WebhookOutcome::Retried),
            // Not an attempt: only the endpoint waits.
            AfterAttempt::Postpone(pause) => return Ok(Found { pause, ..Found::default() }),
            AfterAttempt::GiveUp | AfterAttempt::Disable => {
                (DeliveryState::Failed, Duration::ZERO, WebhookOutcome::Failed)
            }
        };
        self.events.record(&Event::WebhookAttempt { outcome, took: attempt.took });
        if state == DeliveryState::Failed {
            tracing::warn!(endpoint_id = %endpoint, event_id = %delivery.event,
                "a webhook could not be delivered, and nobody tries any more");
        }
        let made = u32::from(attempt.result.map_or_else(|error| !error.is_shed(), |_| true));
        let attempts = delivery.attempts.saturating_add(made);
        let step = DeliveryStep { state, attempts, due_in, attempt: Some(record(attempt, now)) };
        let kept = self.queue.record_attempt((endpoint, token), delivery.id, &step).await?;
        let disable = (after == AfterAttempt::Disable).then_some(DisabledReason::Gone);
        Ok(Found { disable, lease_lost: !kept, ..Found::default() })
    }

    /// Its order is archived: there is nothing left to tell.
    async fn forgotten(
        &self,
        endpoint: &WebhookEndpoint,
        token: LeaseToken,
        delivery: &WebhookDelivery,
    ) -> Result<Found, StorageError> {
        let (state, attempts) = (DeliveryState::Failed, delivery.attempts);
        let step = DeliveryStep { state, attempts, due_in: Duration::ZERO, attempt: None };
        let kept = self.queue.record_attempt((endpoint.id, token), delivery.id, &step).await?;
        Ok(Found { lease_lost: !kept, ..Found::default() })
    }

    /// At least 0 and below 1.
    fn luck(&self) -> f64 {
        let draw = u32::try_from(self.entropy.bits() & 0xFFFF_FFFF).unwrap_or(0);
        f64::from(draw) / (f64::from(u32::MAX) + 1.0)
    }
}

fn record(attempt: Attempt, at: Timestamp) -> AttemptRecord {
    let (status, error) = match attempt.result {
        Ok(answer) => (Some(answer.status), None),
        Err(error) => (None, Some(error.as_str().to_owned())),
    };
    AttemptRecord { at, status, error, took: attempt.took, excerpt: attempt.excerpt }
}
