//! At most so many calls at a time to one partner, so that a slow one cannot take every task and
//! connection with it. The queue is bounded and so is the wait; who finds no permit is shed at once.
//!
//! It runs in the caller's task and knows how long each call in flight has been under way, which is
//! how a breaker can open while calls still hang.

use super::adaptive::Gradient;
use super::breaker::Breaker;
use super::clock::MonotonicClock;
use super::observer::{BulkheadRejection, Observer, tell};
use super::settings::{BulkheadConfig, Concurrency, InvalidSetting};
use super::verdict::Failed;
use crate::core::domain::unavailable::{NoAnswer, Shed, System};
use crate::core::ports::deadline::Deadline;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::SemaphorePermit;
use tokio::time::{Instant, timeout};

/// The bulkhead of one partner. Share it by reference or `Arc`; all methods take `&self`.
#[derive(Debug)]
pub struct Semaphore {
    system: System,
    most: usize,
    max_queue: usize,
    max_wait: Duration,
    permits: tokio::sync::Semaphore,
    waiting: AtomicUsize,
    rejected: AtomicU64,
    /// When each call in flight began, in milliseconds plus one; zero for a free slot.
    begun: Box<[AtomicU64]>,
    clock: MonotonicClock,
    observer: Arc<dyn Observer>,
    breaker: Option<Arc<Breaker>>,
    adaptive: Option<Adaptive>,
}

/// The limit that finds itself, and the permits it keeps back.
#[derive(Debug)]
struct Adaptive {
    enforced: bool,
    gradient: Mutex<Gradient>,
    withheld: AtomicUsize,
}

/// What a bulkhead looks like at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkheadSnapshot {
    /// Calls that may run at the same time.
    pub limit: usize,
    /// What the partner seems to bear, obeyed or not; the limit where nobody looks for it.
    pub found_limit: usize,
    /// Calls that run.
    pub in_flight: usize,
    /// Callers that wait for a permit.
    pub waiting: usize,
    /// Calls shed so far.
    pub rejected: u64,
}

impl Semaphore {
    /// A semaphore with all its permits.
    ///
    /// # Errors
    ///
    /// Every setting that cannot be.
    pub fn new(
        system: System,
        config: &BulkheadConfig,
        clock: MonotonicClock,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Vec<InvalidSetting>> {
        let invalid = config.validate();
        if !invalid.is_empty() {
            return Err(invalid);
        }
        let most = usize::try_from(config.max_concurrent).unwrap_or(usize::MAX);
        Ok(Self {
            system,
            most,
            max_queue: usize::try_from(config.max_queue).unwrap_or(usize::MAX),
            max_wait: config.max_wait,
            permits: tokio::sync::Semaphore::new(most),
            waiting: AtomicUsize::new(0),
            rejected: AtomicU64::new(0),
            begun: (0..most).map(|_| AtomicU64::new(0)).collect(),
            clock,
            observer,
            breaker: None,
            adaptive: Adaptive::new(config.concurrency, most),
        })
    }

    /// Tells `breaker` when calls are shed because those in flight hang.
    #[must_use]
    pub fn reporting_to(mut self, breaker: Arc<Breaker>) -> Self {
        self.breaker = Some(breaker);
        self
    }

    /// Waits for a permit, at most `max_wait` and no longer than the caller does.
    ///
    /// # Errors
    ///
    /// [`Shed::BulkheadFull`] at once when the queue is full, [`Shed::BulkheadWait`] after the wait,
    /// [`Shed::DeadlineTooShort`] when the caller's deadline came first; all *not executed*.
    pub async fn acquire(&self, deadline: Deadline) -> Result<BulkheadPermit<'_>, NoAnswer> {
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(self.admit(permit, Duration::ZERO));
        }
        let _waiter = self.join_queue()?;
        let (begun, remaining) = (Instant::now(), deadline.remaining());
        match timeout(self.max_wait.min(remaining), self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(self.admit(permit, begun.elapsed())),
            // The semaphore is never closed, so the only other end is that of the wait.
            Ok(Err(_)) | Err(_) if remaining >= self.max_wait => {
                Err(self.reject(BulkheadRejection::WaitTimeout))
            }
            Ok(Err(_)) | Err(_) => Err(Shed::DeadlineTooShort.into()),
        }
    }

    fn admit<'a>(&'a self, permit: SemaphorePermit<'a>, waited: Duration) -> BulkheadPermit<'a> {
        let millis = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        tracing::Span::current().record("bulkhead.wait_ms", millis);
        tell(&*self.observer, |observer| observer.bulkhead_waited(self.system, waited));
        let stamp = self.clock.now_millis() + 1;
        let free = |slot: &AtomicU64| {
            slot.compare_exchange(0, stamp, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        // There are as many slots as permits, so one is free for the holder of a permit.
        let start = fastrand::usize(0..self.most);
        let slot = (start..self.most).chain(0..start).find(|slot| free(&self.begun[*slot]));
        BulkheadPermit { semaphore: self, slot, permit: Some(permit) }
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

    /// How it stands at this moment.
    #[must_use]
    pub fn snapshot(&self) -> BulkheadSnapshot {
        let limit = self.limit();
        let found = |adaptive: &Adaptive| adaptive.gradient().limit();
        BulkheadSnapshot {
            limit,
            found_limit: self.adaptive.as_ref().map_or(limit, found),
            in_flight: self.in_flight(),
            waiting: self.waiting.load(Ordering::Acquire),
            rejected: self.rejected.load(Ordering::Relaxed),
        }
    }

    /// Permits that a call could take now.
    #[must_use]
    pub fn free(&self) -> usize {
        self.permits.available_permits()
    }

    /// The limit in force: the configured one, or a lower one that was found and is obeyed.
    #[must_use]
    pub fn limit(&self) -> usize {
        let withheld = |adaptive: &Adaptive| adaptive.withheld.load(Ordering::Acquire);
        self.most - self.adaptive.as_ref().map_or(0, withheld)
    }

    fn in_flight(&self) -> usize {
        self.limit().saturating_sub(self.free())
    }
}

impl Adaptive {
    fn new(concurrency: Concurrency, most: usize) -> Option<Self> {
        let enforced = match concurrency {
            Concurrency::Fixed => return None,
            Concurrency::Observe => false,
            Concurrency::Adaptive => true,
        };
        let gradient = Mutex::new(Gradient::new(most));
        Some(Self { enforced, gradient, withheld: AtomicUsize::new(0) })
    }

    fn gradient(&self) -> std::sync::MutexGuard<'_, Gradient> {
        self.gradient.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to be one of the calls in flight, given back when dropped.
#[derive(Debug)]
#[must_use = "dropped at once, it guards nothing"]
pub struct BulkheadPermit<'a> {
    semaphore: &'a Semaphore,
    slot: Option<usize>,
    permit: Option<SemaphorePermit<'a>>,
}

impl BulkheadPermit<'_> {
    /// Makes a call under this permit and gives it back. How long an answer takes is what an
    /// adaptive limit learns from; a call that is dropped teaches nothing.
    ///
    /// # Errors
    ///
    /// The call's own.
    pub async fn hold<T, E>(
        self,
        call: impl Future<Output = Result<T, Failed<E>>>,
    ) -> Result<T, Failed<E>> {
        let begun = Instant::now();
        let result = call.await;
        if let Some(adaptive) = &self.semaphore.adaptive {
            let (took, in_flight) = (begun.elapsed(), self.semaphore.in_flight());
            match result {
                Ok(_) | Err(Failed::Answered(_)) => adaptive.gradient().answered(took, in_flight),
                Err(Failed::NoAnswer(_)) => adaptive.gradient().unanswered(took, in_flight),
            }
        }
        result
    }
}

impl Drop for BulkheadPermit<'_> {
    fn drop(&mut self) {
        // The slot first and the permit after it, so that slots never run short.
        if let Some(slot) = self.slot {
            self.semaphore.begun[slot].store(0, Ordering::Release);
        }
        if let (Some(adaptive), Some(permit)) = (&self.semaphore.adaptive, self.permit.take())
            && adaptive.enforced
        {
            self.semaphore.approach_limit(adaptive, permit);
        }
    }
}

impl Semaphore {
    /// Keeps a permit back, or gives those kept back free, as the limit that was found wants it.
    fn approach_limit(&self, adaptive: &Adaptive, permit: SemaphorePermit<'_>) {
        // What is withheld changes under the gradient's lock only.
        let gradient = adaptive.gradient();
        let withheld = adaptive.withheld.load(Ordering::Acquire);
        let wanted = self.most - gradient.limit();
        if withheld < wanted {
            permit.forget();
            adaptive.withheld.store(withheld + 1, Ordering::Release);
        } else {
            adaptive.withheld.store(wanted, Ordering::Release);
            self.permits.add_permits(withheld - wanted);
        }
    }
}

/// One of those who wait; a wait that is cancelled ends it too.
struct Waiter<'a>(&'a AtomicUsize);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
