//! Where shops want to be told: registered by them, kept in the database, and delivered to by whichever instance
//! holds an endpoint's lease.

use crate::core::domain::ids::{EventId, LeaseToken, WebhookEndpointId};
use crate::core::domain::timestamp::Timestamp;
use crate::core::domain::webhook::SigningKeys;
use crate::core::payment::order_event::OrderEvent;
use crate::core::ports::order_repository::Scope;
use crate::core::ports::storage_error::StorageError;
use std::fmt;
use std::time::Duration;

/// A destination, as its shop has registered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookEndpoint {
    /// Its name.
    pub id: WebhookEndpointId,
    /// Whose it is: only this caller sees and changes it.
    pub owner: String,
    /// Of whose orders it is told.
    pub scope: Scope,
    /// Where it is.
    pub url: String,
    /// Of what it is told; of everything if none is named.
    pub event_types: Vec<OrderEvent>,
    /// For people.
    pub description: String,
    /// Why nothing is sent to it; `None` while something is.
    pub disabled: Option<DisabledReason>,
    /// What its webhooks are signed with, the newest first.
    pub keys: Vec<KeyGeneration>,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When its shop last changed it.
    pub updated_at: Timestamp,
}

impl WebhookEndpoint {
    /// What a webhook of this moment is signed with, the newest first.
    #[must_use]
    pub fn signing_keys(&self, now: Timestamp) -> Vec<SigningKeys> {
        let valid = |generation: &&KeyGeneration| generation.until.is_none_or(|until| now < until);
        self.keys.iter().filter(valid).map(|generation| generation.keys.clone()).collect()
    }
}

/// Why nothing is sent to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisabledReason {
    /// Its shop wants nothing.
    ByOwner,
    /// It answered 410: it wants nothing, and for ever.
    Gone,
}

impl DisabledReason {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ByOwner => "by_owner",
            Self::Gone => "gone",
        }
    }

    /// By its word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::ByOwner, Self::Gone].into_iter().find(|reason| reason.as_str() == word)
    }
}

/// A pair of keys, and how long webhooks are signed with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyGeneration {
    /// The pair.
    pub keys: SigningKeys,
    /// Not from then on; `None` for the newest.
    pub until: Option<Timestamp>,
}

/// What a shop changes of its endpoint; `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndpointChange {
    /// Another address.
    pub url: Option<String>,
    /// Other types; of everything if none is named.
    pub event_types: Option<Vec<OrderEvent>>,
    /// Another description.
    pub description: Option<String>,
    /// `Some(None)` enables it.
    pub disabled: Option<Option<DisabledReason>>,
    /// Other keys.
    pub keys: Option<Vec<KeyGeneration>>,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is to be sent, for the first time or again.
    Pending,
    /// The receiver took it.
    Delivered,
    /// Nobody tries any more.
    Failed,
}

impl DeliveryState {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Delivered, Self::Failed];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }

    /// By its word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// An event on its way to an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// Its place among all deliveries: later ones have greater numbers.
    pub id: i64,
    /// What is told.
    pub event: EventId,
    /// Of which type that is.
    pub kind: OrderEvent,
    /// How it stands.
    pub state: DeliveryState,
    /// Attempts that were made.
    pub attempts: u32,
    /// When it is to be sent next, if it is.
    pub due_at: Timestamp,
    /// When it was first to be sent.
    pub created_at: Timestamp,
    /// The last attempt.
    pub last_attempt: Option<AttemptRecord>,
}

/// What is kept of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRecord {
    /// When it ended.
    pub at: Timestamp,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// The word for why there was none.
    pub error: Option<String>,
    /// How long it took.
    pub took: Duration,
    /// The beginning of the answer.
    pub excerpt: String,
}

/// Which deliveries are to be sent once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redelivery {
    /// This event, whether it was delivered or not.
    Event(EventId),
    /// Those that failed since then.
    FailedSince(Timestamp),
    /// Everything since then.
    AllSince(Timestamp),
}

/// A page of deliveries, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryQuery {
    /// Only these.
    pub state: Option<DeliveryState>,
    /// Only older ones than this.
    pub before: Option<i64>,
    /// At most.
    pub limit: usize,
}

/// The endpoints, as their shops see them.
#[async_trait::async_trait]
pub trait WebhookEndpoints: Send + Sync + fmt::Debug {
    /// Keeps a new one: it is told of what happens from now on. `None` when the owner has as many as `most`.
    async fn add_endpoint(
        &self,
        endpoint: &WebhookEndpoint,
        most: usize,
    ) -> Result<Option<WebhookEndpoint>, StorageError>;

    /// The owner's, the oldest first.
    async fn endpoints(&self, owner: &str) -> Result<Vec<WebhookEndpoint>, StorageError>;

    /// One of the owner's.
    async fn endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
    ) -> Result<Option<WebhookEndpoint>, StorageError>;

    /// Changes one of the owner's. One that is enabled again goes on with what waits for it.
    async fn change_endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
        change: &EndpointChange,
    ) -> Result<Option<WebhookEndpoint>, StorageError>;

    /// Removes one of the owner's with all its deliveries. `false` if there is none.
    async fn remove_endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
    ) -> Result<bool, StorageError>;

    /// What was, is and will be sent to it.
    async fn deliveries(
        &self,
        endpoint: WebhookEndpointId,
        query: &DeliveryQuery,
    ) -> Result<Vec<WebhookDelivery>, StorageError>;

    /// Sends once more, as if never sent, at most `limit`, the oldest first. Tells how many those are.
    async fn redeliver(
        &self,
        endpoint: WebhookEndpointId,
        what: Redelivery,
        limit: usize,
    ) -> Result<u64, StorageError>;
}

/// How a delivery goes on after an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryStep {
    /// As what.
    pub state: DeliveryState,
    /// Attempts that were made by now.
    pub attempts: u32,
    /// When it is sent next, if it is.
    pub due_in: Duration,
    /// The attempt; `None` when a guard kept it back.
    pub attempt: Option<AttemptRecord>,
}

/// How many there are, for the gauges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebhookStats {
    /// Endpoints that are told.
    pub enabled: u64,
    /// Endpoints that are not.
    pub disabled: u64,
    /// Deliveries that wait for their first or next attempt at enabled endpoints.
    pub pending: u64,
    /// When the oldest of them was first to be sent.
    pub oldest: Option<Timestamp>,
}

/// The work of bringing events to endpoints. An endpoint's deliveries are one instance's at a time, by lease.
#[async_trait::async_trait]
pub trait WebhookQueue: Send + Sync + fmt::Debug {
    /// Makes deliveries of the next events, at most `limit`, in the order of their positions; how many events
    /// those were. Where nobody wants to be told it passes over all of them.
    async fn fan_out(&self, limit: usize) -> Result<u64, StorageError>;

    /// Takes leases on endpoints that have something due, the longest due first.
    async fn claim_endpoints(
        &self,
        token: LeaseToken,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<WebhookEndpoint>, StorageError>;

    /// What is due at an endpoint: of each order only the first event that is not settled, so that no later one
    /// overtakes it.
    async fn due_deliveries(
        &self,
        endpoint: WebhookEndpointId,
        limit: usize,
    ) -> Result<Vec<WebhookDelivery>, StorageError>;

    /// Keeps what became of an attempt. `false` when the lease is no longer ours: another instance may send it
    /// again, and its word counts.
    async fn record_attempt(
        &self,
        lease: (WebhookEndpointId, LeaseToken),
        delivery: i64,
        step: &DeliveryStep,
    ) -> Result<bool, StorageError>;

    /// Gives an endpoint back: it is due again with its first delivery, and not before `pause` is over.
    async fn release_endpoint(
        &self,
        lease: (WebhookEndpointId, LeaseToken),
        pause: Duration,
        disable: Option<DisabledReason>,
    ) -> Result<(), StorageError>;

    /// For the gauges.
    async fn webhook_stats(&self) -> Result<WebhookStats, StorageError>;
}
