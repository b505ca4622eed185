//! A breaker's life by the rules: when it opens, how it recovers, what it does in each mode, and
//! what it must survive.

use crate::support::{News, OPEN, QUICK, SLOW, bench, steady};
use order_service::adapters::resilience::breaker::{
    Breaker, BreakerConfig, Capacity, Mode, SlowAs, State, WindowKind,
};
use order_service::adapters::resilience::clock::{Clock, ManualClock};
use order_service::adapters::resilience::observer::{Observer, Outcome, Rejection, Transition};
use order_service::adapters::resilience::outcome::{Failed, Verdict};
use order_service::core::ports::unavailable::{Cause, NoAnswer, System};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

// --- opening -----------------------------------------------------------------------------------

#[test]
fn it_opens_at_the_threshold_exactly_and_not_below_the_minimum() {
    let bench = bench(&steady());
    bench.calls(6, Verdict::Healthy);
    bench.calls(3, Verdict::Failing);
    assert_eq!(bench.breaker.state(), State::Closed, "nine calls are below the minimum");
    bench.call(Verdict::Healthy);
    assert_eq!(bench.breaker.state(), State::Open, "three of ten are 30 %, seen by a success");
}

#[test]
fn a_minimum_equal_to_below_and_above_the_window_opens_when_it_can() {
    for (window_size, min_requests, failures) in [(10, 10, 10), (10, 4, 4), (10, 25, 10)] {
        let bench =
            bench(&BreakerConfig { window_size, min_requests, failure_rate: 1.0, ..steady() });
        bench.calls(failures - 1, Verdict::Failing);
        assert_eq!(bench.breaker.state(), State::Closed);
        bench.call(Verdict::Failing);
        assert_eq!(bench.breaker.state(), State::Open, "minimum {min_requests}");
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
        assert_eq!(bench.breaker.state(), State::Closed);
        bench.calls(3, Verdict::Failing);
        assert_eq!(bench.breaker.state(), State::Open);
    }
}

#[test]
fn slow_calls_open_it_as_failures_or_by_their_own_rate_or_never() {
    for (slow_as, opens_after) in
        [(SlowAs::Failure, Some(10)), (SlowAs::Rate, Some(10)), (SlowAs::Ignore, None)]
    {
        let bench = bench(&BreakerConfig { slow_as, ..steady() });
        let mut calls = 0;
        while calls < 100 && bench.breaker.state() == State::Closed {
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
        assert_eq!(bench.breaker.snapshot().calls, 0);
    }
    assert_eq!(bench.breaker.state(), State::Closed);
}

#[test]
fn a_standing_clock_still_opens_it() {
    let bench = bench(&BreakerConfig { window: WindowKind::Time, ..steady() });
    bench.break_down();
    assert_eq!(bench.refusal(), Some(Cause::BreakerOpen));
}

#[test]
fn business_answers_and_neutral_ends_never_open_it() {
    let bench = bench(&steady());
    bench.calls(1_000, Verdict::Neutral);
    assert_eq!(bench.breaker.snapshot().calls, 0);
    bench.calls(1_000, Verdict::Healthy);
    assert_eq!(bench.breaker.state(), State::Closed);
}

// --- open and half-open ------------------------------------------------------------------------

#[test]
fn open_lasts_its_time_to_the_millisecond_and_says_how_long() {
    let bench = bench(&steady());
    bench.break_down();
    assert_eq!(bench.breaker.check().map_err(|no| no.retry_after), Err(Some(OPEN)));
    bench.clock.advance(OPEN - Duration::from_nanos(1));
    assert_eq!(bench.refusal(), Some(Cause::BreakerOpen));
    bench.clock.advance(Duration::from_nanos(1));
    assert_eq!(bench.refusal(), None);
}

/// Requirement 045.
#[test]
fn recovery_is_lazy() {
    let config = BreakerConfig { min_requests: 1, half_open_requests: 1, ..steady() };
    let bench = bench(&config);
    bench.call(Verdict::Failing);
    assert_eq!(bench.breaker.state(), State::Open);
    bench.clock.advance(Duration::from_secs(120));
    assert_eq!(bench.breaker.state(), State::Open, "nothing happens by itself");
    bench.call(Verdict::Healthy);
    assert_eq!(bench.breaker.state(), State::Closed);
}

#[test]
fn half_open_needs_every_probe_and_one_at_a_time() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    for _ in 0..3 {
        let probe = bench.breaker.try_acquire().expect("a probe");
        assert_eq!(probe.state(), State::HalfOpen);
        assert_eq!(bench.refusal(), Some(Cause::ProbesTaken), "a reason of its own");
        probe.record(Verdict::Healthy, QUICK);
    }
    assert_eq!(bench.breaker.state(), State::Closed);
    assert_eq!(
        bench.diary.changes(),
        [
            (State::Closed, State::Open),
            (State::Open, State::HalfOpen),
            (State::HalfOpen, State::Closed)
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
    assert_eq!(bench.diary.count(News::Rejected(Rejection::HalfOpenFull)), 97);
}

#[test]
fn ignored_outcomes_leave_half_open_as_it_was() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    bench.calls(50, Verdict::Neutral);
    assert_eq!(bench.breaker.state(), State::HalfOpen);
    bench.calls(3, Verdict::Healthy);
    assert_eq!(bench.breaker.state(), State::Closed);
}

#[test]
fn probes_that_are_forgotten_are_given_up_for_lost() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    std::mem::forget(bench.breaker.try_acquire().expect("a probe"));
    bench.clock.advance(Duration::from_secs(59));
    assert_eq!(bench.refusal(), Some(Cause::ProbesTaken));
    bench.clock.advance(Duration::from_secs(2));
    bench.calls(3, Verdict::Healthy);
    assert_eq!(bench.breaker.state(), State::Closed);
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
    assert_eq!(bench.breaker.state(), State::HalfOpen);
    bench.calls(2, Verdict::Healthy);
    assert_eq!(bench.breaker.state(), State::Closed);
}

#[test]
fn slow_probes_reopen_it_when_their_share_is_too_large() {
    let bench = bench(&BreakerConfig { slow_as: SlowAs::Rate, ..steady() });
    bench.break_down_and_wait();
    for elapsed in [SLOW, SLOW, QUICK] {
        bench.breaker.try_acquire().expect("a probe").record(Verdict::Healthy, elapsed);
    }
    assert_eq!(bench.breaker.state(), State::Open);
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

// --- coming back -------------------------------------------------------------------------------

#[test]
fn fetched_work_comes_back_gradually_while_live_calls_pass() {
    let bench = bench(&steady());
    assert_eq!(bench.breaker.capacity(20), Capacity { calls: 20, ask_again: None });
    bench.break_down();
    assert_eq!(bench.breaker.capacity(20), Capacity { calls: 0, ask_again: Some(OPEN) });
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
fn live_calls_come_back_gradually_if_so_configured() {
    fastrand::seed(7);
    let bench = bench(&BreakerConfig { ramp_sheds: true, ..steady() });
    bench.break_down_and_wait();
    bench.calls(3, Verdict::Healthy);
    let admitted = || (0..1_000).filter(|_| bench.breaker.try_acquire().is_ok()).count();
    assert!((50..200).contains(&admitted()), "a tenth at first");
    bench.clock.advance(Duration::from_secs(5));
    assert!((450..650).contains(&admitted()));
    bench.clock.advance(Duration::from_secs(5));
    assert_eq!(admitted(), 1_000);
}

#[test]
fn a_reset_closes_it_with_an_empty_window() {
    let bench = bench(&steady());
    bench.break_down();
    bench.breaker.reset();
    let seen = bench.breaker.snapshot();
    assert_eq!((seen.state, seen.calls), (State::Closed, 0));
    bench.calls(9, Verdict::Failing);
    bench.breaker.reset();
    bench.calls(9, Verdict::Failing);
    assert_eq!(bench.breaker.state(), State::Closed);
}

// --- modes -------------------------------------------------------------------------------------

#[test]
fn dry_run_plays_the_whole_life_and_refuses_nobody() {
    let bench = bench(&BreakerConfig { mode: Mode::DryRun, ..steady() });
    bench.break_down();
    assert_eq!(bench.breaker.check(), Ok(()));
    bench.calls(5, Verdict::Failing);
    assert_eq!(bench.diary.count(News::WouldReject(Rejection::Open)), 5);
    bench.clock.advance(OPEN);
    bench.calls(3, Verdict::Healthy);
    assert_eq!(bench.breaker.state(), State::Closed);
    assert_eq!(bench.diary.count(News::Rejected(Rejection::Open)), 0);
}

#[test]
fn off_records_nothing_and_refuses_nobody() {
    let bench = bench(&BreakerConfig { mode: Mode::Off, ..steady() });
    bench.calls(100, Verdict::Failing);
    let seen = bench.breaker.snapshot();
    assert_eq!((seen.state, seen.calls), (State::Closed, 0));
}

#[test]
fn forced_open_refuses_everyone_until_its_time_is_over() {
    let bench = bench(&steady());
    bench.breaker.set_mode(Mode::ForcedOpen, Some(Duration::from_secs(60)));
    let refused = bench.breaker.check().expect_err("forced");
    assert_eq!(refused.cause, Cause::ForcedOpen);
    assert_eq!(refused.retry_after, Some(Duration::from_secs(60)));
    assert_eq!(bench.refusal(), Some(Cause::ForcedOpen));
    assert_eq!(bench.breaker.state(), State::Closed, "the machine's own state stays");
    bench.clock.advance(Duration::from_secs(60));
    assert_eq!(bench.refusal(), None);
}

#[test]
fn forced_closed_lets_everyone_pass_and_goes_on_watching() {
    let bench = bench(&steady());
    bench.breaker.set_mode(Mode::ForcedClosed, None);
    bench.calls(20, Verdict::Failing);
    assert_eq!(bench.breaker.state(), State::Open);
    assert_eq!((bench.breaker.check(), bench.refusal()), (Ok(()), None));
}

#[test]
fn an_instance_outside_the_canary_runs_dry_until_an_operator_says_otherwise() {
    let bench = bench(&BreakerConfig { canary_percent: 0, ..steady() });
    assert_eq!(bench.breaker.mode(), Mode::DryRun);
    bench.breaker.set_mode(Mode::Enforce, None);
    assert_eq!(bench.breaker.mode(), Mode::Enforce);
}

// --- watching ----------------------------------------------------------------------------------

#[tokio::test]
async fn an_open_breaker_never_polls_the_call() {
    let bench = bench(&steady());
    bench.break_down();
    let call = async { panic!("it was polled") };
    let refused: Result<(), NoAnswer> = bench.breaker.watch("call", call).await;
    assert_eq!(refused.map_err(|no| no.cause), Err(Cause::BreakerOpen));
}

#[tokio::test(start_paused = true)]
async fn each_end_of_a_call_is_told_with_its_outcome() {
    type End = Result<(), Failed<&'static str>>;
    let ends: [(End, Outcome); 5] = [
        (Ok(()), Outcome::Success),
        (Err(Failed::Answered("declined")), Outcome::Success),
        (Err(Cause::PartnerFailed.into()), Outcome::Failure),
        (Err(Cause::DeadlinePassed.into()), Outcome::Ignored),
        (Err(Cause::BulkheadFull.into()), Outcome::Ignored),
    ];
    for (end, outcome) in ends {
        let bench = bench(&steady());
        assert_eq!(bench.breaker.watch("pay", std::future::ready(end)).await, end);
        assert_eq!(bench.diary.read(), [News::Called("pay", outcome)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_cancelled_and_a_dropped_slow_one_is_slow() {
    for (wait, outcome) in [(QUICK, Outcome::Cancelled), (SLOW, Outcome::Slow)] {
        let bench = bench(&steady());
        let hanging = bench.breaker.watch("pay", std::future::pending::<Result<(), NoAnswer>>());
        assert!(tokio::time::timeout(wait, hanging).await.is_err());
        assert_eq!(bench.diary.read(), [News::Called("pay", outcome)]);
    }
}

#[tokio::test]
async fn polls_enter_the_window_only_when_they_fail() {
    let bench = bench(&steady());
    for _ in 0..1_000 {
        let good = async { Ok::<(), NoAnswer>(()) };
        assert_eq!(bench.breaker.watch_poll("status", good).await, Ok(()));
    }
    assert_eq!(bench.breaker.snapshot().calls, 0);
    let bad = async { Err::<(), _>(NoAnswer::new(Cause::TimedOut)) };
    assert!(bench.breaker.watch_poll("status", bad).await.is_err());
    assert_eq!(bench.breaker.snapshot().failures, 1);
}

#[tokio::test]
async fn polls_are_full_probes() {
    let bench = bench(&steady());
    bench.break_down_and_wait();
    for _ in 0..3 {
        let good = async { Ok::<(), NoAnswer>(()) };
        assert_eq!(bench.breaker.watch_poll("status", good).await, Ok(()));
    }
    assert_eq!(bench.breaker.state(), State::Closed);
}

// --- listeners ---------------------------------------------------------------------------------

/// Calls back into the breaker it hears of, then panics.
#[derive(Debug, Default)]
struct Meddler {
    breaker: OnceLock<Arc<Breaker>>,
    seen: OnceLock<State>,
}

impl Observer for Meddler {
    fn transition(&self, transition: &Transition) {
        if transition.to == State::Open {
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
    let clock = Clock::from(&ManualClock::new());
    let breaker = Breaker::new(System::Sber, &steady(), clock, meddler.clone()).expect("valid");
    let breaker = meddler.breaker.get_or_init(|| Arc::new(breaker));
    for _ in 0..10 {
        breaker.try_acquire().expect("closed").record(Verdict::Failing, QUICK);
    }
    assert_eq!(meddler.seen.get(), Some(&State::Open));
    assert_eq!(breaker.state(), State::Closed, "the listener reset it");
}

// --- configuration -----------------------------------------------------------------------------

#[test]
fn nonsense_is_refused_with_every_fault_named() {
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
    let silent = Arc::new(crate::support::Diary::default());
    let faults = Breaker::new(System::Sber, &config, Clock::Coarse, silent).expect_err("nonsense");
    let knobs: Vec<_> = faults.iter().map(|fault| fault.knob).collect();
    assert_eq!(
        knobs,
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
    assert_eq!(faults[2].to_string(), "CB_FAILURE_RATE is 1.5: expected more than 0, at most 1");
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
    let knobs: Vec<_> = config.warnings().iter().map(|fault| fault.knob).collect();
    assert_eq!(knobs, ["CB_WINDOW_SIZE", "CB_MIN_REQUESTS", "CB_HALF_OPEN_REQUESTS"]);
}
