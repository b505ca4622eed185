//! Retrying reads: whom it helps, and how little it may cost.

use crate::support::{Heard, RecordingObserver, bench, steady};
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::observer::RetryOutcome;
use order_service::adapters::resilience::retry::Retry;
use order_service::adapters::resilience::semaphore::Semaphore;
use order_service::adapters::resilience::settings::{BulkheadConfig, RetryConfig};
use order_service::adapters::resilience::verdict::Failed;
use order_service::core::domain::unavailable::{
    Cause, NoAnswer, NotExecuted, Shed, System, Unknown,
};
use order_service::core::ports::deadline::Deadline;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

type End = Result<u32, Failed<&'static str>>;

struct Trial {
    end: End,
    attempts: usize,
    took: Duration,
    told: Vec<Heard>,
}

async fn trial(config: RetryConfig, budget: Duration, ends: &[End]) -> Trial {
    let observer = Arc::new(RecordingObserver::default());
    let retry = Retry::new(System::Catalog, config, observer.clone()).expect("valid");
    let (attempts, begun) = (Cell::new(0), Instant::now());
    let end = retry
        .run(Deadline::after(budget), || {
            let attempt = attempts.replace(attempts.get() + 1);
            std::future::ready(ends[attempt.min(ends.len() - 1)])
        })
        .await;
    Trial { end, attempts: attempts.get(), took: begun.elapsed(), told: observer.read() }
}

const MINUTE: Duration = Duration::from_secs(60);

fn failed(cause: Cause) -> End {
    Err(cause.into())
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_tried_again_until_it_answers() {
    let ends = [
        failed(Cause::Unknown(Unknown::TimedOut)),
        failed(Cause::Unknown(Unknown::PartnerFailed)),
        Ok(7),
    ];
    let trial = trial(RetryConfig::default(), MINUTE, &ends).await;
    assert_eq!((trial.end, trial.attempts), (Ok(7), 3));
    let told = [RetryOutcome::Failure, RetryOutcome::Success].map(Heard::Retried);
    assert_eq!(trial.told, told);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_few_and_their_end_is_told() {
    let trial =
        trial(RetryConfig::default(), MINUTE, &[failed(Cause::Unknown(Unknown::Broken))]).await;
    assert_eq!((trial.end, trial.attempts), (failed(Cause::Unknown(Unknown::Broken)), 3));
    let told = [RetryOutcome::Failure, RetryOutcome::Exhausted].map(Heard::Retried);
    assert_eq!(trial.told, told);
    assert!(trial.took <= Duration::from_millis(200 + 400 + 5));
}

#[tokio::test(start_paused = true)]
async fn what_was_shed_or_answered_or_is_no_longer_waited_for_is_never_tried_again() {
    for cause in [
        Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen)),
        Cause::NotExecuted(NotExecuted::Shed(Shed::ProbesTaken)),
        Cause::NotExecuted(NotExecuted::Shed(Shed::ForcedOpen)),
        Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull)),
        Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadWait)),
        Cause::NotExecuted(NotExecuted::Shed(Shed::DeadlineTooShort)),
        Cause::Unknown(Unknown::DeadlinePassed),
        Cause::NotExecuted(NotExecuted::Misdirected),
    ] {
        let trial = trial(RetryConfig::default(), MINUTE, &[failed(cause)]).await;
        assert_eq!(trial.attempts, 1, "{cause:?}");
        assert_eq!(trial.told, [Heard::Retried(RetryOutcome::NotRetriable)]);
    }
    let answered = trial(RetryConfig::default(), MINUTE, &[Err(Failed::Answered("no"))]).await;
    assert_eq!((answered.attempts, answered.told.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn pauses_are_random_grow_and_keep_within_their_bounds() {
    fastrand::seed(1);
    let config = RetryConfig {
        max_attempts: 5,
        max: Duration::from_millis(300),
        budget_min_per_sec: 1_000.0,
        ..RetryConfig::default()
    };
    let mut times = Vec::new();
    for _ in 0..100 {
        times.push(
            trial(config.clone(), MINUTE, &[failed(Cause::Unknown(Unknown::Broken))]).await.took,
        );
    }
    let longest = times.iter().max().expect("some");
    let shortest = times.iter().min().expect("some");
    assert!(*longest <= Duration::from_millis(200 + 3 * 300 + 10), "{longest:?}");
    assert!(*shortest < *longest / 2, "full jitter spreads them: {shortest:?} to {longest:?}");
}

#[tokio::test(start_paused = true)]
async fn the_partners_retry_after_is_honoured_unless_it_is_too_long() {
    for (seconds, attempts) in [(1, 2), (3, 1)] {
        let asked = Duration::from_secs(seconds);
        let throttled = NoAnswer {
            cause: Cause::NotExecuted(NotExecuted::Throttled),
            retry_after: Some(asked),
        };
        let ends = [Err(throttled.into()), Ok(1)];
        let trial = trial(RetryConfig::default(), MINUTE, &ends).await;
        assert_eq!(trial.attempts, attempts, "asked for {asked:?}");
        assert!(attempts == 1 || trial.took >= asked);
    }
}

#[tokio::test(start_paused = true)]
async fn no_attempt_is_begun_that_the_deadline_would_end() {
    let throttled = NoAnswer {
        cause: Cause::NotExecuted(NotExecuted::Throttled),
        retry_after: Some(Duration::from_millis(400)),
    };
    let ends = [Err(throttled.into())];
    let trial = trial(RetryConfig::default(), Duration::from_millis(500), &ends).await;
    assert_eq!((trial.attempts, trial.took), (1, Duration::ZERO));
    assert_eq!(trial.told, [Heard::Retried(RetryOutcome::Exhausted)]);
}

#[tokio::test(start_paused = true)]
async fn retries_stay_within_a_tenth_of_the_calls_once_the_savings_are_spent() {
    let observer = Arc::new(RecordingObserver::default());
    let config = RetryConfig {
        budget_min_per_sec: 0.0,
        base: Duration::from_nanos(1),
        ..RetryConfig::default()
    };
    let retry = Retry::new(System::Catalog, config, observer.clone()).expect("valid");
    let attempts = Cell::new(0);
    for _ in 0..1_000 {
        let attempt = || {
            attempts.set(attempts.get() + 1);
            std::future::ready(failed(Cause::Unknown(Unknown::TimedOut)))
        };
        assert!(retry.run(Deadline::after(MINUTE), attempt).await.is_err());
    }
    assert!((1_090..=1_100).contains(&attempts.get()), "{}", attempts.get());
    assert!(observer.count(Heard::Retried(RetryOutcome::Budget)) > 800);
}

/// The guards are asked anew for each attempt.
#[tokio::test(start_paused = true)]
async fn no_permit_is_held_while_a_retry_sleeps() {
    let bench = bench(&steady());
    let bulkhead = BulkheadConfig { max_concurrent: 1, max_queue: 0, ..BulkheadConfig::default() };
    let semaphore =
        Semaphore::new(System::Catalog, &bulkhead, MonotonicClock::Coarse, bench.observer.clone());
    let semaphore = semaphore.expect("valid");
    let retry = Retry::new(System::Catalog, RetryConfig::default(), bench.observer.clone());
    let retry = retry.expect("valid");
    let ends = RefCell::new(vec![
        Ok(5),
        failed(Cause::Unknown(Unknown::TimedOut)),
        failed(Cause::Unknown(Unknown::TimedOut)),
    ]);
    let deadline = Deadline::after(MINUTE);
    let sentence = async || -> End {
        bench.breaker.check()?;
        let permit = semaphore.acquire(deadline).await?;
        let end = ends.borrow_mut().pop().expect("an end");
        permit.hold(bench.breaker.call("read", std::future::ready(end))).await
    };
    let reading = retry.run(deadline, sentence);
    let others = async {
        while !ends.borrow().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(semaphore.snapshot().in_flight, 0, "asleep, or done");
        }
    };
    assert_eq!(tokio::join!(reading, others).0, Ok(5));
    assert_eq!(bench.breaker.snapshot().window.calls, 3);
}
