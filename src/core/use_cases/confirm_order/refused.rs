//! Orders that were refused a moment ago because nobody could be asked. In an outage clients ask again and again: that
//! must not cost a look at the database each time.

use crate::core::domain::ids::{CustomerId, OrderId};
use crate::core::ports::order_repository::Scope;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// For so long an order counts as it was seen. Whoever was given a form meanwhile by another instance has it; asking here
/// again brings a 503 at worst.
const MEMORY: Duration = Duration::from_secs(10);

/// Orders that are remembered; with more, each is looked at.
const MOST: usize = 10_000;

/// Whose order it is, and until when it counts as seen.
type Seen = (Option<CustomerId>, Instant);

/// Orders that had no form when they were refused.
#[derive(Debug, Default)]
pub struct RecentRefusals(Mutex<HashMap<OrderId, Seen>>);

impl RecentRefusals {
    /// Whether the caller was refused this order a moment ago.
    pub(super) fn knows(&self, order: OrderId, scope: &Scope) -> bool {
        let seen = self.lock();
        seen.get(&order).is_some_and(|(customer, until)| {
            *until > Instant::now() && scope.allows(customer.as_ref())
        })
    }

    /// It had no form a moment ago.
    pub(super) fn remember(&self, order: OrderId, customer: Option<CustomerId>) {
        let mut seen = self.lock();
        let now = Instant::now();
        if seen.len() >= MOST {
            seen.retain(|_, (_, until)| *until > now);
        }
        if seen.len() < MOST {
            seen.insert(order, (customer, now + MEMORY));
        }
    }

    /// Something is about to happen to it.
    pub(super) fn forget(&self, order: OrderId) {
        self.lock().remove(&order);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OrderId, Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn order(number: u128) -> OrderId {
        OrderId::from_uuid(Uuid::from_u128(number))
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_counts_for_its_own_customer_and_for_ten_seconds() {
        let refusals = RecentRefusals::default();
        let customer = |name: &str| CustomerId::parse(name).unwrap();
        refusals.remember(order(1), Some(customer("c-1")));
        assert!(refusals.knows(order(1), &Scope::Only(customer("c-1"))));
        assert!(refusals.knows(order(1), &Scope::Anyone));
        assert!(!refusals.knows(order(1), &Scope::Only(customer("c-2"))));
        assert!(!refusals.knows(order(2), &Scope::Anyone));
        tokio::time::advance(MEMORY).await;
        assert!(!refusals.knows(order(1), &Scope::Anyone));
    }

    #[tokio::test(start_paused = true)]
    async fn no_number_of_orders_fills_the_memory() {
        let refusals = RecentRefusals::default();
        for number in 0..=MOST {
            refusals.remember(order(u128::try_from(number).unwrap()), None);
        }
        assert_eq!(refusals.lock().len(), MOST);
        tokio::time::advance(MEMORY).await;
        refusals.remember(order(u128::MAX), None);
        assert_eq!(refusals.lock().len(), 1);
        refusals.forget(order(u128::MAX));
        assert!(refusals.lock().is_empty());
    }
}
