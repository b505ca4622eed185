//! Endpoints of webhooks, and what is brought to them.

use super::MemoryStore;
use super::webhook_tables::{Kept, renew};
use crate::core::domain::ids::{LeaseToken, WebhookEndpointId};
use crate::core::ports::outbox::StoredEvent;
use crate::core::ports::storage_error::StorageError;
use crate::core::ports::webhook_endpoints::{
    DeliveryQuery, DeliveryState, DeliveryStep, DisabledReason, EndpointChange, Redelivery,
    WebhookDelivery, WebhookEndpoint, WebhookEndpoints, WebhookQueue, WebhookStats,
};
use std::time::Duration;

#[async_trait::async_trait]
impl WebhookEndpoints for MemoryStore {
    async fn add_endpoint(
        &self,
        endpoint: &WebhookEndpoint,
        most: usize,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        let (mut state, now) = (self.state(), self.clock.now());
        let since = state.events.last().map_or(0, |event| event.position);
        let all = &mut state.webhooks.endpoints;
        if all.values().filter(|kept| kept.endpoint.owner == endpoint.owner).count() >= most {
            return Ok(None);
        }
        let endpoint = WebhookEndpoint { created_at: now, updated_at: now, ..endpoint.clone() };
        let kept = Kept { endpoint: endpoint.clone(), since, due_at: None, lease: None };
        all.insert(endpoint.id, kept);
        Ok(Some(endpoint))
    }

    async fn endpoints(&self, owner: &str) -> Result<Vec<WebhookEndpoint>, StorageError> {
        let state = self.state();
        let all = state.webhooks.endpoints.values().map(|kept| &kept.endpoint);
        let mut own: Vec<_> = all.filter(|endpoint| endpoint.owner == owner).cloned().collect();
        own.sort_by_key(|endpoint| (endpoint.created_at, endpoint.id));
        Ok(own)
    }

    async fn endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        let state = self.state();
        let found = state.webhooks.endpoints.get(&id).map(|kept| kept.endpoint.clone());
        Ok(found.filter(|endpoint| endpoint.owner == owner))
    }

    async fn change_endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
        change: &EndpointChange,
    ) -> Result<Option<WebhookEndpoint>, StorageError> {
        let (mut state, now) = (self.state(), self.clock.now());
        let last = state.events.last().map_or(0, |event| event.position);
        let Some(kept) = state.webhooks.endpoints.get_mut(&id) else { return Ok(None) };
        if kept.endpoint.owner != owner {
            return Ok(None);
        }
        let EndpointChange { url, event_types, description, disabled, keys } = change.clone();
        let endpoint = &mut kept.endpoint;
        if disabled == Some(None) {
            if endpoint.disabled.is_some() {
                kept.since = last;
            }
            kept.due_at = Some(now);
        }
        endpoint.url = url.unwrap_or_else(|| endpoint.url.clone());
        endpoint.event_types = event_types.unwrap_or_else(|| endpoint.event_types.clone());
        endpoint.description = description.unwrap_or_else(|| endpoint.description.clone());
        endpoint.disabled = disabled.unwrap_or(endpoint.disabled);
        endpoint.keys = keys.unwrap_or_else(|| endpoint.keys.clone());
        endpoint.updated_at = now;
        Ok(Some(endpoint.clone()))
    }

    async fn remove_endpoint(
        &self,
        owner: &str,
        id: WebhookEndpointId,
    ) -> Result<bool, StorageError> {
        let mut state = self.state();
        let all = &mut state.webhooks.endpoints;
        let own = all.get(&id).is_some_and(|kept| kept.endpoint.owner == owner);
        if own {
            all.remove(&id);
            state.webhooks.deliveries.retain(|_, (endpoint, _)| *endpoint != id);
        }
        Ok(own)
    }

    async fn deliveries(
        &self,
        endpoint: WebhookEndpointId,
        query: &DeliveryQuery,
    ) -> Result<Vec<WebhookDelivery>, StorageError> {
        let state = self.state();
        let all = state.webhooks.deliveries.values().rev().filter(|(to, _)| *to == endpoint);
        let wanted = all.map(|(_, one)| one).filter(|one| {
            query.state.is_none_or(|state| one.state == state)
                && query.before.is_none_or(|before| one.id < before)
        });
        Ok(wanted.take(query.limit).cloned().collect())
    }

    async fn redeliver(
        &self,
        endpoint: WebhookEndpointId,
        what: Redelivery,
        limit: usize,
    ) -> Result<u64, StorageError> {
        let (mut state, now) = (self.state(), self.clock.now());
        let state = &mut *state;
        let webhooks = &mut state.webhooks;
        let Some(kept) = webhooks.endpoints.get_mut(&endpoint) else { return Ok(0) };
        kept.is_due(now);
        let allows = |event: &&StoredEvent| {
            kept.endpoint.scope.allows(event.aggregate.order.customer_id.as_ref())
        };
        let events: Vec<_> = match what {
            Redelivery::Event(id) => {
                let one = |event: &&StoredEvent| {
                    (event.aggregate.order.id, event.sequence) == (id.order, id.sequence)
                };
                state.events.iter().filter(one).filter(allows).cloned().collect()
            }
            Redelivery::AllSince(moment) => {
                let since = state.events.iter().filter(|event| event.at >= moment);
                since.filter(|event| kept.wants(event)).take(limit).cloned().collect()
            }
            Redelivery::FailedSince(moment) => {
                let all = webhooks.deliveries.values_mut().filter(|(to, _)| *to == endpoint);
                let failed = all.map(|(_, one)| one).filter(|one| {
                    let at = one.last_attempt.as_ref().map_or(one.created_at, |last| last.at);
                    one.state == DeliveryState::Failed && at >= moment
                });
                let again = failed.take(limit).map(|one| renew(one, now)).count();
                return Ok(u64::try_from(again).unwrap_or(u64::MAX));
            }
        };
        let again = events.iter().filter(|event| webhooks.deliver(endpoint, event, now, true));
        Ok(u64::try_from(again.count()).unwrap_or(u64::MAX))
    }
}

#[async_trait::async_trait]
impl WebhookQueue for MemoryStore {
    async fn fan_out(&self, limit: usize) -> Result<u64, StorageError> {
        let (mut state, now) = (self.state(), self.clock.now());
        let state = &mut *state;
        let webhooks = &mut state.webhooks;
        let enabled = webhooks.endpoints.values().filter(|kept| kept.endpoint.disabled.is_none());
        let Some(wanted) = enabled.map(|kept| kept.since).min() else { return Ok(0) };
        let from = webhooks.cursor.max(wanted);
        let next = state.events.iter().filter(|event| event.position > from).take(limit);
        let mut events = 0;
        for event in next {
            let wants = |(id, kept): (&WebhookEndpointId, &Kept)| {
                let told = kept.endpoint.disabled.is_none() && event.position > kept.since;
                (told && kept.wants(event)).then_some(*id)
            };
            let to: Vec<_> = webhooks.endpoints.iter().filter_map(wants).collect();
            for id in to {
                webhooks.deliver(id, event, now, false);
                webhooks.endpoints.entry(id).and_modify(|kept| kept.is_due(now));
            }
            webhooks.cursor = event.position;
            events += 1;
        }
        Ok(events)
    }

    async fn claim_endpoints(
        &self,
        token: LeaseToken,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<WebhookEndpoint>, StorageError> {
        let (mut state, now) = (self.state(), self.clock.now());
        let free = |kept: &&mut Kept| {
            let due = kept.due_at.is_some_and(|due| due <= now);
            let leased = kept.lease.is_some_and(|(_, until)| until > now);
            due && !leased && kept.endpoint.disabled.is_none()
        };
        let mut due: Vec<_> = state.webhooks.endpoints.values_mut().filter(free).collect();
        due.sort_by_key(|kept| kept.due_at);
        let claimed = due.into_iter().take(limit).map(|kept| {
            kept.lease = Some((token, now + lease));
            kept.endpoint.clone()
        });
        Ok(claimed.collect())
    }

    async fn due_deliveries(
        &self,
        endpoint: WebhookEndpointId,
        limit: usize,
    ) -> Result<Vec<WebhookDelivery>, StorageError> {
        let (state, now) = (self.state(), self.clock.now());
        let webhooks = &state.webhooks;
        let first = |one: &&WebhookDelivery| {
            let before = |other: &WebhookDelivery| {
                other.event.order == one.event.order && other.event.sequence < one.event.sequence
            };
            !webhooks.pending(endpoint).any(before)
        };
        let due = webhooks.pending(endpoint).filter(|one| one.due_at <= now).filter(first);
        let mut due: Vec<_> = due.cloned().collect();
        due.sort_by_key(|one| (one.due_at, one.id));
        due.truncate(limit);
        Ok(due)
    }

    async fn record_attempt(
        &self,
        lease: (WebhookEndpointId, LeaseToken),
        delivery: i64,
        step: &DeliveryStep,
    ) -> Result<bool, StorageError> {
        let (mut state, now) = (self.state(), self.clock.now());
        if state.webhooks.leased(lease).is_none() {
            return Ok(false);
        }
        let Some((to, one)) = state.webhooks.deliveries.get_mut(&delivery) else {
            return Ok(false);
        };
        if *to != lease.0 {
            return Ok(false);
        }
        (one.state, one.attempts, one.due_at) = (step.state, step.attempts, now + step.due_in);
        if step.attempt.is_some() {
            one.last_attempt.clone_from(&step.attempt);
        }
        Ok(true)
    }

    async fn release_endpoint(
        &self,
        lease: (WebhookEndpointId, LeaseToken),
        pause: Duration,
        disable: Option<DisabledReason>,
    ) -> Result<(), StorageError> {
        let (mut state, now) = (self.state(), self.clock.now());
        let first = state.webhooks.pending(lease.0).map(|one| one.due_at).min();
        if let Some(kept) = state.webhooks.leased(lease) {
            kept.lease = None;
            kept.endpoint.disabled = disable.or(kept.endpoint.disabled);
            kept.due_at = first.map(|due| due.max(now + pause));
        }
        Ok(())
    }

    async fn webhook_stats(&self) -> Result<WebhookStats, StorageError> {
        let state = self.state();
        let webhooks = &state.webhooks;
        let mut stats = WebhookStats::default();
        for (id, kept) in &webhooks.endpoints {
            if kept.endpoint.disabled.is_some() {
                stats.disabled += 1;
                continue;
            }
            stats.enabled += 1;
            for one in webhooks.pending(*id) {
                stats.pending += 1;
                let oldest = stats.oldest.map_or(one.created_at, |at| at.min(one.created_at));
                stats.oldest = Some(oldest);
            }
        }
        Ok(stats)
    }
}
