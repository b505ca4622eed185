//! What the breaker's tests share: a breaker on a clock that is turned by hand, and a diary of
//! everything it told.

use order_service::adapters::resilience::breaker::{Breaker, BreakerConfig, State};
use order_service::adapters::resilience::clock::{Clock, ManualClock};
use order_service::adapters::resilience::observer::{
    BulkheadRejection, Observer, Outcome, Rejection, RetryOutcome, Transition,
};
use order_service::adapters::resilience::outcome::Verdict;
use order_service::core::domain::unavailable::{Cause, NoAnswer, System};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub const QUICK: Duration = Duration::from_millis(5);
pub const SLOW: Duration = Duration::from_secs(6);
pub const OPEN: Duration = Duration::from_secs(30);

pub struct Bench {
    pub breaker: Breaker,
    pub clock: ManualClock,
    pub diary: Arc<Diary>,
}

/// Everything told, in order.
#[derive(Debug, Default)]
pub struct Diary(Mutex<Vec<News>>);

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum News {
    Called(&'static str, Outcome),
    Rejected(Rejection),
    WouldReject(Rejection),
    Changed(State, State),
    Waited(Duration),
    Shed(BulkheadRejection),
    Retried(RetryOutcome),
}

impl Diary {
    fn note(&self, news: News) {
        self.0.lock().expect("no panics").push(news);
    }

    pub fn read(&self) -> Vec<News> {
        self.0.lock().expect("no panics").clone()
    }

    pub fn count(&self, news: News) -> usize {
        self.read().iter().filter(|read| **read == news).count()
    }

    pub fn changes(&self) -> Vec<(State, State)> {
        let change =
            |news| if let News::Changed(from, to) = news { Some((from, to)) } else { None };
        self.read().into_iter().filter_map(change).collect()
    }
}

impl Observer for Diary {
    fn called(
        &self,
        _: System,
        operation: &'static str,
        outcome: Outcome,
        _: Duration,
        _: Option<u128>,
    ) {
        self.note(News::Called(operation, outcome));
    }

    fn rejected(&self, _: System, reason: Rejection) {
        self.note(News::Rejected(reason));
    }

    fn would_reject(&self, _: System, reason: Rejection) {
        self.note(News::WouldReject(reason));
    }

    fn transition(&self, transition: &Transition) {
        self.note(News::Changed(transition.from, transition.to));
    }

    fn bulkhead_waited(&self, _: System, waited: Duration) {
        self.note(News::Waited(waited));
    }

    fn bulkhead_rejected(&self, _: System, reason: BulkheadRejection) {
        self.note(News::Shed(reason));
    }

    fn retried(&self, _: System, outcome: RetryOutcome) {
        self.note(News::Retried(outcome));
    }
}

/// The defaults without jitter, so that open lasts exactly [`OPEN`].
pub fn steady() -> BreakerConfig {
    BreakerConfig { open_jitter: 0.0, ..BreakerConfig::default() }
}

pub fn bench(config: &BreakerConfig) -> Bench {
    let (clock, diary) = (ManualClock::new(), Arc::new(Diary::default()));
    clock.advance(Duration::from_secs(1));
    let breaker = Breaker::new(System::Sber, config, Clock::from(&clock), diary.clone())
        .expect("a valid configuration");
    Bench { breaker, clock, diary }
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
        while self.breaker.state() != State::Open {
            self.call(Verdict::Failing);
        }
    }

    /// Breaks it down and waits until a probe is due.
    pub fn break_down_and_wait(&self) {
        self.break_down();
        self.clock.advance(OPEN);
    }

    pub fn refusal(&self) -> Option<Cause> {
        self.breaker.try_acquire().err().map(|no: NoAnswer| no.cause)
    }
}
