//! Single flight: callers who want the same product at the same time share one question. Whoever
//! leaves early takes nothing from the others; when the last one leaves, the question is dropped.

use crate::core::domain::ids::ProductId;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Flight<T> = BoxFuture<'static, T>;

/// The questions that are under way, by product.
pub(super) struct SingleFlight<T: Clone>(Arc<Mutex<InFlight<T>>>);

struct InFlight<T: Clone> {
    /// Each with its number: a later one for the same product is another.
    under_way: HashMap<ProductId, (u64, WeakShared<Flight<T>>)>,
    started: u64,
}

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(InFlight { under_way: HashMap::new(), started: 0 })))
    }

    /// Joins the flight for `id`, or starts one. It moves only while somebody polls it.
    pub(super) fn join<F>(&self, id: &ProductId, start: impl FnOnce() -> F) -> Shared<Flight<T>>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut flights = lock(&self.0);
        if let Some(flight) = flights.under_way.get(id).and_then(|(_, flight)| flight.upgrade()) {
            return flight;
        }
        flights.started += 1;
        let number = flights.started;
        let end = FlightEnd { flights: Arc::clone(&self.0), id: id.clone(), number };
        let work = start();
        let flight = async move {
            let _end = end;
            work.await
        };
        let flight = flight.boxed().shared();
        if let Some(weak) = flight.downgrade() {
            flights.under_way.insert(id.clone(), (number, weak));
        }
        flight
    }
}

/// Takes a flight off the list when it ends, however it ends.
struct FlightEnd<T: Clone> {
    flights: Arc<Mutex<InFlight<T>>>,
    id: ProductId,
    number: u64,
}

impl<T: Clone> Drop for FlightEnd<T> {
    fn drop(&mut self) {
        let mut flights = lock(&self.flights);
        // A later flight for the same product stays.
        if flights.under_way.get(&self.id).is_some_and(|(number, _)| *number == self.number) {
            flights.under_way.remove(&self.id);
        }
    }
}

fn lock<T: Clone>(flights: &Mutex<InFlight<T>>) -> MutexGuard<'_, InFlight<T>> {
    flights.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Clone> fmt::Debug for SingleFlight<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleFlight").field("under_way", &lock(&self.0).under_way.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::{sleep, timeout};

    fn product() -> ProductId {
        ProductId::parse("p-1").unwrap()
    }

    async fn answer(text: &'static str) -> &'static str {
        sleep(Duration::from_secs(1)).await;
        text
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_joins_gets_the_answer_of_the_flight_under_way() {
        let flights = SingleFlight::new();
        let first = flights.join(&product(), || answer("first"));
        let second = flights.join(&product(), || answer("second"));
        assert_eq!(tokio::join!(first, second), ("first", "first"));
        assert_eq!(flights.join(&product(), || answer("third")).await, "third");
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_who_started_it_may_leave() {
        let flights = SingleFlight::new();
        let first = flights.join(&product(), || answer("first"));
        let second = flights.join(&product(), || answer("second"));
        let impatient = timeout(Duration::from_millis(10), first);
        let (left, got) = tokio::join!(impatient, second);
        assert!(left.is_err());
        assert_eq!(got, "first");
    }

    #[tokio::test(start_paused = true)]
    async fn a_flight_that_everyone_left_is_forgotten() {
        let flights = SingleFlight::new();
        let first = flights.join(&product(), || answer("first"));
        assert!(timeout(Duration::from_millis(10), first).await.is_err());
        assert!(lock(&flights.0).under_way.is_empty());
        assert_eq!(flights.join(&product(), || answer("second")).await, "second");
    }
}
