//! At most so many calls at a time to one partner, so that a slow one cannot take every task and
//! connection with it. The queue is bounded and so is the wait; who finds no place is shed at once.
//!
//! It runs in the caller's task and knows how long each call in flight has been under way, which is
//! how a breaker can open while calls still hang.

use super::adaptive::{Adaptation, Gradient};
use super::breaker::Breaker;
use super::clock::Clock;
use super::observer::{BulkheadRejection, Observer, tell};
use super::settings::{BulkheadConfig, Fault};
use crate::core::domain::unavailable::{NoAnswer, Shed, System};
use crate::core::ports::deadline::Deadline;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout};

#[derive(Debug)]
pub struct Semaphore {
    system: System,
    most: usize,
    max_queue: usize,
    max_wait: Duration,
    places: tokio::sync::Semaphore,
    waiting: AtomicUsize,
    rejected: AtomicU64,
    /// When the call in each place began, in milliseconds plus one; zero for a free place.
    begun: Box<[AtomicU64]>,
    clock: Clock,
    observer: Arc<dyn Observer>,
    breaker: Option<Arc<Breaker>>,
    adaptive: Option<Adaptive>,
}

/// The limit that finds itself, and the places it keeps back.
#[derive(Debug)]
struct Adaptive {
    adaptation: Adaptation,
    gradient: Mutex<Gradient>,
    withheld: AtomicUsize,
}

impl Semaphore {
    /// # Errors
    ///
    /// Every fault of the configuration.
    pub fn new(
        system: System,
        config: &BulkheadConfig,
        clock: Clock,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Vec<Fault>> {
        let faults = config.validate();
        if !faults.is_empty() {
            return Err(faults);
        }
        let most = usize::try_from(config.max_concurrent).unwrap_or(usize::MAX);
        Ok(Self {
            system,
            most,
            max_queue: usize::try_from(config.max_queue).unwrap_or(usize::MAX),
            max_wait: config.max_wait,
            places: tokio::sync::Semaphore::new(most),
            waiting: AtomicUsize::new(0),
            rejected: AtomicU64::new(0),
            begun: (0..most).map(|_| AtomicU64::new(0)).collect(),
            clock,
            observer,
            breaker: None,
            adaptive: None,
        })
    }

    /// Tells `breaker` when calls are shed because those in flight hang.
    #[must_use]
    pub fn watched_by(mut self, breaker: Arc<Breaker>) -> Self {
        self.breaker = Some(breaker);
        self
    }

    /// Looks for the limit that the partner bears, within the configured one.
    #[must_use]
    pub fn adapting(mut self, adaptation: Adaptation) -> Self {
        let gradient = Mutex::new(Gradient::new(self.most));
        self.adaptive = Some(Adaptive { adaptation, gradient, withheld: AtomicUsize::new(0) });
        self
    }

    /// Waits for a place, at most `max_wait` and no longer than the caller does.
    ///
    /// # Errors
    ///
    /// [`Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull))`] at once when the queue is full, [`Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadWait))`] after the
    /// wait, [`Cause::NotExecuted(NotExecuted::Shed(Shed::DeadlineTooShort))`] when the caller's deadline came first; all *not executed*.
    pub async fn acquire(&self, deadline: Deadline) -> Result<Permit<'_>, NoAnswer> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(self.admit(place, Duration::ZERO));
        }
        let _waiter = self.join_queue()?;
        let (begun, remaining) = (Instant::now(), deadline.remaining());
        match timeout(self.max_wait.min(remaining), self.places.acquire()).await {
            Ok(Ok(place)) => Ok(self.admit(place, begun.elapsed())),
            // The semaphore is never closed, so the only other end is that of the wait.
            Ok(Err(_)) | Err(_) if remaining >= self.max_wait => {
                Err(self.reject(BulkheadRejection::WaitTimeout))
            }
            Ok(Err(_)) | Err(_) => Err(Shed::DeadlineTooShort.into()),
        }
    }

    fn admit<'a>(&'a self, place: SemaphorePermit<'a>, waited: Duration) -> Permit<'a> {
        let millis = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        tracing::Span::current().record("bulkhead.wait_ms", millis);
        tell(&*self.observer, |observer| observer.bulkhead_waited(self.system, waited));
        let stamp = self.clock.now_millis() + 1;
        let free = |slot: &AtomicU64| {
            slot.compare_exchange(0, stamp, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        // There are as many slots as places, so one is free for the holder of a place.
        let start = fastrand::usize(0..self.most);
        let slot = (start..self.most).chain(0..start).find(|slot| free(&self.begun[*slot]));
        let begun = self.adaptive.as_ref().map(|_| Instant::now());
        Permit { semaphore: self, slot, begun, place: Some(place) }
    }

    fn join_queue(&self) -> Result<Waiter<'_>, NoAnswer> {
        let joins = |waiting| (waiting < self.max_queue).then_some(waiting + 1);
        match self.waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, joins) {
            Ok(_) => Ok(Waiter(&self.waiting)),
            Err(_) => Err(self.reject(BulkheadRejection::Full)),
        }
    }

    fn reject(&self, reason: BulkheadRejection) -> NoAnswer {
        self.rejected.fetch_add(1, Ordering::Relaxed);
        tell(&*self.observer, |observer| observer.bulkhead_rejected(self.system, reason));
        tracing::debug!(system = %self.system, reason = reason.as_str(), "bulkhead.rejected");
        if let Some(breaker) = &self.breaker {
            breaker.hanging(self.older_than(breaker.slow_call_threshold()), self.in_flight());
        }
        match reason {
            BulkheadRejection::Full => Shed::BulkheadFull.into(),
            BulkheadRejection::WaitTimeout => Shed::BulkheadWait.into(),
        }
    }

    /// How many calls in flight began at least so long ago.
    #[must_use]
    pub fn older_than(&self, age: Duration) -> usize {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let now = self.clock.now_millis() + 1;
        let is_old = |stamp: u64| stamp != 0 && now.saturating_sub(stamp) >= age;
        self.begun.iter().filter(|slot| is_old(slot.load(Ordering::Acquire))).count()
    }

    /// The limit in force: the configured one, or a lower one that was found and is enforced.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.most - self.withheld()
    }

    /// The limit that was found, enforced or not; `None` if none is looked for.
    #[must_use]
    pub fn found_limit(&self) -> Option<usize> {
        self.adaptive.as_ref().map(|adaptive| adaptive.gradient().limit())
    }

    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.limit().saturating_sub(self.places.available_permits())
    }

    /// Places that a call could take now.
    #[must_use]
    pub fn free(&self) -> usize {
        self.places.available_permits()
    }

    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    /// Calls shed so far.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    fn withheld(&self) -> usize {
        let withheld = |adaptive: &Adaptive| adaptive.withheld.load(Ordering::Acquire);
        self.adaptive.as_ref().map_or(0, withheld)
    }

    /// Learns from a call that ends, and keeps its place back, or gives places back, as the limit
    /// found wants it.
    fn adapt(&self, adaptive: &Adaptive, took: Duration, place: SemaphorePermit<'_>) {
        let mut gradient = adaptive.gradient();
        gradient.learn(took, self.in_flight());
        if adaptive.adaptation == Adaptation::Observe {
            return;
        }
        // Changed under the lock of the gradient only.
        let withheld = adaptive.withheld.load(Ordering::Acquire);
        let wanted = self.most - gradient.limit();
        if withheld < wanted {
            place.forget();
            adaptive.withheld.store(withheld + 1, Ordering::Release);
        } else {
            adaptive.withheld.store(wanted, Ordering::Release);
            self.places.add_permits(withheld - wanted);
        }
    }
}

impl Adaptive {
    fn gradient(&self) -> std::sync::MutexGuard<'_, Gradient> {
        self.gradient.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the calls in flight, free again when dropped.
#[derive(Debug)]
#[must_use = "dropped at once, it guards nothing"]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    slot: Option<usize>,
    /// Only if somebody learns from it.
    begun: Option<Instant>,
    place: Option<SemaphorePermit<'a>>,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        // The slot first and the place after it, so that slots never run short.
        if let Some(slot) = self.slot {
            self.semaphore.begun[slot].store(0, Ordering::Release);
        }
        if let (Some(adaptive), Some(begun), Some(place)) =
            (&self.semaphore.adaptive, self.begun, self.place.take())
        {
            self.semaphore.adapt(adaptive, begun.elapsed(), place);
        }
    }
}

/// A place in the queue; a wait that is cancelled leaves it too.
struct Waiter<'a>(&'a AtomicUsize);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
