//! Who may run at the same time: a hanging partner must not keep all workers from the others' tasks, a
//! backlog must leave half of the partner to live requests, and no lane may starve the other one that its
//! partner serves.

use crate::core::domain::provider::Provider;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Debug)]
pub struct Lanes {
    /// `TASK_WORKERS`: as many runs at a time may each payment system have, however low its limit is.
    least: usize,
    /// Tasks bound to a provider, one lane each, and last those that any provider can serve.
    lanes: Vec<Lane>,
    turn: AtomicUsize,
    freed: Notify,
}

#[derive(Debug)]
struct Lane {
    provider: Option<Provider>,
    runs: AtomicUsize,
    /// The last claim was given all that it asked for.
    has_more: AtomicBool,
    /// Since when no provider would let a call through, or since the last look all the same.
    closed: Mutex<Option<Instant>>,
    /// It was closed, and what was held back meanwhile may not be due yet.
    held_back: AtomicBool,
}

/// What the provider that serves a lane would let through.
#[derive(Debug, Clone, Copy)]
pub struct Serving {
    pub provider: Provider,
    /// Calls that would be let through now.
    pub free: usize,
    /// Calls that may be under way at a time.
    pub limit: usize,
}

impl Lanes {
    pub fn new(least: usize, providers: Vec<Provider>) -> Self {
        let bound = providers.into_iter().map(Some);
        let lane = |provider| Lane {
            provider,
            runs: AtomicUsize::new(0),
            has_more: AtomicBool::new(false),
            closed: Mutex::new(None),
            // Whoever was here before may have left some.
            held_back: AtomicBool::new(true),
        };
        let lanes = bound.chain([None]).map(lane).collect();
        Self { least, lanes, turn: AtomicUsize::new(0), freed: Notify::new() }
    }

    pub fn all(&self) -> impl Iterator<Item = Option<Provider>> + '_ {
        self.lanes.iter().map(|lane| lane.provider)
    }

    /// All lanes, each round beginning with another one.
    pub fn rotated(&self) -> impl Iterator<Item = Option<Provider>> + '_ {
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        (0..self.lanes.len())
            .map(move |place| self.lanes[(first + place) % self.lanes.len()].provider)
    }

    /// How many more runs the lane may hold. Of its provider, its own tasks and those that anybody can serve
    /// hold half of the limit together, and each of the two leaves the other a place. Of what is free now
    /// they take half at a time: a run that has been claimed does not have its permit yet, and after an
    /// outage there are few.
    pub fn room(&self, lane: Option<Provider>, serving: Serving) -> usize {
        let Serving { provider, free, limit } = serving;
        let own = self.runs(lane);
        let all = self.runs(Some(provider)) + self.runs(None);
        let most = self.share(limit);
        let left = (most - 1).max(1).saturating_sub(own).min(most.saturating_sub(all));
        let free = if all == 0 {
            (free / 2).max(1).min(free)
        } else {
            (free / 2).min(free.saturating_sub(all))
        };
        left.min(free)
    }

    /// Whether so much room is worth a claim of its own.
    pub fn is_ample(&self, room: usize, serving: Serving) -> bool {
        room >= (self.share(serving.limit) / 2).max(1)
    }

    fn share(&self, limit: usize) -> usize {
        (limit / 2).max(self.least).max(1)
    }

    /// Whether tasks that nobody could serve for so long are looked at all the same: a breaker that a person
    /// holds open for hours must not keep alive what has to end.
    pub fn is_overdue(&self, lane: Option<Provider>, open: bool, patience: Duration) -> bool {
        let Some(lane) = self.lane(lane) else { return false };
        let mut closed = lane.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if open {
            *closed = None;
            return false;
        }
        lane.held_back.store(true, Ordering::Relaxed);
        let since = *closed.get_or_insert_with(Instant::now);
        let overdue = since.elapsed() >= patience;
        if overdue {
            *closed = Some(Instant::now());
        }
        overdue
    }

    /// Whether the lane may hold back tasks that nothing holds back any more.
    pub fn holds_back(&self, lane: Option<Provider>) -> bool {
        self.lane(lane).is_some_and(|lane| lane.held_back.load(Ordering::Relaxed))
    }

    /// All that was held back is due.
    pub fn holds_nothing_back(&self, lane: Option<Provider>) {
        if let Some(lane) = self.lane(lane) {
            lane.held_back.store(false, Ordering::Relaxed);
        }
    }

    /// Whether a claim would find something, as far as the last one told.
    pub fn has_more(&self, lane: Option<Provider>) -> bool {
        self.lane(lane).is_some_and(|lane| lane.has_more.load(Ordering::Relaxed))
    }

    pub fn found(&self, lane: Option<Provider>, more: bool) {
        if let Some(lane) = self.lane(lane) {
            lane.has_more.store(more, Ordering::Relaxed);
        }
    }

    pub fn occupy(self: &Arc<Self>, lane: Option<Provider>) -> LaneSlot {
        if let Some(lane) = self.lane(lane) {
            lane.runs.fetch_add(1, Ordering::AcqRel);
        }
        LaneSlot { lanes: Arc::clone(self), lane }
    }

    /// A run has ended since the last wait.
    pub async fn freed(&self) {
        self.freed.notified().await;
    }

    fn runs(&self, lane: Option<Provider>) -> usize {
        self.lane(lane).map_or(0, |lane| lane.runs.load(Ordering::Acquire))
    }

    fn lane(&self, provider: Option<Provider>) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.provider == provider)
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
        if let Some(lane) = self.lanes.lane(self.lane) {
            lane.runs.fetch_sub(1, Ordering::AcqRel);
        }
        self.lanes.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SBER: Option<Provider> = Some(Provider::Sber);

    fn lanes(least: usize) -> Arc<Lanes> {
        Arc::new(Lanes::new(least, vec![Provider::Sber, Provider::OdnaKassa]))
    }

    fn sber(limit: usize, free: usize) -> Serving {
        Serving { provider: Provider::Sber, free, limit }
    }

    fn occupy(lanes: &Arc<Lanes>, lane: Option<Provider>, runs: usize) -> Vec<LaneSlot> {
        (0..runs).map(|_| lanes.occupy(lane)).collect()
    }

    #[test]
    fn a_backlog_takes_half_of_the_limit_and_leaves_the_other_lane_a_place() {
        let lanes = lanes(4);
        assert_eq!(lanes.room(None, sber(20, 20)), 9);
        let _anybody = occupy(&lanes, None, 9);
        assert_eq!(lanes.room(None, sber(20, 11)), 0);
        assert_eq!(lanes.room(SBER, sber(20, 11)), 1);
        let kassa = Serving { provider: Provider::OdnaKassa, free: 30, limit: 30 };
        assert_eq!(lanes.room(Some(Provider::OdnaKassa), kassa), 6, "what any serves may be here");
    }

    #[test]
    fn a_limit_that_was_lowered_lowers_the_room_but_not_below_the_workers() {
        let lanes = lanes(4);
        assert_eq!(lanes.room(SBER, sber(12, 12)), 5);
        assert_eq!(lanes.room(SBER, sber(6, 6)), 3);
        let _running = occupy(&lanes, SBER, 3);
        assert_eq!(lanes.room(SBER, sber(6, 3)), 0, "live requests keep the rest");
    }

    #[test]
    fn after_an_outage_no_more_are_claimed_than_would_be_let_through() {
        let lanes = lanes(4);
        assert_eq!(lanes.room(None, sber(20, 0)), 0);
        assert_eq!(lanes.room(None, sber(20, 1)), 1);
        let _probe = occupy(&lanes, None, 1);
        assert_eq!(lanes.room(None, sber(20, 1)), 0, "the one that is claimed will take it");
        assert_eq!(lanes.room(None, sber(20, 4)), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lane_that_is_closed_for_long_is_looked_at_once_in_a_while() {
        let (lanes, minute) = (Lanes::new(4, vec![Provider::Sber]), Duration::from_secs(60));
        assert!(!lanes.is_overdue(SBER, false, minute));
        tokio::time::advance(minute).await;
        assert!(lanes.is_overdue(SBER, false, minute));
        assert!(!lanes.is_overdue(SBER, false, minute), "not again at once");
        assert!(!lanes.is_overdue(None, false, minute), "each lane by itself");
        tokio::time::advance(minute).await;
        assert!(!lanes.is_overdue(SBER, true, minute), "it has capacity now");
        assert!(!lanes.is_overdue(SBER, false, minute));
    }

    #[test]
    fn each_lane_is_first_in_its_turn() {
        let lanes = Lanes::new(1, vec![Provider::Sber]);
        let firsts: Vec<_> = (0..2).filter_map(|_| lanes.rotated().next()).collect();
        assert_eq!(firsts, [Some(Provider::Sber), None]);
    }
}
