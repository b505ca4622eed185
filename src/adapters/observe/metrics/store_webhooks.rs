//! The storage's part for webhooks, timed as one operation: what it does in detail the deliveries tell.

use super::store::MeteredStore;
use crate::core::domain::ids::{LeaseToken, WebhookEndpointId};
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::webhook_endpoints::{
    DeliveryQuery, DeliveryStep, DisabledReason, EndpointChange, Redelivery, WebhookDelivery,
    WebhookEndpoint, WebhookEndpoints, WebhookQueue, WebhookStats,
};
use std::time::Duration;

const OPERATION: &str = "webhooks";

#[async_trait::async_trait]
impl<S: WebhookEndpoints + ?Sized> WebhookEndpoints for MeteredStore<S> {
    async fn add_endpoint(
        &self,
        endpoint: &WebhookEndpoint,
        most: usize,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        self.timed(OPERATION, self.store.add_endpoint(endpoint, most)).await
    }

    async fn endpoints(&self, owner: &str) -> Result<Vec<WebhookEndpoint>, StorageError> {
        self.timed(OPERATION, self.store.endpoints(owner)).await
    }

    async fn endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        self.timed(OPERATION, self.store.endpoint(owner, id)).await
    }

    async fn change_endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
        change: &EndpointChange,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        self.timed(OPERATION, self.store.change_endpoint(owner, id, change)).await
    }

    async fn remove_endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
    ) -> Result<bool, StorageError> {
        self.timed(OPERATION, self.store.remove_endpoint(owner, id)).await
    }

    async fn deliveries(
        &self,
        endpoint: WebhookEndpointId,
        query: &DeliveryQuery,
    ) -> Result<Vec<WebhookDelivery>, StorageError> {
        self.timed(OPERATION, self.store.deliveries(endpoint, query)).await
    }

    async fn redeliver(
        &self,
        endpoint: WebhookEndpointId,
        what: Redelivery,
        limit: usize,
    ) -> Result<u64, StorageError> {
        self.timed(OPERATION, self.store.redeliver(endpoint, what, limit)).await
    }
}

#[async_trait::async_trait]
impl<S: WebhookQueue + ?Sized> WebhookQueue for MeteredStore<S> {
    async fn fan_out(&self, limit: usize) -> Result<u64, StorageError> {
        self.timed(OPERATION, self.store.fan_out(limit)).await
    }

    async fn claim_endpoints(
        &self,
        token: LeaseToken,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<WebhookEndpoint>, StorageError> {
        self.timed(OPERATION, self.store.claim_endpoints(token, lease, limit)).await
    }

    async fn due_deliveries(
        &self,
        endpoint: WebhookEndpointId,
        limit: usize,
    ) -> Result<Vec<WebhookDelivery>, StorageError> {
        self.timed(OPERATION, self.store.due_deliveries(endpoint, limit)).await
    }

    async fn record_attempt(
        &self,
        lease: (WebhookEndpointId, LeaseToken),
        delivery: i64,
        step: &DeliveryStep,
    ) -> Result<bool, StorageError> {
        self.timed(OPERATION, self.store.record_attempt(lease, delivery, step)).await
    }

    async fn release_endpoint(
        &self,
        lease: (WebhookEndpointId, LeaseToken),
        pause: Duration,
        disable: Option<DisabledReason>,
    ) -> Result<(), StorageError> {
        self.timed(OPERATION, self.store.release_endpoint(lease, pause, disable)).await
    }

    async fn webhook_stats(&self) -> Result<WebhookStats, StorageError> {
        self.store.webhook_stats().await
    }
}
