//! The tables of webhooks.

use crate::core::domain::ids::{EventId, LeaseToken, WebhookEndpointId};
use crate::core::domain::timestamp::Timestamp;
use crate::core::ports::outbox::StoredEvent;
use crate::core::ports::webhook_endpoints::{DeliveryState, WebhookDelivery, WebhookEndpoint};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) endpoint: WebhookEndpoint,
    /// Only events after this position are told.
    pub(super) since: u64,
    pub(super) due_at: Option<Timestamp>,
    pub(super) lease: Option<(LeaseToken, Timestamp)>,
}

impl Kept {
    pub(super) fn wants(&self, event: &StoredEvent) -> bool {
        let types = &self.endpoint.event_types;
        self.endpoint.scope.allows(event.aggregate.order.customer_id.as_ref())
            && (types.is_empty() || types.contains(&event.kind))
    }

    pub(super) fn is_due(&mut self, now: Timestamp) {
        self.due_at = Some(self.due_at.map_or(now, |due| due.min(now)));
    }
}

#[derive(Debug, Default)]
pub(super) struct Webhooks {
    pub(super) endpoints: BTreeMap<WebhookEndpointId, Kept>,
    pub(super) deliveries: BTreeMap<i64, (WebhookEndpointId, WebhookDelivery)>,
    pub(super) cursor: u64,
    last_id: i64,
}

impl Webhooks {
    /// Once for each endpoint; one that is there already stays as it is, unless it is to be sent `again`.
    pub(super) fn deliver(
        &mut self,
        to: WebhookEndpointId,
        event: &StoredEvent,
        now: Timestamp,
        again: bool,
    ) -> bool {
        let id = EventId { order: event.aggregate.order.id, sequence: event.sequence };
        let mut all = self.deliveries.values_mut();
        let known = all.find(|(endpoint, known)| (*endpoint, known.event) == (to, id));
        if let Some((_, known)) = known {
            let renewed = again && known.state != DeliveryState::Pending;
            if renewed {
                renew(known, now);
            }
            return renewed;
        }
        self.last_id += 1;
        let delivery = WebhookDelivery {
            id: self.last_id,
            event: id,
            kind: event.kind,
            state: DeliveryState::Pending,
            attempts: 0,
            due_at: now,
            created_at: now,
            last_attempt: None,
        };
        self.deliveries.insert(self.last_id, (to, delivery));
        true
    }

    pub(super) fn pending(&self, of: WebhookEndpointId) -> impl Iterator<Item = &WebhookDelivery> {
        let all = self.deliveries.values().filter(move |(endpoint, _)| *endpoint == of);
        all.map(|(_, one)| one).filter(|one| one.state == DeliveryState::Pending)
    }

    pub(super) fn leased(
        &mut self,
        (id, token): (WebhookEndpointId, LeaseToken),
    ) -> Option<&mut Kept> {
        let kept = self.endpoints.get_mut(&id)?;
        kept.lease.is_some_and(|(held, _)| held == token).then_some(kept)
    }
}

pub(super) fn renew(delivery: &mut WebhookDelivery, now: Timestamp) {
    delivery.state = DeliveryState::Pending;
    delivery.attempts = 0;
    (delivery.due_at, delivery.created_at) = (now, now);
}
