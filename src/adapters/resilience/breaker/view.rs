//! Looking at a breaker: pure functions of its words and the time. Reading never changes it.

use super::atomic::Atomic;
use super::machine::{Machine, is_stuck, open_for, room};
use super::rules::{PARTS, Rules};
use super::state::{BreakerState, Tally};
use super::time_source::TimeSource;
use super::word::{Phase, StateWord};
use std::time::Duration;

/// What a machine looks like at one moment: a pure function of its words and the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineView {
    /// As it is, even where the next call would change it.
    pub state: BreakerState,
    /// Of the state.
    pub generation: u64,
    /// The window; empty unless it is closed.
    pub tally: Tally,
    /// What is left of the open time; zero when the next call will probe.
    pub open_for: Option<Duration>,
    /// Probes that may start now; only while half-open.
    pub free_probes: Option<u64>,
    /// Probes under way; none unless it is half-open.
    pub probes_in_flight: u64,
    /// How much of the work that waits may come back, in millionths.
    pub returned: u64,
}

impl<A: Atomic> Machine<A> {
    /// Looks without touching.
    pub fn view(&self, rules: &Rules, time: &impl TimeSource) -> MachineView {
        let word = StateWord::unpack(self.word.read());
        let now = time.now_millis();
        let mut view = MachineView {
            state: word.phase.state(),
            generation: word.generation,
            tally: Tally::default(),
            open_for: None,
            free_probes: None,
            probes_in_flight: 0,
            returned: PARTS,
        };
        match word.phase {
            Phase::Closed { since } => {
                view.tally = self.window.tally(rules, word.generation, time);
                view.returned = rules.returned(since, now);
            }
            Phase::Open { until } => {
                view.open_for = Some(Duration::from_millis(open_for(until, rules, now)));
            }
            Phase::HalfOpen(probing) => {
                view.probes_in_flight = probing.in_flight;
                let stuck = u64::from(is_stuck(probing, rules, time));
                view.free_probes = Some(room(probing, rules).max(stuck));
            }
        }
        view
    }
}
