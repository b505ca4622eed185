//! The traps that naive breakers fall into, each as the fact that ours does not.

use crate::support::{End, Heard, OPEN, QUICK, RecordingObserver, SLOW, bench, steady};
use order_service::adapters::resilience::breaker::{
    Breaker, BreakerConfig, BreakerState, SlowAs, Tally, WindowKind,
};
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::deadline::CallTimeout;
use order_service::adapters::resilience::observer::CallOutcome;
use order_service::adapters::resilience::semaphore::Semaphore;
use order_service::adapters::resilience::settings::BulkheadConfig;
use order_service::adapters::resilience::verdict::{Failed, Verdict};
use order_service::core::domain::unavailable::{NotExecuted, Shed, System, Unknown};
use order_service::core::ports::deadline::Deadline;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn a_time_window_opens_on_failures_that_are_spread_over_it() {
    let config = BreakerConfig { window: WindowKind::Time, min_requests: 20, ..steady() };
    let bench = bench(&config);
    for _ in 0..19 {
        bench.call(Verdict::Failing);
        bench.clock.advance(Duration::from_millis(480));
    }
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
    bench.call(Verdict::Failing);
    assert_eq!(bench.breaker.state(), BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn half_open_with_a_full_semaphore_recovers_when_it_is_free_again() {
    let bench = bench(&steady());
    let bulkhead = BulkheadConfig { max_concurrent: 1, max_queue: 0, ..BulkheadConfig::default() };
    let semaphore =
        Semaphore::new(System::Catalog, &bulkhead, MonotonicClock::Coarse, bench.observer.clone())
            .expect("a valid configuration");
    let guarded = async || -> End {
        bench.breaker.check()?;
        let permit = semaphore.acquire(Deadline::after(OPEN)).await?;
        permit.hold(bench.breaker.call("call", async { Ok(()) })).await
    };
    bench.break_down_and_wait();
    let held = semaphore.acquire(Deadline::after(OPEN)).await.expect("free");
    for _ in 0..10 {
        assert_eq!(guarded().await, Err(Shed::BulkheadFull.into()));
    }
    drop(held);
    for _ in 0..3 {
        assert_eq!(guarded().await, Ok(()));
    }
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
}

#[test]
fn a_probe_that_is_dropped_gives_its_place_back() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    for _ in 0..100 {
        drop(bench.breaker.try_acquire().expect("the place is free again"));
    }
    bench.calls(3, Verdict::Healthy);
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
}

#[test]
fn a_probe_that_panics_is_a_failure() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _permit = bench.breaker.try_acquire().expect("a probe");
        std::panic::resume_unwind(Box::new("the probe's future panicked"));
    }));
    assert!(panicked.is_err());
    assert_eq!(bench.breaker.state(), BreakerState::Open);
}

#[test]
fn results_of_calls_begun_before_the_trip_count_nowhere_after_it() {
    let bench = bench(&steady());
    let early: Vec<_> = (0..40).map(|_| bench.breaker.try_acquire().expect("closed")).collect();
    let mut early = early.into_iter();
    let mut late = |verdict| {
        for permit in early.by_ref().take(10) {
            permit.record(verdict, QUICK);
        }
    };
    bench.break_down();
    let left = bench.breaker.retry_after();
    late(Verdict::Failing);
    assert_eq!(bench.breaker.retry_after(), left, "a result never prolongs the open time");
    bench.clock.advance(OPEN);
    let probe = bench.breaker.try_acquire().expect("a probe");
    late(Verdict::Failing);
    assert_eq!(bench.breaker.state(), BreakerState::HalfOpen, "nor decides half-open");
    late(Verdict::Healthy);
    assert_eq!(bench.breaker.state(), BreakerState::HalfOpen);
    probe.record(Verdict::Healthy, QUICK);
    bench.calls(2, Verdict::Healthy);
    late(Verdict::Failing);
    let seen = bench.breaker.snapshot();
    assert_eq!(
        (seen.state, seen.window.calls),
        (BreakerState::Closed, 0),
        "nor enters the new window"
    );
}

#[test]
fn failures_that_alternate_with_successes_open_the_ratio_window() {
    let bench = bench(&steady());
    for _ in 0..5 {
        bench.call(Verdict::Healthy);
        if bench.breaker.state() == BreakerState::Closed {
            bench.call(Verdict::Failing);
        }
    }
    assert_eq!(bench.breaker.state(), BreakerState::Open);
}

#[test]
fn a_clock_that_goes_back_does_not_keep_it_open() {
    let bench = bench(&steady());
    bench.clock.advance(Duration::from_secs(7_200));
    bench.break_down();
    bench.clock.set_back(Duration::from_secs(7_000));
    assert!(bench.breaker.try_acquire().is_ok(), "more time left than an open time has");
}

#[tokio::test]
async fn ten_refused_connections_open_it() {
    let bench = bench(&steady());
    for _ in 0..10 {
        let refused = async { End::Err(NotExecuted::Unreachable.into()) };
        assert!(bench.breaker.call("call", refused).await.is_err());
    }
    assert_eq!(bench.breaker.state(), BreakerState::Open);
}

#[test]
fn fifteen_failures_among_the_last_fifty_open_it_after_a_hundred_thousand_good_calls() {
    let bench = bench(&steady());
    bench.calls(100_000, Verdict::Healthy);
    bench.calls(14, Verdict::Failing);
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
    bench.call(Verdict::Failing);
    assert_eq!(bench.breaker.state(), BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn a_slow_success_is_delivered_and_counted_as_slow() {
    let bench = bench(&BreakerConfig { slow_as: SlowAs::Rate, ..steady() });
    let slow = async {
        tokio::time::sleep(SLOW).await;
        Ok::<_, Failed<()>>("the answer")
    };
    assert_eq!(bench.breaker.call("call", slow).await, Ok("the answer"));
    let seen = bench.breaker.snapshot();
    assert_eq!(seen.window, Tally { calls: 1, failures: 0, slow: 1 });
    let told = Heard::Called("call", CallOutcome::Slow);
    assert_eq!(bench.observer.read(), [told]);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_time_to_start_touches_nothing() {
    let bench = bench(&steady());
    let limit = CallTimeout::new(Duration::from_secs(15));
    for _ in 0..100 {
        let deadline = Deadline::after(Duration::from_millis(149));
        let call = limit.cap(deadline, async { End::Ok(()) });
        let refused = bench.breaker.call("call", call).await;
        assert_eq!(refused, Err(Shed::DeadlineTooShort.into()));
    }
    let seen = bench.breaker.snapshot();
    assert_eq!((seen.state, seen.window.calls), (BreakerState::Closed, 0));
}

/// Requirement 083: what the caller's deadline cut short is nobody's fault, unless it was slow.
#[tokio::test(start_paused = true)]
async fn a_call_cut_short_by_the_caller_counts_only_if_it_was_slow_by_then() {
    let bench = bench(&steady());
    let limit = CallTimeout::new(Duration::from_secs(15));
    for (budget, failures) in [(1, 0), (4, 0), (7, 1)] {
        let deadline = Deadline::after(Duration::from_secs(budget));
        let call = limit.cap(deadline, pending::<End>());
        let cut = bench.breaker.call("call", call).await;
        assert_eq!(cut, Err(Unknown::DeadlinePassed.into()));
        assert_eq!(bench.breaker.snapshot().window.failures, failures, "{budget} s");
    }
}

#[test]
fn looking_changes_nothing() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    for _ in 0..1_000 {
        let seen = bench.breaker.snapshot();
        assert_eq!((seen.state, seen.probe_due), (BreakerState::HalfOpen, true));
        assert_eq!(bench.breaker.check(), Ok(()));
        assert_eq!(bench.breaker.retry_after(), None);
        assert_eq!(bench.breaker.capacity(10).calls, 1);
    }
    assert_eq!(bench.observer.changes(), [(BreakerState::Closed, BreakerState::Open)]);
}

/// Requirements 037, 038: no task and no timer, so there is nothing to stop either.
#[tokio::test]
async fn a_breaker_starts_no_task() {
    let breakers: Vec<Breaker> = (0..100)
        .map(|_| {
            let observer = Arc::new(RecordingObserver::default());
            Breaker::new(System::Catalog, &steady(), MonotonicClock::Coarse, observer)
                .expect("valid")
        })
        .collect();
    for breaker in &breakers {
        breaker.try_acquire().expect("closed").record(Verdict::Failing, QUICK);
    }
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}
