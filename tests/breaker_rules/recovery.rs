//! Open, half-open and back: how a breaker recovers.

use crate::support::{Heard, OPEN, QUICK, SLOW, bench, steady};
use order_service::adapters::resilience::breaker::{
    BreakerCapacity, BreakerConfig, BreakerRejection, BreakerState, SlowAs,
};
use order_service::adapters::resilience::verdict::Verdict;
use order_service::core::domain::unavailable::{Cause, NotExecuted, Shed};
use std::time::Duration;

#[test]
fn open_lasts_its_time_to_the_millisecond_and_says_how_long() {
    let bench = bench(&steady());
    bench.break_down();
    assert_eq!(bench.breaker.check().map_err(|no| no.retry_after), Err(Some(OPEN)));
    bench.clock.advance(OPEN - Duration::from_nanos(1));
    assert_eq!(bench.refusal(), Some(Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen))));
    bench.clock.advance(Duration::from_nanos(1));
    assert_eq!(bench.refusal(), None);
}

/// Requirement 045.
#[test]
fn recovery_is_lazy() {
    let config = BreakerConfig { min_requests: 1, half_open_requests: 1, ..steady() };
    let bench = bench(&config);
    bench.call(Verdict::Failing);
    assert_eq!(bench.breaker.state(), BreakerState::Open);
    bench.clock.advance(Duration::from_secs(120));
    assert_eq!(bench.breaker.state(), BreakerState::HalfOpen, "as the next call will find it");
    assert_eq!(bench.observer.changes().len(), 1, "nothing happens by itself");
    bench.call(Verdict::Healthy);
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
}

#[test]
fn half_open_needs_every_probe_and_one_at_a_time() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    for _ in 0..3 {
        let probe = bench.breaker.try_acquire().expect("a probe");
        assert_eq!(probe.state(), BreakerState::HalfOpen);
        assert_eq!(
            bench.refusal(),
            Some(Cause::NotExecuted(NotExecuted::Shed(Shed::ProbesTaken))),
            "a reason of its own"
        );
        probe.record(Verdict::Healthy, QUICK);
    }
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
    assert_eq!(
        bench.observer.changes(),
        [
            (BreakerState::Closed, BreakerState::Open),
            (BreakerState::Open, BreakerState::HalfOpen),
            (BreakerState::HalfOpen, BreakerState::Closed)
        ]
    );
}

#[test]
fn a_failed_probe_opens_it_for_another_full_time() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    bench.calls(2, Verdict::Healthy);
    bench.call(Verdict::Failing);
    assert_eq!(bench.breaker.retry_after(), Some(OPEN));
}

#[test]
fn of_a_crowd_at_the_deadline_only_as_many_as_there_are_probes_get_in() {
    let bench = bench(&BreakerConfig { half_open_max_in_flight: 3, ..steady() });
    bench.break_down_and_wait();
    let crowd: Vec<_> = (0..100).filter_map(|_| bench.breaker.try_acquire().ok()).collect();
    assert_eq!(crowd.len(), 3);
    assert_eq!(bench.observer.count(Heard::Rejected(BreakerRejection::HalfOpenFull)), 97);
}

#[test]
fn ignored_outcomes_leave_half_open_as_it_was() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    bench.calls(50, Verdict::Neutral);
    assert_eq!(bench.breaker.state(), BreakerState::HalfOpen);
    bench.calls(3, Verdict::Healthy);
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
}

#[test]
fn probes_that_are_forgotten_are_given_up_for_lost() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    std::mem::forget(bench.breaker.try_acquire().expect("a probe"));
    bench.clock.advance(Duration::from_secs(59));
    assert_eq!(bench.refusal(), Some(Cause::NotExecuted(NotExecuted::Shed(Shed::ProbesTaken))));
    bench.clock.advance(Duration::from_secs(2));
    bench.calls(3, Verdict::Healthy);
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
}

#[test]
fn a_probe_of_an_earlier_half_open_decides_nothing_in_a_later_one() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    let early = bench.breaker.try_acquire().expect("a probe");
    bench.clock.advance(Duration::from_secs(61));
    bench.call(Verdict::Failing);
    bench.clock.advance(OPEN);
    bench.call(Verdict::Healthy);
    early.record(Verdict::Failing, QUICK);
    assert_eq!(bench.breaker.state(), BreakerState::HalfOpen);
    bench.calls(2, Verdict::Healthy);
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
}

#[test]
fn slow_probes_reopen_it_when_their_share_is_too_large() {
    let bench = bench(&BreakerConfig { slow_as: SlowAs::Rate, ..steady() });
    bench.break_down_and_wait();
    for elapsed in [SLOW, SLOW, QUICK] {
        bench.breaker.try_acquire().expect("a probe").record(Verdict::Healthy, elapsed);
    }
    assert_eq!(bench.breaker.state(), BreakerState::Open);
}

#[test]
fn the_open_time_grows_with_flapping_and_comes_back_with_calm() {
    let config = BreakerConfig { open_timeout_max: Some(OPEN * 4), ..steady() };
    let bench = bench(&config);
    for expected in [OPEN, OPEN * 2, OPEN * 4, OPEN * 4] {
        bench.break_down();
        assert_eq!(bench.breaker.retry_after(), Some(expected));
        bench.clock.advance(expected);
        bench.calls(3, Verdict::Healthy);
    }
    bench.clock.advance(OPEN * 10 * 7);
    bench.break_down();
    assert_eq!(bench.breaker.retry_after(), Some(OPEN));
}

#[test]
fn jitter_only_lengthens_the_open_time_and_within_its_share() {
    let bench = bench(&BreakerConfig { open_jitter: 0.1, ..BreakerConfig::default() });
    let mut times = Vec::new();
    for _ in 0..200 {
        bench.break_down();
        times.extend(bench.breaker.retry_after());
        bench.breaker.reset();
    }
    assert!(times.iter().all(|time| (OPEN..=OPEN.mul_f64(1.1)).contains(time)));
    assert!(times.iter().any(|time| *time != times[0]));
}

#[test]
fn fetched_work_comes_back_gradually_while_live_calls_pass() {
    let bench = bench(&steady());
    assert_eq!(bench.breaker.capacity(20), BreakerCapacity { calls: 20, ask_again: None });
    bench.break_down();
    assert_eq!(bench.breaker.capacity(20), BreakerCapacity { calls: 0, ask_again: Some(OPEN) });
    bench.clock.advance(OPEN);
    assert_eq!(bench.breaker.capacity(20).calls, 1);
    bench.calls(3, Verdict::Healthy);
    for (second, calls) in [(0, 2), (5, 11), (10, 20)] {
        assert_eq!(bench.breaker.capacity(20).calls, calls, "after {second} s");
        bench.clock.advance(Duration::from_secs(5));
    }
    assert_eq!(bench.refusal(), None);
}

#[test]
fn a_reset_closes_it_with_an_empty_window() {
    let bench = bench(&steady());
    bench.break_down();
    bench.breaker.reset();
    let seen = bench.breaker.snapshot();
    assert_eq!((seen.state, seen.window.calls), (BreakerState::Closed, 0));
    bench.calls(9, Verdict::Failing);
    bench.breaker.reset();
    bench.calls(9, Verdict::Failing);
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
}
