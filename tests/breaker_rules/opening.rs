//! When a breaker opens, and when it must not.

use crate::support::{SLOW, bench, steady};
use order_service::adapters::resilience::breaker::{
    BreakerConfig, BreakerState, SlowAs, WindowKind,
};
use order_service::adapters::resilience::verdict::Verdict;
use order_service::core::domain::unavailable::{Cause, NotExecuted, Shed};
use std::time::Duration;

#[test]
fn it_opens_at_the_threshold_exactly_and_not_below_the_minimum() {
    let bench = bench(&steady());
    bench.calls(6, Verdict::Healthy);
    bench.calls(3, Verdict::Failing);
    assert_eq!(bench.breaker.state(), BreakerState::Closed, "nine calls are below the minimum");
    bench.call(Verdict::Healthy);
    assert_eq!(
        bench.breaker.state(),
        BreakerState::Open,
        "three of ten are 30 %, seen by a success"
    );
}

#[test]
fn a_minimum_equal_to_below_and_above_the_window_opens_when_it_can() {
    for (window_size, min_requests, failures) in [(10, 10, 10), (10, 4, 4), (10, 25, 10)] {
        let bench =
            bench(&BreakerConfig { window_size, min_requests, failure_rate: 1.0, ..steady() });
        bench.calls(failures - 1, Verdict::Failing);
        assert_eq!(bench.breaker.state(), BreakerState::Closed);
        bench.call(Verdict::Failing);
        assert_eq!(bench.breaker.state(), BreakerState::Open, "minimum {min_requests}");
    }
}

#[test]
fn failures_in_a_row_open_it_in_consecutive_mode_and_beside_the_rate() {
    let alone =
        BreakerConfig { window: WindowKind::Consecutive, consecutive_failures: 3, ..steady() };
    let beside = BreakerConfig { consecutive_failures: 3, ..steady() };
    for config in [alone, beside] {
        let bench = bench(&config);
        for _ in 0..2 {
            bench.calls(2, Verdict::Failing);
            bench.call(Verdict::Healthy);
        }
        assert_eq!(bench.breaker.state(), BreakerState::Closed);
        bench.calls(3, Verdict::Failing);
        assert_eq!(bench.breaker.state(), BreakerState::Open);
    }
}

#[test]
fn slow_calls_open_it_as_failures_or_by_their_own_rate_or_never() {
    for (slow_as, opens_after) in
        [(SlowAs::Failure, Some(10)), (SlowAs::Rate, Some(10)), (SlowAs::Ignore, None)]
    {
        let bench = bench(&BreakerConfig { slow_as, ..steady() });
        let mut calls = 0;
        while calls < 100 && bench.breaker.state() == BreakerState::Closed {
            bench.breaker.try_acquire().expect("closed").record(Verdict::Healthy, SLOW);
            calls += 1;
        }
        assert_eq!((calls < 100).then_some(calls), opens_after, "{slow_as:?}");
    }
}

#[test]
fn a_time_window_forgets_an_hour_and_a_year() {
    let bench = bench(&BreakerConfig { window: WindowKind::Time, ..steady() });
    for gap in [3_600, 31_536_000] {
        bench.calls(9, Verdict::Failing);
        bench.clock.advance(Duration::from_secs(gap));
        assert_eq!(bench.breaker.snapshot().window.calls, 0);
    }
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
}

#[test]
fn a_standing_clock_still_opens_it() {
    let bench = bench(&BreakerConfig { window: WindowKind::Time, ..steady() });
    bench.break_down();
    assert_eq!(bench.refusal(), Some(Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen))));
}

#[test]
fn business_answers_and_neutral_ends_never_open_it() {
    let bench = bench(&steady());
    bench.calls(1_000, Verdict::Neutral);
    assert_eq!(bench.breaker.snapshot().window.calls, 0);
    bench.calls(1_000, Verdict::Healthy);
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
}
