//! The traps that naive breakers fall into (docs/requirements D-01 to D-13), each by name.

use order_service::adapters::resilience::breaker::{Breaker, BreakerConfig, State};
use order_service::adapters::resilience::clock::{Clock, ManualClock};
use order_service::adapters::resilience::observer::Silent;
use order_service::adapters::resilience::outcome::Verdict;
use order_service::core::ports::unavailable::{Cause, System};
use std::sync::Arc;
use std::time::Duration;

const QUICK: Duration = Duration::from_millis(5);

fn breaker(config: &BreakerConfig) -> (Breaker, ManualClock) {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(1));
    let breaker = Breaker::new(System::Sber, config, Clock::from(&clock), Arc::new(Silent))
        .expect("a valid configuration");
    (breaker, clock)
}

fn call(breaker: &Breaker, verdict: Verdict) {
    breaker.try_acquire().expect("admitted").record(verdict, QUICK);
}

#[test]
fn fifteen_failures_among_the_last_fifty_open_it_after_a_hundred_thousand_good_calls() {
    let (breaker, _) = breaker(&BreakerConfig::default());
    for _ in 0..100_000 {
        call(&breaker, Verdict::Healthy);
    }
    for _ in 0..14 {
        call(&breaker, Verdict::Failing);
    }
    assert_eq!(breaker.state(), State::Closed);
    call(&breaker, Verdict::Failing);
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn it_recovers_lazily_and_needs_every_probe_to_succeed() {
    let (breaker, clock) = breaker(&BreakerConfig { open_jitter: 0.0, ..BreakerConfig::default() });
    for _ in 0..10 {
        call(&breaker, Verdict::Failing);
    }
    assert_eq!(breaker.check().map_err(|no| no.cause), Err(Cause::BreakerOpen));
    clock.advance(Duration::from_secs(30));
    assert_eq!(breaker.state(), State::Open);
    for probe in 0..3 {
        let permit = breaker.try_acquire().expect("a probe");
        assert_eq!(breaker.check().map_err(|no| no.cause), Err(Cause::ProbesTaken), "{probe}");
        permit.record(Verdict::Healthy, QUICK);
    }
    assert_eq!(breaker.state(), State::Closed);
}
