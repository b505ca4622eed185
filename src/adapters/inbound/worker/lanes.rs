//! Who may run at the same time: a hanging partner must not keep all workers from the others' tasks.

use crate::core::domain::provider::Provider;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Debug)]
pub struct Lanes {
    /// Runs at a time, over all lanes.
    workers: usize,
    /// Tasks bound to a provider, one lane each, and last those that any provider can serve.
    lanes: Vec<(Option<Provider>, AtomicUsize)>,
    /// By lane: since when no provider would let a call through, or since the last look all the same.
    closed: Mutex<Vec<Option<Instant>>>,
    turn: AtomicUsize,
    freed: Notify,
}

impl Lanes {
    pub fn new(workers: usize, providers: Vec<Provider>) -> Self {
        let bound = providers.into_iter().map(Some);
        let lanes: Vec<_> = bound.chain([None]).map(|lane| (lane, AtomicUsize::new(0))).collect();
        let closed = Mutex::new(vec![None; lanes.len()]);
        Self { workers, lanes, closed, turn: AtomicUsize::new(0), freed: Notify::new() }
    }

    /// All lanes, each round beginning with another one.
    pub fn in_turn(&self) -> impl Iterator<Item = Option<Provider>> + '_ {
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        (0..self.lanes.len()).map(move |place| self.lanes[(first + place) % self.lanes.len()].0)
    }

    /// How many more runs the lane may hold: at most half of the workers, rounded up.
    pub fn room(&self, lane: Option<Provider>) -> usize {
        let all: usize = self.lanes.iter().map(|(_, runs)| runs.load(Ordering::Acquire)).sum();
        let own = self.runs(lane).map_or(0, |runs| runs.load(Ordering::Acquire));
        let share = self.workers.div_ceil(2);
        self.workers.saturating_sub(all).min(share.saturating_sub(own))
    }

    /// Whether tasks that nobody could serve for so long are looked at all the same: a breaker that a person
    /// holds open for hours must not keep alive what has to end.
    pub fn is_overdue(&self, lane: Option<Provider>, open: bool, patience: Duration) -> bool {
        let Some(place) = self.lanes.iter().position(|(own, _)| *own == lane) else { return false };
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if open {
            closed[place] = None;
            return false;
        }
        let since = *closed[place].get_or_insert_with(Instant::now);
        let overdue = since.elapsed() >= patience;
        if overdue {
            closed[place] = Some(Instant::now());
        }
        overdue
    }

    pub fn any_room(&self) -> bool {
        self.lanes.iter().any(|(lane, _)| self.room(*lane) > 0)
    }

    pub fn occupy(self: &Arc<Self>, lane: Option<Provider>) -> LaneSlot {
        if let Some(runs) = self.runs(lane) {
            runs.fetch_add(1, Ordering::AcqRel);
        }
        LaneSlot { lanes: Arc::clone(self), lane }
    }

    /// A run has ended since the last wait.
    pub async fn freed(&self) {
        self.freed.notified().await;
    }

    fn runs(&self, lane: Option<Provider>) -> Option<&AtomicUsize> {
        self.lanes.iter().find(|(own, _)| *own == lane).map(|(_, runs)| runs)
    }
}

/// One run's slot in its lane; free again when dropped, whatever became of the run.
#[derive(Debug)]
pub struct LaneSlot {
    lanes: Arc<Lanes>,
    lane: Option<Provider>,
}

impl Drop for LaneSlot {
    fn drop(&mut self) {
        if let Some(runs) = self.lanes.runs(self.lane) {
            runs.fetch_sub(1, Ordering::AcqRel);
        }
        self.lanes.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_lane_takes_more_than_half_and_all_together_no_more_than_there_are() {
        let lanes = Arc::new(Lanes::new(4, vec![Provider::Sber, Provider::OdnaKassa]));
        let sber: Vec<_> = (0..2).map(|_| lanes.occupy(Some(Provider::Sber))).collect();
        assert_eq!(lanes.room(Some(Provider::Sber)), 0);
        assert_eq!(lanes.room(None), 2);
        let _kassa: Vec<_> = (0..2).map(|_| lanes.occupy(Some(Provider::OdnaKassa))).collect();
        assert!(!lanes.any_room());
        drop(sber);
        assert_eq!(lanes.room(None), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lane_that_is_closed_for_long_is_looked_at_once_in_a_while() {
        let (lanes, minute) = (Lanes::new(4, vec![Provider::Sber]), Duration::from_secs(60));
        let sber = Some(Provider::Sber);
        assert!(!lanes.is_overdue(sber, false, minute));
        tokio::time::advance(minute).await;
        assert!(lanes.is_overdue(sber, false, minute));
        assert!(!lanes.is_overdue(sber, false, minute), "not again at once");
        assert!(!lanes.is_overdue(None, false, minute), "each lane by itself");
        tokio::time::advance(minute).await;
        assert!(!lanes.is_overdue(sber, true, minute), "it has capacity now");
        assert!(!lanes.is_overdue(sber, false, minute));
    }

    #[test]
    fn each_lane_is_first_in_its_turn() {
        let lanes = Lanes::new(1, vec![Provider::Sber]);
        let firsts: Vec<_> = (0..2).filter_map(|_| lanes.in_turn().next()).collect();
        assert_eq!(firsts, [Some(Provider::Sber), None]);
    }
}
