//! The bulkhead: bounded in calls, in waiters and in time, and nothing leaks.

use crate::support::{Bench, End, Heard, OPEN, RecordingObserver, bench, steady};
use futures_util::future::join_all;
use order_service::adapters::resilience::breaker::{BreakerConfig, BreakerState, SlowAs};
use order_service::adapters::resilience::clock::{ManualClock, MonotonicClock};
use order_service::adapters::resilience::observer::BulkheadRejection;
use order_service::adapters::resilience::semaphore::Semaphore;
use order_service::adapters::resilience::settings::{BulkheadConfig, Concurrency, InvalidSetting};
use order_service::adapters::resilience::verdict::Verdict;
use order_service::core::domain::unavailable::{Cause, NotExecuted, Shed, System, Unknown};
use order_service::core::ports::deadline::Deadline;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const WAIT: Duration = Duration::from_millis(100);

fn config(max_concurrent: u32, max_queue: u32) -> BulkheadConfig {
    BulkheadConfig { max_concurrent, max_queue, max_wait: WAIT, ..BulkheadConfig::default() }
}

fn semaphore(config: &BulkheadConfig) -> (Semaphore, Arc<RecordingObserver>) {
    let observer = Arc::new(RecordingObserver::default());
    let semaphore =
        Semaphore::new(System::Catalog, config, MonotonicClock::tokio(), observer.clone());
    (semaphore.expect("a valid configuration"), observer)
}

fn later() -> Deadline {
    Deadline::after(OPEN)
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_than_there_are_places() {
    let (semaphore, observer) = semaphore(&config(3, 0));
    let held = [(); 3].map(|()| semaphore.acquire(later()));
    let held = join_all(held).await;
    let seen = semaphore.snapshot();
    assert_eq!((seen.in_flight, semaphore.free(), seen.limit), (3, 0, 3));
    let refused = semaphore.acquire(later()).await.expect_err("full");
    assert_eq!(refused.cause, Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull)));
    assert_eq!(
        (semaphore.snapshot().rejected, observer.count(Heard::Shed(BulkheadRejection::Full))),
        (1, 1)
    );
    drop(held);
    assert_eq!(semaphore.snapshot().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_gets_the_place_that_becomes_free_and_its_wait_is_told() {
    let (semaphore, observer) = semaphore(&config(1, 1));
    let held = semaphore.acquire(later()).await.expect("free");
    let half = WAIT / 2;
    let release = async {
        tokio::time::sleep(half).await;
        assert_eq!(semaphore.snapshot().waiting, 1);
        drop(held);
    };
    let (waited, ()) = tokio::join!(semaphore.acquire(later()), release);
    assert!(waited.is_ok());
    assert_eq!(semaphore.snapshot().waiting, 0);
    assert!(
        observer.read().iter().any(|news| matches!(news, Heard::Waited(wait) if *wait >= half))
    );
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_the_bound_or_than_their_deadline() {
    let (semaphore, observer) = semaphore(&config(1, 2));
    let _held = semaphore.acquire(later()).await.expect("free");
    let begun = tokio::time::Instant::now();
    let bounded = semaphore.acquire(later()).await.expect_err("nobody leaves");
    assert_eq!(
        (bounded.cause, begun.elapsed().as_millis() / 10),
        (Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadWait)), 10)
    );
    let hurried = semaphore.acquire(Deadline::after(WAIT / 2)).await.expect_err("nobody leaves");
    assert_eq!(hurried.cause, Cause::NotExecuted(NotExecuted::Shed(Shed::DeadlineTooShort)));
    assert_eq!(observer.count(Heard::Shed(BulkheadRejection::WaitTimeout)), 1);
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_bounded() {
    let (semaphore, _) = semaphore(&config(1, 2));
    let _held = semaphore.acquire(later()).await.expect("free");
    let ends = join_all([(); 5].map(|()| semaphore.acquire(later()))).await;
    let causes: Vec<_> = ends.into_iter().filter_map(Result::err).map(|no| no.cause).collect();
    let full = causes
        .iter()
        .filter(|cause| **cause == Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull)))
        .count();
    assert_eq!((causes.len(), full), (5, 3));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_leaks_neither_place_nor_queue() {
    let (semaphore, _) = semaphore(&config(1, 1));
    for _ in 0..50 {
        let held = semaphore.acquire(later()).await.expect("nothing has leaked");
        assert!(timeout(WAIT / 4, semaphore.acquire(later())).await.is_err());
        assert_eq!(semaphore.snapshot().waiting, 0);
        drop(held);
    }
}

fn hanging(slow_as: SlowAs) -> (Bench, Semaphore, ManualClock) {
    let bench = bench(&BreakerConfig { slow_as, min_requests: 4, ..steady() });
    let clock = bench.clock.clone();
    let semaphore = Semaphore::new(
        System::Catalog,
        &config(4, 0),
        MonotonicClock::from(&clock),
        bench.observer.clone(),
    );
    (bench, semaphore.expect("a valid configuration"), clock)
}

/// Opening while calls still hang: their ends would come too late to be of use.
#[tokio::test(start_paused = true)]
async fn a_full_semaphore_of_hanging_calls_opens_the_breaker() {
    for (hang, slow_as, state) in [
        (Duration::from_secs(5), SlowAs::Failure, BreakerState::Open),
        (Duration::from_secs(5), SlowAs::Rate, BreakerState::Open),
        (Duration::from_secs(5), SlowAs::Ignore, BreakerState::Closed),
        (Duration::from_secs(4), SlowAs::Failure, BreakerState::Closed),
    ] {
        let (Bench { breaker, .. }, semaphore, clock) = hanging(slow_as);
        let breaker = Arc::new(breaker);
        let semaphore = semaphore.reporting_to(Arc::clone(&breaker));
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(semaphore.acquire(later()).await.expect("free"));
        }
        clock.advance(hang);
        for _ in 0..2 {
            held.push(semaphore.acquire(later()).await.expect("free"));
        }
        assert_eq!(breaker.state(), BreakerState::Closed, "nobody is shed yet");
        assert!(semaphore.acquire(later()).await.is_err());
        assert_eq!(breaker.state(), state, "half of them {hang:?} old, {slow_as:?}");
    }
}

/// Few calls say nothing, whether they end or hang: with one place, one caller could shut out all.
#[tokio::test(start_paused = true)]
async fn fewer_hanging_calls_than_the_minimum_open_nothing() {
    let bench = bench(&BreakerConfig { slow_as: SlowAs::Failure, min_requests: 5, ..steady() });
    let clock = MonotonicClock::from(&bench.clock);
    let semaphore = Semaphore::new(System::Catalog, &config(4, 0), clock, bench.observer.clone());
    let breaker = Arc::new(bench.breaker);
    let semaphore = semaphore.expect("valid").reporting_to(Arc::clone(&breaker));
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(semaphore.acquire(later()).await.expect("free"));
    }
    bench.clock.advance(Duration::from_secs(60));
    assert!(semaphore.acquire(later()).await.is_err());
    assert_eq!(breaker.state(), BreakerState::Closed);
    // A failure that the window holds is one call more.
    breaker.try_acquire().unwrap().record(Verdict::Failing, Duration::ZERO);
    assert!(semaphore.acquire(later()).await.is_err());
    assert_eq!(breaker.state(), BreakerState::Open);
}

/// Rounds of as many calls as find a permit, each of which ends like this after so long.
async fn repeats(count: usize, took: Duration, end: End, semaphore: &Semaphore) {
    for _ in 0..count {
        let mut calls = Vec::new();
        while semaphore.free() > 0 {
            let permit = semaphore.acquire(later()).await.expect("free");
            calls.push(permit.hold(async {
                tokio::time::sleep(took).await;
                end
            }));
        }
        join_all(calls).await;
    }
}

const USUAL: Duration = Duration::from_millis(20);

fn adapting(concurrency: Concurrency) -> Semaphore {
    semaphore(&BulkheadConfig { concurrency, ..config(50, 0) }).0
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_found_is_obeyed_only_where_it_is_asked_for() {
    for (concurrency, found, obeyed) in [
        (Concurrency::Fixed, false, false),
        (Concurrency::Observe, true, false),
        (Concurrency::Adaptive, true, true),
    ] {
        let semaphore = adapting(concurrency);
        repeats(20, USUAL, Ok(()), &semaphore).await;
        let usual = semaphore.snapshot();
        assert_eq!((usual.limit, usual.found_limit), (50, 50));
        repeats(4, USUAL * 20, Ok(()), &semaphore).await;
        let slow = semaphore.snapshot();
        assert_eq!(slow.found_limit < 20, found, "{concurrency:?}: {slow:?}");
        assert_eq!(slow.limit, if obeyed { slow.found_limit } else { 50 });
        assert_eq!(slow.in_flight, 0);
        repeats(200, USUAL, Ok(()), &semaphore).await;
        assert_eq!((semaphore.snapshot().limit, semaphore.free()), (50, 50), "all are back");
    }
}

#[tokio::test(start_paused = true)]
async fn a_partner_that_refuses_at_once_leaves_the_limit_as_it_was() {
    let semaphore = adapting(Concurrency::Adaptive);
    repeats(20, USUAL, Ok(()), &semaphore).await;
    repeats(200, USUAL / 20, Err(NotExecuted::Unreachable.into()), &semaphore).await;
    repeats(4, USUAL, Ok(()), &semaphore).await;
    assert_eq!(semaphore.snapshot().found_limit, 50);
}

#[tokio::test(start_paused = true)]
async fn a_partner_that_lets_callers_wait_in_vain_gets_fewer_of_them() {
    let semaphore = adapting(Concurrency::Adaptive);
    repeats(20, USUAL, Ok(()), &semaphore).await;
    repeats(4, USUAL * 20, Err(Unknown::TimedOut.into()), &semaphore).await;
    assert!(semaphore.snapshot().limit < 20, "{:?}", semaphore.snapshot());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_gives_its_permit_back_and_teaches_nothing() {
    let semaphore = adapting(Concurrency::Adaptive);
    repeats(20, USUAL, Ok(()), &semaphore).await;
    for _ in 0..200 {
        let permits = join_all([(); 50].map(|()| semaphore.acquire(later()))).await;
        let hanging = permits
            .into_iter()
            .map(|permit| permit.expect("free").hold(std::future::pending::<End>()));
        assert!(timeout(USUAL * 20, join_all(hanging)).await.is_err());
    }
    let seen = semaphore.snapshot();
    assert_eq!((seen.found_limit, seen.in_flight), (50, 0));
}

#[test]
fn a_long_queue_is_refused_and_a_middling_one_warned_of() {
    let names = |invalid: Vec<InvalidSetting>| {
        invalid.into_iter().map(|setting| setting.name).collect::<Vec<_>>()
    };
    assert_eq!(names(config(0, 51).validate()), ["MAX_CONCURRENT", "MAX_QUEUE"]);
    assert_eq!(names(config(20, 6).warnings()), ["MAX_QUEUE"]);
    assert!(BulkheadConfig::default().validate().is_empty());
}
