//! How many may work at one order. Whoever changes an order waits for its row on a connection; without
//! a limit a row that somebody holds (an operator's psql) would draw the whole pool to it.

use crate::core::domain::ids::OrderId;
use crate::core::ports::storage_error::StorageError;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

#[derive(Debug)]
pub struct OrderLimit {
    /// Connections that one order may take.
    each: usize,
    /// With how many there are that want it.
    orders: Mutex<HashMap<OrderId, (usize, Arc<Semaphore>)>>,
}

/// The right to wait for the order's row.
#[derive(Debug)]
pub struct OrderPermit {
    _permit: OwnedSemaphorePermit,
    _caller: Caller,
}

#[derive(Debug)]
struct Caller {
    order_limit: Arc<OrderLimit>,
    order: OrderId,
}

impl OrderLimit {
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
    ) -> Result<OrderPermit, StorageError> {
        let (caller, permits) = self.enter(order);
        match timeout(time_limit, permits.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(OrderPermit { _permit: permit, _caller: caller }),
            Ok(Err(_)) | Err(_) => Err(StorageError::Unavailable),
        }
    }

    fn enter(self: &Arc<Self>, order: OrderId) -> (Caller, Arc<Semaphore>) {
        let mut orders = self.orders();
        let entry = orders.entry(order);
        let (callers, permits) = entry.or_insert_with(|| (0, Arc::new(Semaphore::new(self.each))));
        *callers += 1;
        (Caller { order_limit: Arc::clone(self), order }, Arc::clone(permits))
    }

    fn orders(&self) -> MutexGuard<'_, HashMap<OrderId, (usize, Arc<Semaphore>)>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut orders = self.order_limit.orders();
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
        let limiter = Arc::new(OrderLimit::of_pool(4));
        let [one, other] = [1, 2].map(|number| OrderId::from_uuid(Uuid::from_u128(number)));
        let limit = Duration::from_secs(1);
        let held =
            (limiter.take(one, limit).await.unwrap(), limiter.take(one, limit).await.unwrap());
        assert_eq!(limiter.take(one, limit).await.unwrap_err(), StorageError::Unavailable);
        drop(limiter.take(other, limit).await.unwrap());
        drop(held.0);
        drop(limiter.take(one, limit).await.unwrap());
        drop(held.1);
        assert!(limiter.orders().is_empty());
    }
}
