//! The bulkhead: bounded in calls, in waiters and in time, and nothing leaks.

use crate::support::{Bench, Diary, News, OPEN, bench, steady};
use order_service::adapters::resilience::adaptive::Adaptation;
use order_service::adapters::resilience::breaker::{BreakerConfig, SlowAs, State};
use order_service::adapters::resilience::clock::{Clock, ManualClock};
use order_service::adapters::resilience::observer::BulkheadRejection;
use order_service::adapters::resilience::semaphore::Semaphore;
use order_service::adapters::resilience::settings::BulkheadConfig;
use order_service::core::domain::unavailable::{Cause, NotExecuted, Shed, System};
use order_service::core::ports::deadline::Deadline;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const WAIT: Duration = Duration::from_millis(100);

fn config(max_concurrent: u32, max_queue: u32) -> BulkheadConfig {
    BulkheadConfig { max_concurrent, max_queue, max_wait: WAIT }
}

fn semaphore(config: &BulkheadConfig) -> (Semaphore, Arc<Diary>) {
    let diary = Arc::new(Diary::default());
    let semaphore = Semaphore::new(System::Sber, config, Clock::tokio(), diary.clone());
    (semaphore.expect("a valid configuration"), diary)
}

fn later() -> Deadline {
    Deadline::after(OPEN)
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_run_than_there_are_places() {
    let (semaphore, diary) = semaphore(&config(3, 0));
    let held = [(); 3].map(|()| semaphore.acquire(later()));
    let held = futures_util::future::join_all(held).await;
    assert_eq!((semaphore.in_flight(), semaphore.free(), semaphore.limit()), (3, 0, 3));
    let refused = semaphore.acquire(later()).await.expect_err("full");
    assert_eq!(refused.cause, Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull)));
    assert_eq!((semaphore.rejected(), diary.count(News::Shed(BulkheadRejection::Full))), (1, 1));
    drop(held);
    assert_eq!(semaphore.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_gets_the_place_that_becomes_free_and_its_wait_is_told() {
    let (semaphore, diary) = semaphore(&config(1, 1));
    let held = semaphore.acquire(later()).await.expect("free");
    let half = WAIT / 2;
    let release = async {
        tokio::time::sleep(half).await;
        assert_eq!(semaphore.waiting(), 1);
        drop(held);
    };
    let (waited, ()) = tokio::join!(semaphore.acquire(later()), release);
    assert!(waited.is_ok());
    assert_eq!(semaphore.waiting(), 0);
    assert!(diary.read().iter().any(|news| matches!(news, News::Waited(wait) if *wait >= half)));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_the_bound_or_than_their_deadline() {
    let (semaphore, diary) = semaphore(&config(1, 2));
    let _held = semaphore.acquire(later()).await.expect("free");
    let begun = tokio::time::Instant::now();
    let bounded = semaphore.acquire(later()).await.expect_err("nobody leaves");
    assert_eq!(
        (bounded.cause, begun.elapsed().as_millis() / 10),
        (Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadWait)), 10)
    );
    let hurried = semaphore.acquire(Deadline::after(WAIT / 2)).await.expect_err("nobody leaves");
    assert_eq!(hurried.cause, Cause::NotExecuted(NotExecuted::Shed(Shed::DeadlineTooShort)));
    assert_eq!(diary.count(News::Shed(BulkheadRejection::WaitTimeout)), 1);
}

#[tokio::test(start_paused = true)]
async fn the_queue_is_bounded() {
    let (semaphore, _) = semaphore(&config(1, 2));
    let _held = semaphore.acquire(later()).await.expect("free");
    let ends = futures_util::future::join_all([(); 5].map(|()| semaphore.acquire(later()))).await;
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
        assert_eq!(semaphore.waiting(), 0);
        drop(held);
    }
}

fn hanging(slow_as: SlowAs) -> (Bench, Semaphore, ManualClock) {
    let bench = bench(&BreakerConfig { slow_as, ..steady() });
    let clock = bench.clock.clone();
    let semaphore =
        Semaphore::new(System::Sber, &config(4, 0), Clock::from(&clock), bench.diary.clone());
    (bench, semaphore.expect("a valid configuration"), clock)
}

/// Opening while calls still hang: their ends would come too late to be of use.
#[tokio::test(start_paused = true)]
async fn a_full_semaphore_of_hanging_calls_opens_the_breaker() {
    for (hang, slow_as, state) in [
        (Duration::from_secs(5), SlowAs::Failure, State::Open),
        (Duration::from_secs(5), SlowAs::Rate, State::Open),
        (Duration::from_secs(5), SlowAs::Ignore, State::Closed),
        (Duration::from_secs(4), SlowAs::Failure, State::Closed),
    ] {
        let (Bench { breaker, .. }, semaphore, clock) = hanging(slow_as);
        let breaker = Arc::new(breaker);
        let semaphore = semaphore.watched_by(Arc::clone(&breaker));
        let mut held = Vec::new();
        for _ in 0..2 {
            held.push(semaphore.acquire(later()).await.expect("free"));
        }
        clock.advance(hang);
        for _ in 0..2 {
            held.push(semaphore.acquire(later()).await.expect("free"));
        }
        assert_eq!(breaker.state(), State::Closed, "nobody is shed yet");
        assert!(semaphore.acquire(later()).await.is_err());
        assert_eq!(breaker.state(), state, "half of them {hang:?} old, {slow_as:?}");
    }
}

/// Rounds of as many calls as find a place, each of which takes so long.
async fn rounds(count: usize, took: Duration, semaphore: &Semaphore) {
    for _ in 0..count {
        let mut held = Vec::new();
        while semaphore.free() > 0 {
            held.push(semaphore.acquire(later()).await.expect("free"));
        }
        tokio::time::sleep(took).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_adaptive_limit_is_obeyed_only_when_it_is_enforced() {
    for (adaptation, obeyed) in [(Adaptation::Observe, false), (Adaptation::Enforce, true)] {
        let (semaphore, _) = semaphore(&config(50, 0));
        let semaphore = semaphore.adapting(adaptation);
        rounds(20, Duration::from_millis(20), &semaphore).await;
        assert_eq!((semaphore.limit(), semaphore.found_limit()), (50, Some(50)));
        rounds(4, Duration::from_millis(400), &semaphore).await;
        let found = semaphore.found_limit().expect("it is looked for");
        assert!(found < 20, "{found}");
        assert_eq!(semaphore.limit(), if obeyed { found } else { 50 });
        assert_eq!(semaphore.in_flight(), 0);
        rounds(200, Duration::from_millis(20), &semaphore).await;
        assert_eq!((semaphore.limit(), semaphore.free()), (50, 50), "all places are back");
    }
}

#[test]
fn a_long_queue_is_refused_and_a_middling_one_warned_of() {
    let knobs = |faults: Vec<order_service::adapters::resilience::settings::Fault>| {
        faults.into_iter().map(|fault| fault.knob).collect::<Vec<_>>()
    };
    assert_eq!(knobs(config(0, 51).validate()), ["MAX_CONCURRENT", "MAX_QUEUE"]);
    assert_eq!(knobs(config(20, 6).warnings()), ["MAX_QUEUE"]);
    assert!(BulkheadConfig::default().validate().is_empty());
}
