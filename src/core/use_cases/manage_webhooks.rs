//! Register, change and try where a shop wants to be told.

use crate::core::domain::ids::WebhookEndpointId;
use crate::core::domain::webhook::attempt::ForbiddenDestination;
use crate::core::domain::webhook::{SigningKeys, WebhookId};
use crate::core::payment::order_event::OrderEvent;
use crate::core::ports::clock::Entropy;
use crate::core::ports::order_repository::{OrderRepository, Scope};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::webhook_endpoints::{
    EndpointChange, KeyGeneration, WebhookEndpoint, WebhookEndpoints,
};
use crate::core::ports::webhooks::{Attempt, ShownKeys, Webhook, WebhookSender};
use std::sync::Arc;
use std::time::Duration;

/// Endpoints of one owner: enough for every system of a shop, too few to make us a source of floods.
pub const MOST_ENDPOINTS: usize = 20;

/// How long both generations of keys sign after a rotation, if not said: long enough to roll out a secret.
pub const OVERLAP: Duration = Duration::from_secs(24 * 3600);

/// What a shop registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEndpoint {
    /// Whose it is.
    pub owner: String,
    /// Of whose orders it is told.
    pub scope: Scope,
    /// Where it is; judged before.
    pub url: String,
    /// Of what it is told; of everything if none is named.
    pub event_types: Vec<OrderEvent>,
    /// For people.
    pub description: String,
}

/// Keeps the endpoints of shops.
#[derive(Debug)]
pub struct ManageWebhooks {
    /// Where they are kept.
    pub endpoints: Arc<dyn WebhookEndpoints>,
    /// Whose clock counts.
    pub orders: Arc<dyn OrderRepository>,
    /// Makes the attempt that a shop asks for.
    pub sender: Arc<dyn WebhookSender>,
    /// Where ids and keys come from.
    pub entropy: Arc<dyn Entropy>,
}

impl ManageWebhooks {
    /// With new keys. `None` when the owner has as many as may be ([`MOST_ENDPOINTS`]).
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn register(
        &self,
        new: NewEndpoint,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        let now = self.orders.now().await?;
        let NewEndpoint { owner, scope, url, event_types, description } = new;
        let endpoint = WebhookEndpoint {
            id: WebhookEndpointId::new(self.entropy.bits()),
            owner,
            scope,
            url,
            event_types,
            description,
            disabled: None,
            keys: vec![KeyGeneration { keys: self.new_keys(), until: None }],
            created_at: now,
            updated_at: now,
        };
        self.endpoints.add_endpoint(&endpoint, MOST_ENDPOINTS).await
    }

    /// Gives an endpoint new keys. Those of before sign beside them for so long, and older ones no more.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn rotate(
        &self,
        owner: &str,
        id: WebhookEndpointId,
        overlap: Duration,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        let Some(endpoint) = self.endpoints.endpoint(owner, id).await? else { return Ok(None) };
        let now = self.orders.now().await?;
        let mut keys = vec![KeyGeneration { keys: self.new_keys(), until: None }];
        if let Some(newest) = endpoint.keys.first().filter(|_| !overlap.is_zero()) {
            keys.push(KeyGeneration { keys: newest.keys.clone(), until: Some(now + overlap) });
        }
        let change = EndpointChange { keys: Some(keys), ..EndpointChange::default() };
        self.endpoints.change_endpoint(owner, id, &change).await
    }

    /// One attempt with a body of no meaning, made now; it is kept nowhere.
    ///
    /// # Errors
    /// The storage cannot answer.
    pub async fn test(
        &self,
        owner: &str,
        id: WebhookEndpointId,
    ) -> Result<Option<Attempt>, StorageError> {
        let Some(endpoint) = self.endpoints.endpoint(owner, id).await? else { return Ok(None) };
        let at = self.orders.now().await?;
        let name = WebhookId::of_test(self.entropy.bits());
        let body = format!(
            r#"{{"id":"{}","type":"webhook.test","time":"{}","data":{{}}}}"#,
            name.as_str(),
            at.to_rfc3339(),
        );
        let (url, keys) = (&endpoint.url, endpoint.signing_keys(at));
        let webhook = Webhook { endpoint: id, url, id: &name, at, body: &body, keys: &keys };
        Ok(Some(self.sender.send(&webhook).await))
    }

    /// Whether a webhook may ever go there.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, url: &str) -> Result<(), ForbiddenDestination> {
        self.sender.check(url)
    }

    /// The newest keys of an endpoint as its shop is shown them.
    #[must_use]
    pub fn shown(&self, endpoint: &WebhookEndpoint) -> Option<ShownKeys> {
        endpoint.keys.first().map(|newest| self.sender.shown(&newest.keys))
    }

    fn new_keys(&self) -> SigningKeys {
        SigningKeys::new(std::array::from_fn(|_| self.entropy.bits()))
    }
}
