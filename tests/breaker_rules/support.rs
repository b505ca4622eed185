//! What the breaker's tests share: a breaker on a clock that is turned by hand, and a recording of
//! everything it told.

use order_service::adapters::resilience::breaker::{
    Breaker, BreakerConfig, BreakerRejection, BreakerState, Transition,
};
use order_service::adapters::resilience::clock::{ManualClock, MonotonicClock};
use order_service::adapters::resilience::observer::{
    BulkheadRejection, CallOutcome, Observer, RetryOutcome,
};
use order_service::adapters::resilience::verdict::{Failed, Verdict};
use order_service::core::domain::unavailable::{Cause, System};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub const QUICK: Duration = Duration::from_millis(5);
pub const SLOW: Duration = Duration::from_secs(6);
pub const OPEN: Duration = Duration::from_secs(30);

pub struct Bench {
    pub breaker: Breaker,
    pub clock: ManualClock,
    pub observer: Arc<RecordingObserver>,
}

/// How a guarded call ends.
pub type End = Result<(), Failed<&'static str>>;

/// Everything told, in order.
#[derive(Debug, Default)]
pub struct RecordingObserver(Mutex<Vec<Heard>>);

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Heard {
    Called(&'static str, CallOutcome),
    Rejected(BreakerRejection),
    WouldReject(BreakerRejection),
    Changed(BreakerState, BreakerState),
    Waited(Duration),
    Shed(BulkheadRejection),
    Retried(RetryOutcome),
}

impl RecordingObserver {
    fn hear(&self, news: Heard) {
        self.0.lock().expect("no panics").push(news);
    }

    pub fn read(&self) -> Vec<Heard> {
        self.0.lock().expect("no panics").clone()
    }

    pub fn count(&self, news: Heard) -> usize {
        self.read().iter().filter(|read| **read == news).count()
    }

    pub fn changes(&self) -> Vec<(BreakerState, BreakerState)> {
        let change =
            |news| if let Heard::Changed(from, to) = news { Some((from, to)) } else { None };
        self.read().into_iter().filter_map(change).collect()
    }
}

impl Observer for RecordingObserver {
    fn called(
        &self,
        _: System,
        operation: &'static str,
        outcome: CallOutcome,
        _: Duration,
        _: Option<u128>,
    ) {
        self.hear(Heard::Called(operation, outcome));
    }

    fn rejected(&self, _: System, reason: BreakerRejection) {
        self.hear(Heard::Rejected(reason));
    }

    fn would_reject(&self, _: System, reason: BreakerRejection) {
        self.hear(Heard::WouldReject(reason));
    }

    fn transition(&self, _: System, transition: &Transition) {
        self.hear(Heard::Changed(transition.from, transition.to));
    }

    fn bulkhead_waited(&self, _: System, waited: Duration) {
        self.hear(Heard::Waited(waited));
    }

    fn bulkhead_rejected(&self, _: System, reason: BulkheadRejection) {
        self.hear(Heard::Shed(reason));
    }

    fn retried(&self, _: System, outcome: RetryOutcome) {
        self.hear(Heard::Retried(outcome));
    }
}

/// The defaults without jitter, so that open lasts exactly [`OPEN`].
pub fn steady() -> BreakerConfig {
    BreakerConfig { open_jitter: 0.0, ..BreakerConfig::default() }
}

pub fn bench(config: &BreakerConfig) -> Bench {
    let (clock, observer) = (ManualClock::new(), Arc::new(RecordingObserver::default()));
    clock.advance(Duration::from_secs(1));
    let breaker =
        Breaker::new(System::Catalog, config, MonotonicClock::from(&clock), observer.clone())
            .expect("a valid configuration");
    Bench { breaker, clock, observer }
}

impl Bench {
    pub fn call(&self, verdict: Verdict) {
        self.calls(1, verdict);
    }

    pub fn calls(&self, count: usize, verdict: Verdict) {
        for _ in 0..count {
            self.breaker.try_acquire().expect("admitted").record(verdict, QUICK);
        }
    }

    /// Opens it the ordinary way.
    pub fn break_down(&self) {
        while self.breaker.state() != BreakerState::Open {
            self.call(Verdict::Failing);
        }
    }

    /// Breaks it down and waits until a probe is due.
    pub fn break_down_and_wait(&self) {
        self.break_down();
        self.clock.advance(OPEN);
    }

    pub fn refusal(&self) -> Option<Cause> {
        self.breaker.try_acquire().err().map(|no_answer| no_answer.cause)
    }
}
