//! How much is let in at a time, and whether anything is let in at all.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

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
pub struct Lifecycle(AtomicU8);

impl Lifecycle {
    const STOPPING: u8 = 1;
    const DRAINING: u8 = 2;

    /// Readiness turns 503, so that load balancers notice; requests are still served.
    pub fn stop(&self) {
        self.0.fetch_max(Self::STOPPING, Ordering::Relaxed);
    }

    /// `SHUTDOWN_GRACE` is over: new work is refused.
    pub fn drain(&self) {
        self.0.fetch_max(Self::DRAINING, Ordering::Relaxed);
    }

    pub fn is_stopping(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= Self::STOPPING
    }

    pub fn is_draining(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= Self::DRAINING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
