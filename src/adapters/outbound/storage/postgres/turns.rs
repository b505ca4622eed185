//! Turns at one order. Whoever changes an order waits for its row on a connection; without turns a row
//! that somebody holds (an operator's psql) would draw the whole pool to it.

use crate::core::domain::ids::OrderId;
use crate::core::ports::storage_error::StorageError;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

#[derive(Debug)]
pub struct OrderTurns {
    /// Connections that one order may take.
    each: usize,
    /// With how many there are that want it.
    orders: Mutex<HashMap<OrderId, (usize, Arc<Semaphore>)>>,
}

/// The right to wait for the order's row.
#[derive(Debug)]
pub struct Turn {
    _permit: OwnedSemaphorePermit,
    _caller: Caller,
}

#[derive(Debug)]
struct Caller {
    turns: Arc<OrderTurns>,
    order: OrderId,
}

impl OrderTurns {
    /// Half of it for one order.
    pub fn of_pool(max_connections: u32) -> Self {
        let each = usize::try_from(max_connections / 2).unwrap_or(usize::MAX).max(1);
        Self { each, orders: Mutex::default() }
    }

    /// # Errors
    /// It did not come in time.
    pub async fn take(
        self: &Arc<Self>,
        order: OrderId,
        time_limit: Duration,
    ) -> Result<Turn, StorageError> {
        let (caller, turns) = self.enter(order);
        match timeout(time_limit, turns.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Turn { _permit: permit, _caller: caller }),
            Ok(Err(_)) | Err(_) => Err(StorageError::Unavailable),
        }
    }

    fn enter(self: &Arc<Self>, order: OrderId) -> (Caller, Arc<Semaphore>) {
        let mut orders = self.orders();
        let entry = orders.entry(order);
        let (callers, turns) = entry.or_insert_with(|| (0, Arc::new(Semaphore::new(self.each))));
        *callers += 1;
        (Caller { turns: Arc::clone(self), order }, Arc::clone(turns))
    }

    fn orders(&self) -> MutexGuard<'_, HashMap<OrderId, (usize, Arc<Semaphore>)>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut orders = self.turns.orders();
        if let Some((callers, _)) = orders.get_mut(&self.order) {
            *callers -= 1;
            if *callers == 0 {
                orders.remove(&self.order);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[tokio::test(start_paused = true)]
    async fn one_order_takes_half_the_pool_and_is_forgotten_afterwards() {
        let turns = Arc::new(OrderTurns::of_pool(4));
        let [one, other] = [1, 2].map(|number| OrderId::from_uuid(Uuid::from_u128(number)));
        let limit = Duration::from_secs(1);
        let held = (turns.take(one, limit).await.unwrap(), turns.take(one, limit).await.unwrap());
        assert_eq!(turns.take(one, limit).await.unwrap_err(), StorageError::Unavailable);
        drop(turns.take(other, limit).await.unwrap());
        drop(held.0);
        drop(turns.take(one, limit).await.unwrap());
        drop(held.1);
        assert!(turns.orders().is_empty());
    }
}
