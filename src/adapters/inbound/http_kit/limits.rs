//! How much is let in at a time, and whether anything is let in at all.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// A fixed number of places, without a queue: who finds none is sent away at once.
#[derive(Debug)]
pub struct Gate {
    places: usize,
    taken: AtomicUsize,
}

/// One place; free again when dropped.
#[derive(Debug)]
pub struct Place<'a>(&'a Gate);

impl Gate {
    pub const fn new(places: usize) -> Self {
        Self { places, taken: AtomicUsize::new(0) }
    }

    pub fn enter(&self) -> Option<Place<'_>> {
        // The place exists from here on, so that a refusal gives it back like everyone else.
        let place = Place(self);
        (self.taken.fetch_add(1, Ordering::Relaxed) < self.places).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How far the end has come. It only goes forward.
#[derive(Debug, Default)]
pub struct Lifecycle {
    stage: AtomicU8,
    stopping: CancellationToken,
    visits: TaskTracker,
}

impl Lifecycle {
    const STOPPING: u8 = 1;
    const DRAINING: u8 = 2;

    /// Readiness turns 503, so that load balancers notice; requests are still served, and long polls
    /// are answered as things stand.
    pub fn stop(&self) {
        self.stage.fetch_max(Self::STOPPING, Ordering::Relaxed);
        self.stopping.cancel();
    }

    /// `SHUTDOWN_GRACE` is over: new work is refused.
    pub fn drain(&self) {
        self.stop();
        self.stage.fetch_max(Self::DRAINING, Ordering::Relaxed);
    }

    pub fn is_stopping(&self) -> bool {
        self.stage.load(Ordering::Relaxed) >= Self::STOPPING
    }

    pub fn is_draining(&self) -> bool {
        self.stage.load(Ordering::Relaxed) >= Self::DRAINING
    }

    /// Resolves when the end begins.
    pub async fn stopped(&self) {
        self.stopping.cancelled().await;
    }

    /// A request that is being served, until dropped.
    pub fn visit(&self) -> TaskTrackerToken {
        self.visits.token()
    }

    /// Resolves once no request is being served.
    pub async fn drained(&self) {
        self.visits.close();
        self.visits.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn a_full_gate_turns_away_and_a_left_place_is_free_again() {
        let gate = Gate::new(1);
        let place = gate.enter().unwrap();
        assert!(gate.enter().is_none());
        assert!(gate.enter().is_none());
        drop(place);
        assert!(gate.enter().is_some());
    }

    #[test]
    fn the_end_does_not_go_backward() {
        let lifecycle = Lifecycle::default();
        lifecycle.drain();
        lifecycle.stop();
        assert!(lifecycle.is_stopping() && lifecycle.is_draining());
    }

    #[tokio::test]
    async fn the_end_waits_for_the_last_request() {
        let lifecycle = Lifecycle::default();
        let visit = lifecycle.visit();
        lifecycle.drain();
        assert!(lifecycle.drained().now_or_never().is_none());
        drop(visit);
        lifecycle.drained().await;
    }
}
