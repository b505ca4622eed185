//! How many requests are served at a time, and who is sent away first when that is not enough.
//!
//! All share one number of permits. The lower a priority, the more of them it must leave free for those
//! above it: a flood of lists fills three quarters, and money still finds its permit. The number is the
//! configured one, or a lower one that is found by how long our own work takes.

use crate::adapters::observe::traffic::Priority;
use crate::adapters::resilience::adaptive::Gradient;
use crate::adapters::resilience::settings::Concurrency;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The least that a limit found by itself falls to: with less, no priority would have room of its own.
const LEAST: usize = 8;

/// Durations are learned from by their mean over so long: a service answers thousands in a second, and what
/// is usual must not become what is slow within a breath.
const WINDOW: Duration = Duration::from_millis(100);

/// Permits without a queue: who finds none is refused at once.
#[derive(Debug)]
pub struct ConcurrencyLimit {
    permits: AtomicUsize,
    taken: AtomicUsize,
    finder: Option<LimitFinder>,
}

/// The right to be served; given back when dropped.
#[derive(Debug)]
pub struct RequestPermit<'a>(&'a ConcurrencyLimit);

/// Looks for the limit that keeps our own work as fast as it usually is.
#[derive(Debug)]
struct LimitFinder {
    /// Whether what is found is obeyed.
    obeyed: bool,
    most: usize,
    window: Mutex<Window>,
}

#[derive(Debug)]
struct Window {
    gradient: Gradient,
    since: Instant,
    requests: u32,
    took: Duration,
    /// The most that were in flight at an end.
    in_flight: usize,
}

impl ConcurrencyLimit {
    /// The limit is this number.
    pub const fn new(permits: usize) -> Self {
        Self { permits: AtomicUsize::new(permits), taken: AtomicUsize::new(0), finder: None }
    }

    /// The limit finds itself, at most this number.
    pub fn finding_itself(most: usize, concurrency: Concurrency) -> Self {
        let finder = match concurrency {
            Concurrency::Fixed => None,
            Concurrency::Observe => Some(LimitFinder::new(most, false)),
            Concurrency::Adaptive => Some(LimitFinder::new(most, true)),
        };
        Self { finder, ..Self::new(most) }
    }

    /// Whether a request of this priority that came now would find no permit.
    pub fn is_full(&self, priority: Priority) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.share(priority)
    }

    pub fn try_acquire(&self, priority: Priority) -> Option<RequestPermit<'_>> {
        // The permit exists from here on, so that a refusal gives it back like everyone else.
        let permit = RequestPermit(self);
        (self.taken.fetch_add(1, Ordering::Relaxed) < self.share(priority)).then_some(permit)
    }

    /// Of the permits, as many as a priority may fill together with those above it.
    fn share(&self, priority: Priority) -> usize {
        let permits = self.permits.load(Ordering::Relaxed);
        match priority {
            Priority::Money => permits,
            Priority::Normal => permits - permits / 8,
            Priority::Low => permits - permits / 4,
        }
    }

    /// Learns from a request that asked nobody but us. A limit that was found anew is returned, to be shown.
    pub fn served(&self, took: Duration) -> Option<usize> {
        let finder = self.finder.as_ref()?;
        let found = finder.record(took, self.taken.load(Ordering::Relaxed))?;
        if finder.obeyed {
            self.permits.store(found, Ordering::Relaxed);
        }
        Some(found)
    }
}

impl LimitFinder {
    fn new(most: usize, obeyed: bool) -> Self {
        let gradient = Gradient::new(most);
        let (since, requests, took) = (Instant::now(), 0, Duration::ZERO);
        let window = Mutex::new(Window { gradient, since, requests, took, in_flight: 0 });
        Self { obeyed, most, window }
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, took: Duration, in_flight: usize) -> Option<usize> {
        let mut window = self.window();
        window.requests += 1;
        window.took += took;
        window.in_flight = window.in_flight.max(in_flight);
        if window.since.elapsed() < WINDOW {
            return None;
        }
        let (mean, in_flight) = (window.took / window.requests, window.in_flight);
        window.gradient.answered(mean, in_flight);
        window.since = Instant::now();
        (window.requests, window.took, window.in_flight) = (0, Duration::ZERO, 0);
        Some(window.gradient.limit().max(LEAST.min(self.most)))
    }
}

impl Drop for RequestPermit<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reached_limit_refuses_and_a_permit_given_back_is_free_again() {
        let limit = ConcurrencyLimit::new(1);
        let permit = limit.try_acquire(Priority::Low).unwrap();
        assert!(limit.try_acquire(Priority::Money).is_none());
        assert!(limit.try_acquire(Priority::Money).is_none());
        assert!(limit.is_full(Priority::Money));
        drop(permit);
        assert!(!limit.is_full(Priority::Low));
        assert!(limit.try_acquire(Priority::Low).is_some());
    }

    #[test]
    fn a_flood_of_the_lower_leaves_room_for_the_higher() {
        let limit = ConcurrencyLimit::new(16);
        let fill =
            |priority| std::iter::from_fn(|| limit.try_acquire(priority)).collect::<Vec<_>>();
        let (low, normal) = (fill(Priority::Low), fill(Priority::Normal));
        let money = fill(Priority::Money);
        assert_eq!((low.len(), normal.len(), money.len()), (12, 2, 2));
        assert!(Priority::ALL.into_iter().all(|priority| limit.is_full(priority)));
    }

    /// Windows of requests that find half of the limit taken.
    async fn windows(limit: &ConcurrencyLimit, count: usize, took: Duration) -> usize {
        let permits = limit.permits.load(Ordering::Relaxed);
        let taken: Vec<_> =
            (0..permits * 3 / 4).map(|_| limit.try_acquire(Priority::Money)).collect();
        for _ in 0..count {
            tokio::time::advance(WINDOW).await;
            let _shown = limit.served(took);
        }
        drop(taken);
        limit.permits.load(Ordering::Relaxed)
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_gives_way_when_our_own_work_gets_slow_and_comes_back() {
        let usual = Duration::from_millis(2);
        let limit = ConcurrencyLimit::finding_itself(1_024, Concurrency::Adaptive);
        assert_eq!(windows(&limit, 50, usual).await, 1_024);
        let slow = windows(&limit, 30, usual * 10).await;
        assert!((LEAST..512).contains(&slow), "{slow}");
        for _ in 0..40 {
            windows(&limit, 10, usual).await;
        }
        assert_eq!(limit.permits.load(Ordering::Relaxed), 1_024);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_that_is_only_observed_sheds_nobody() {
        let usual = Duration::from_millis(2);
        let limit = ConcurrencyLimit::finding_itself(1_024, Concurrency::Observe);
        windows(&limit, 50, usual).await;
        assert_eq!(windows(&limit, 30, usual * 10).await, 1_024);
        tokio::time::advance(WINDOW).await;
        assert!(limit.served(usual).is_some_and(|found| found < 1_024));
    }
}
