//! How many attempts may be under way, to one destination and to all. Who finds no place is shed at once: the webhook
//! waits in the database, where waiting costs nothing.

use crate::core::domain::ids::WebhookEndpointId;
use crate::core::domain::unavailable::Shed;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A destination takes no room while nothing is under way to it.
#[derive(Debug)]
pub(super) struct InFlight {
    most: usize,
    most_each: usize,
    by_endpoint: Mutex<HashMap<WebhookEndpointId, usize>>,
}

/// A place; free again when it is dropped.
#[derive(Debug)]
#[must_use]
pub(super) struct Slot<'a> {
    in_flight: &'a InFlight,
    endpoint: WebhookEndpointId,
}

impl InFlight {
    pub(super) fn new(most: usize, most_each: usize) -> Self {
        Self { most, most_each, by_endpoint: Mutex::default() }
    }

    pub(super) fn enter(&self, endpoint: WebhookEndpointId) -> Result<Slot<'_>, Shed> {
        let mut by_endpoint = self.lock();
        let all: usize = by_endpoint.values().sum();
        let own = by_endpoint.get(&endpoint).copied().unwrap_or(0);
        if all >= self.most || own >= self.most_each {
            return Err(Shed::BulkheadFull);
        }
        by_endpoint.insert(endpoint, own + 1);
        Ok(Slot { in_flight: self, endpoint })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WebhookEndpointId, usize>> {
        self.by_endpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut by_endpoint = self.in_flight.lock();
        if let Some(own) = by_endpoint.get_mut(&self.endpoint) {
            *own -= 1;
            if *own == 0 {
                by_endpoint.remove(&self.endpoint);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn shop(number: u128) -> WebhookEndpointId {
        WebhookEndpointId::from_uuid(Uuid::from_u128(number))
    }

    #[test]
    fn one_destination_cannot_take_the_places_of_others() {
        let in_flight = InFlight::new(3, 2);
        let _held = [in_flight.enter(shop(1)).unwrap(), in_flight.enter(shop(1)).unwrap()];
        assert_eq!(in_flight.enter(shop(1)).unwrap_err(), Shed::BulkheadFull);
        let other = in_flight.enter(shop(2)).unwrap();
        assert_eq!(in_flight.enter(shop(3)).unwrap_err(), Shed::BulkheadFull, "all are taken");
        drop(other);
        assert!(in_flight.enter(shop(3)).is_ok());
    }

    #[test]
    fn a_destination_without_attempts_is_forgotten() {
        let in_flight = InFlight::new(2, 2);
        for number in 0..1_000 {
            drop(in_flight.enter(shop(number)).unwrap());
        }
        assert!(in_flight.lock().is_empty());
    }
}
