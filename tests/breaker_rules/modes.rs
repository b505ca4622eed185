//! What a breaker does with its verdict: modes, watched calls, listeners, configuration.

use crate::support::{End, Heard, OPEN, QUICK, SLOW, bench, steady};
use order_service::adapters::resilience::breaker::{
    Breaker, BreakerConfig, BreakerMode, BreakerRejection, BreakerState, Transition,
};
use order_service::adapters::resilience::clock::{ManualClock, MonotonicClock};
use order_service::adapters::resilience::observer::{CallOutcome, Observer};
use order_service::adapters::resilience::verdict::{Failed, Verdict};
use order_service::core::domain::unavailable::{Cause, NotExecuted, Shed, System, Unknown};
use std::future::ready;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

#[test]
fn dry_run_plays_the_whole_life_and_refuses_nobody() {
    let bench = bench(&BreakerConfig { mode: BreakerMode::DryRun, ..steady() });
    bench.break_down();
    assert_eq!(bench.breaker.check(), Ok(()));
    bench.calls(5, Verdict::Failing);
    assert_eq!(bench.observer.count(Heard::WouldReject(BreakerRejection::Open)), 5);
    bench.clock.advance(OPEN);
    bench.calls(3, Verdict::Healthy);
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
    assert_eq!(bench.observer.count(Heard::Rejected(BreakerRejection::Open)), 0);
}

#[test]
fn off_records_nothing_and_refuses_nobody() {
    let bench = bench(&BreakerConfig { mode: BreakerMode::Off, ..steady() });
    bench.calls(100, Verdict::Failing);
    let seen = bench.breaker.snapshot();
    assert_eq!((seen.state, seen.window.calls), (BreakerState::Closed, 0));
}

#[test]
fn forced_open_refuses_everyone_until_its_time_is_over() {
    let bench = bench(&steady());
    bench.breaker.set_mode(BreakerMode::ForcedOpen, Some(Duration::from_secs(60)));
    let refused = bench.breaker.check().expect_err("forced");
    assert_eq!(refused.cause, Cause::NotExecuted(NotExecuted::Shed(Shed::ForcedOpen)));
    assert_eq!(refused.retry_after, Some(Duration::from_secs(60)));
    assert_eq!(bench.refusal(), Some(Cause::NotExecuted(NotExecuted::Shed(Shed::ForcedOpen))));
    assert_eq!(bench.breaker.state(), BreakerState::Closed, "the machine's own state stays");
    bench.clock.advance(Duration::from_secs(60));
    assert_eq!(bench.refusal(), None);
}

#[test]
fn forced_closed_lets_everyone_pass_and_goes_on_watching() {
    let bench = bench(&steady());
    bench.breaker.set_mode(BreakerMode::ForcedClosed, None);
    bench.calls(20, Verdict::Failing);
    assert_eq!(bench.breaker.state(), BreakerState::Open);
    assert_eq!((bench.breaker.check(), bench.refusal()), (Ok(()), None));
}

#[test]
fn an_instance_outside_the_canary_runs_dry_until_an_operator_says_otherwise() {
    let bench = bench(&BreakerConfig { canary_percent: 0, ..steady() });
    assert_eq!(bench.breaker.mode(), BreakerMode::DryRun);
    bench.breaker.set_mode(BreakerMode::Enforce, None);
    assert_eq!(bench.breaker.mode(), BreakerMode::Enforce);
}

#[tokio::test]
async fn an_open_breaker_never_polls_the_call() {
    let bench = bench(&steady());
    bench.break_down();
    let call = async { panic!("it was polled") };
    let refused: End = bench.breaker.call("call", call).await;
    let Err(Failed::NoAnswer(no_answer)) = refused else { panic!("{refused:?}") };
    assert_eq!(no_answer.cause, Shed::BreakerOpen.into());
}

#[tokio::test(start_paused = true)]
async fn each_end_of_a_call_is_told_with_its_outcome() {
    let ends: [(End, CallOutcome); 5] = [
        (Ok(()), CallOutcome::Success),
        (Err(Failed::Answered("declined")), CallOutcome::Success),
        (Err(Unknown::PartnerFailed.into()), CallOutcome::Failure),
        (Err(Unknown::DeadlinePassed.into()), CallOutcome::Ignored),
        (Err(Shed::BulkheadFull.into()), CallOutcome::Ignored),
    ];
    for (end, outcome) in ends {
        let bench = bench(&steady());
        assert_eq!(bench.breaker.call("pay", ready(end)).await, end);
        assert_eq!(bench.observer.read(), [Heard::Called("pay", outcome)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_cancelled_and_a_dropped_slow_one_is_slow() {
    for (wait, outcome) in [(QUICK, CallOutcome::Cancelled), (SLOW, CallOutcome::Slow)] {
        let bench = bench(&steady());
        let hanging = bench.breaker.call("pay", std::future::pending::<End>());
        assert!(tokio::time::timeout(wait, hanging).await.is_err());
        assert_eq!(bench.observer.read(), [Heard::Called("pay", outcome)]);
    }
}

#[tokio::test]
async fn polls_enter_the_window_only_when_they_fail() {
    let bench = bench(&steady());
    for _ in 0..1_000 {
        let good = ready(Ok::<_, Failed<()>>(()));
        assert_eq!(bench.breaker.call_in_background("status", good).await, Ok(()));
    }
    assert_eq!(bench.breaker.snapshot().window.calls, 0);
    let bad = ready(End::Err(Unknown::TimedOut.into()));
    assert!(bench.breaker.call_in_background("status", bad).await.is_err());
    assert_eq!(bench.breaker.snapshot().window.failures, 1);
}

#[tokio::test]
async fn polls_are_full_probes() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    for _ in 0..3 {
        let good = ready(Ok::<_, Failed<()>>(()));
        assert_eq!(bench.breaker.call_in_background("status", good).await, Ok(()));
    }
    assert_eq!(bench.breaker.state(), BreakerState::Closed);
}

/// Calls back into the breaker it hears of, then panics.
#[derive(Debug, Default)]
struct Meddler {
    breaker: OnceLock<Arc<Breaker>>,
    seen: OnceLock<BreakerState>,
}

impl Observer for Meddler {
    fn transition(&self, _: System, transition: &Transition) {
        if transition.to == BreakerState::Open {
            let breaker = self.breaker.get().expect("set");
            self.seen.get_or_init(|| breaker.state());
            assert!(breaker.try_acquire().is_err());
            breaker.reset();
        }
        std::panic::resume_unwind(Box::new("a listener's own affair"));
    }
}

#[test]
fn a_listener_may_call_back_and_may_panic_and_sees_the_new_state() {
    let meddler = Arc::new(Meddler::default());
    let clock = MonotonicClock::from(&ManualClock::new());
    let breaker = Breaker::new(System::Catalog, &steady(), clock, meddler.clone()).expect("valid");
    let breaker = meddler.breaker.get_or_init(|| Arc::new(breaker));
    for _ in 0..10 {
        breaker.try_acquire().expect("closed").record(Verdict::Failing, QUICK);
    }
    assert_eq!(meddler.seen.get(), Some(&BreakerState::Open));
    assert_eq!(breaker.state(), BreakerState::Closed, "the listener reset it");
}

#[test]
fn nonsense_is_refused_with_every_setting_named() {
    let config = BreakerConfig {
        window_size: 0,
        min_requests: 0,
        failure_rate: 1.5,
        slow_call_rate: f64::NAN,
        slow_call_threshold: Duration::ZERO,
        canary_percent: 101,
        open_timeout: Duration::ZERO,
        open_jitter: -1.0,
        half_open_requests: 0,
        half_open_max_in_flight: 0,
        ..BreakerConfig::default()
    };
    let silent = Arc::new(crate::support::RecordingObserver::default());
    let invalid = Breaker::new(System::Catalog, &config, MonotonicClock::Coarse, silent)
        .expect_err("nonsense");
    let names: Vec<_> = invalid.iter().map(|setting| setting.name).collect();
    assert_eq!(
        names,
        [
            "CB_WINDOW_SIZE",
            "CB_MIN_REQUESTS",
            "CB_FAILURE_RATE",
            "CB_SLOW_CALL_RATE",
            "SLOW_CALL_THRESHOLD",
            "CB_CANARY_PERCENT",
            "CB_OPEN_TIMEOUT",
            "CB_OPEN_JITTER",
            "CB_HALF_OPEN_REQUESTS",
            "CB_HALF_OPEN_MAX_IN_FLIGHT",
        ]
    );
    assert_eq!(invalid[2].to_string(), "CB_FAILURE_RATE is 1.5: expected more than 0, at most 1");
}

#[test]
fn the_defaults_are_valid_and_give_no_warning() {
    assert!(BreakerConfig::default().validate().is_empty());
    assert!(BreakerConfig::default().warnings().is_empty());
}

#[test]
fn one_probe_and_a_tiny_window_are_warned_of() {
    let config =
        BreakerConfig { half_open_requests: 1, window_size: 5, min_requests: 2, ..steady() };
    let names: Vec<_> = config.warnings().iter().map(|setting| setting.name).collect();
    assert_eq!(names, ["CB_WINDOW_SIZE", "CB_MIN_REQUESTS", "CB_HALF_OPEN_REQUESTS"]);
}
