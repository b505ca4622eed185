//! Looking at a breaker: pure functions of its words and the time. Reading never changes it.

use super::State;
use super::atomic::Atomic;
use super::machine::{Machine, World, is_stuck, open_for, room};
use super::ramp::returned;
use super::rules::{Rules, Tally};
use super::word::{Phase, Word};
use std::time::Duration;

/// The state as a pure function of the words and the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    pub state: State,
    pub generation: u64,
    pub tally: Tally,
    /// What is left of the open time; zero when the next call will probe.
    pub open_for: Option<Duration>,
    /// Probes that may start now; only while half-open.
    pub free_probes: Option<u64>,
    pub probes_in_flight: u64,
    /// Progress of the gradual return in millionths; a million when it is over.
    pub returned: u64,
}

impl<A: Atomic> Machine<A> {
    /// Looks without touching.
    pub fn view(&self, rules: &Rules, world: &impl World) -> View {
        let word = Word::unpack(self.word.read());
        let now = world.now_millis();
        let mut view = View {
            state: word.phase.state(),
            generation: word.generation,
            tally: Tally::default(),
            open_for: None,
            free_probes: None,
            probes_in_flight: 0,
            returned: 1_000_000,
        };
        match word.phase {
            Phase::Closed { since } => {
                view.tally = self.window.tally(rules, word.generation, world);
                view.returned = returned(since, rules, now);
            }
            Phase::Open { until } => {
                view.open_for = Some(Duration::from_millis(open_for(until, rules, now)));
            }
            Phase::HalfOpen(probing) => {
                view.probes_in_flight = probing.in_flight;
                let stuck = u64::from(is_stuck(probing, rules, world));
                view.free_probes = Some(room(probing, rules).max(stuck));
            }
        }
        view
    }
}
