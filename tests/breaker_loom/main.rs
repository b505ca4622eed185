//! Every interleaving of every pair and triple of operations on one breaker, by the model checker
//! loom. The machine is generic over its atomics, so what is checked is the code that runs.
//!
//! [`sweep`] checks what must hold whatever the operations are, [`races`] what a certain race must
//! end in.

mod races;
mod sweep;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use order_service::adapters::resilience::breaker::parts::{
    Admission, Atomic, Machine, Rejected, Rules, Sample, TimeSource,
};
use order_service::adapters::resilience::breaker::{
    BreakerConfig, BreakerRejection, BreakerState, SlowAs, Tally, Transition,
};
use std::time::Duration;

/// Loom's word, with the orderings of the real one.
#[derive(Debug)]
struct Word(AtomicU64);

impl Atomic for Word {
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn replace(&self, current: u64, new: u64) -> Result<(), u64> {
        self.0.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }
}

/// A moment at which time stands still.
#[derive(Debug, Clone, Copy)]
struct At(u64);

impl TimeSource for At {
    fn now(&self) -> u64 {
        self.0 * 1_000_000
    }

    fn jitter(&self) -> u64 {
        0
    }
}

const START: At = At(1_000);
const AFTER_OPEN: At = At(2_000);
const LONG_AFTER: At = At(90_000);

type Shared = Arc<Machine<Word>>;

/// Opens at two failures of at most three calls; closes after two good probes of two at a time.
fn rules() -> Rules {
    Rules::of(&BreakerConfig {
        window_size: 3,
        min_requests: 2,
        failure_rate: 0.6,
        slow_as: SlowAs::Rate,
        slow_call_rate: 1.0,
        consecutive_failures: 2,
        open_timeout: Duration::from_millis(1_000),
        open_jitter: 0.0,
        half_open_requests: 2,
        half_open_max_in_flight: 2,
        probe_timeout: Duration::from_secs(10),
        ..BreakerConfig::default()
    })
}

fn machine(rules: &Rules) -> Machine<Word> {
    Machine::new(rules)
}

fn admit(machine: &Machine<Word>, at: At) -> (Admission, Option<Transition>) {
    machine.admit(&rules(), &at).expect("admitted")
}

fn fail(machine: &Machine<Word>, pass: Admission) -> Option<Transition> {
    machine.record(&rules(), &START, pass, Sample::FAILED)
}

fn open(machine: &Machine<Word>) -> Transition {
    machine.trip(&rules(), &START, Tally::default()).expect("it was closed")
}
