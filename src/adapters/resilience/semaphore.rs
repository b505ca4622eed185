//! At most so many calls at a time to one partner, so that a slow one cannot take every task and
//! connection with it. The queue is bounded and so is the wait; who finds no place is shed at once.

use super::breaker::Breaker;
use super::clock::Clock;
use super::observer::{BulkheadRejection, Observer, tell};
use super::settings::{BulkheadConfig, Fault};
use crate::core::ports::deadline::Deadline;
use crate::core::ports::unavailable::{Cause, NoAnswer, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout};

#[derive(Debug)]
pub struct Semaphore {
    system: System,
    limit: usize,
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
        let limit = usize::try_from(config.max_concurrent).unwrap_or(usize::MAX);
        Ok(Self {
            system,
            limit,
            max_queue: usize::try_from(config.max_queue).unwrap_or(usize::MAX),
            max_wait: config.max_wait,
            places: tokio::sync::Semaphore::new(limit),
            waiting: AtomicUsize::new(0),
            rejected: AtomicU64::new(0),
            begun: (0..limit).map(|_| AtomicU64::new(0)).collect(),
            clock,
            observer,
            breaker: None,
        })
    }

    /// Tells `breaker` when calls are shed because those in flight hang.
    #[must_use]
    pub fn watched_by(mut self, breaker: Arc<Breaker>) -> Self {
        self.breaker = Some(breaker);
        self
    }

    /// Waits for a place, at most `max_wait` and no longer than the caller does.
    ///
    /// # Errors
    ///
    /// [`Cause::BulkheadFull`] at once when the queue is full, [`Cause::BulkheadWait`] after the
    /// wait, [`Cause::DeadlineTooShort`] when the caller's deadline came first; all *not executed*.
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
            Ok(Err(_)) | Err(_) => Err(Cause::DeadlineTooShort.into()),
        }
    }

    fn admit<'a>(&'a self, place: SemaphorePermit<'a>, waited: Duration) -> Permit<'a> {
        tracing::Span::current()
            .record("bulkhead.wait_ms", u64::try_from(waited.as_millis()).unwrap_or(u64::MAX));
        tell(&*self.observer, |observer| observer.bulkhead_waited(self.system, waited));
        let stamp = self.now_millis() + 1;
        let free = |slot: &AtomicU64| {
            slot.compare_exchange(0, stamp, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        // There are as many slots as places, so one is free for the holder of a place.
        let start = fastrand::usize(0..self.limit);
        let slot = (start..self.limit).chain(0..start).find(|slot| free(&self.begun[*slot]));
        Permit { semaphore: self, slot, _place: place }
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
        if let Some(breaker) = &self.breaker {
            breaker.hanging(self.older_than(breaker.slow_call_threshold()), self.limit);
        }
        match reason {
            BulkheadRejection::Full => Cause::BulkheadFull.into(),
            BulkheadRejection::WaitTimeout => Cause::BulkheadWait.into(),
        }
    }

    /// How many calls in flight began at least so long ago.
    #[must_use]
    pub fn older_than(&self, age: Duration) -> usize {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let now = self.now_millis() + 1;
        let is_old = |stamp: u64| stamp != 0 && now.saturating_sub(stamp) >= age;
        self.begun.iter().filter(|slot| is_old(slot.load(Ordering::Acquire))).count()
    }

    fn now_millis(&self) -> u64 {
        self.clock.now_nanos() / 1_000_000
    }

    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.limit.saturating_sub(self.places.available_permits())
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
}

/// A place among the calls in flight, free again when dropped.
#[derive(Debug)]
#[must_use = "dropped at once, it guards nothing"]
pub struct Permit<'a> {
    semaphore: &'a Semaphore,
    slot: Option<usize>,
    // After the slot is freed by `drop`, so that slots never run short.
    _place: SemaphorePermit<'a>,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.semaphore.begun[slot].store(0, Ordering::Release);
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
