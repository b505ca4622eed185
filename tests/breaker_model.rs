//! Random schedules of everything that can be done to a breaker, beside a plain model of it that
//! keeps every call in a list and every permit in a map. After each step both must agree on what
//! was admitted, on the state and on the counts.

use order_service::adapters::resilience::breaker::{
    Breaker, BreakerConfig, BreakerState, CallPermit, SlowAs, Transition, WindowKind,
};
use order_service::adapters::resilience::clock::{ManualClock, MonotonicClock};
use order_service::adapters::resilience::observer::Observer;
use order_service::adapters::resilience::verdict::Verdict;
use order_service::core::domain::unavailable::{Cause, NotExecuted, Shed, System};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
enum Operation {
    Admit,
    /// Ends the n-th open permit.
    End(usize, Verdict, bool),
    Drop(usize),
    Leak(usize),
    Wait(u64),
    Reset,
}

fn steps() -> impl Strategy<Value = Vec<Operation>> {
    let verdict = prop_oneof![
        3 => Just(Verdict::Healthy), 4 => Just(Verdict::Failing), 1 => Just(Verdict::Neutral)
    ];
    let step = prop_oneof![
        12 => Just(Operation::Admit),
        12 => (0..4_usize, verdict, prop::bool::weighted(0.2))
            .prop_map(|(permit, verdict, slow)| Operation::End(permit, verdict, slow)),
        1 => (0..4_usize).prop_map(Operation::Drop),
        1 => (0..4_usize).prop_map(Operation::Leak),
        3 => prop_oneof![1..50_u64, 900..1_100_u64, 5_000..6_000_u64, Just(3_600_000)]
            .prop_map(Operation::Wait),
        1 => prop::bool::weighted(0.1).prop_map(|now| if now { Operation::Reset } else { Operation::Admit }),
    ];
    prop::collection::vec(step, 1..400)
}

fn configs() -> impl Strategy<Value = BreakerConfig> {
    let window = prop_oneof![
        3 => Just(WindowKind::Count), 2 => Just(WindowKind::Time), 1 => Just(WindowKind::Consecutive)
    ];
    let slow_as = prop_oneof![Just(SlowAs::Failure), Just(SlowAs::Rate), Just(SlowAs::Ignore)];
    let sizes = (prop_oneof![1..=30_u32, 100..=200_u32], 1..=20_u32, 1..=14_u32);
    let rates = (0.05..=1.0_f64, 0.05..=1.0_f64, 0..=6_u32);
    let probes = (1..=5_u32, 1..=4_u32, prop::option::of(2_000..10_000_u64));
    (window, slow_as, sizes, rates, probes).prop_map(
        |(
            window,
            slow_as,
            (size, min, buckets),
            (failure, slow, streak),
            (probes, flight, grow),
        )| {
            BreakerConfig {
                window,
                window_size: size,
                window_duration: Duration::from_millis(100) * buckets,
                window_buckets: buckets,
                min_requests: min,
                failure_rate: failure,
                slow_call_rate: slow,
                consecutive_failures: streak.max(u32::from(window == WindowKind::Consecutive)),
                slow_as,
                slow_call_threshold: SLOW,
                open_timeout: Duration::from_millis(1_000),
                open_jitter: 0.0,
                open_timeout_max: grow.map(Duration::from_millis),
                half_open_requests: probes,
                half_open_max_in_flight: flight,
                probe_timeout: Duration::from_millis(5_000),
                ..BreakerConfig::default()
            }
        },
    )
}

const SLOW: Duration = Duration::from_millis(500);

/// The plain model: lists, no packing, no sharing.
struct Model {
    config: BreakerConfig,
    now: u64,
    generation: u32,
    level: u32,
    phase: Phase,
}

enum Phase {
    Closed { calls: Vec<Call>, closed_at: Option<u64> },
    Open { until: u64 },
    HalfOpen { in_flight: u32, passed: u32, slow: u32, progress: u64 },
}

#[derive(Clone, Copy)]
struct Call {
    at: u64,
    failed: bool,
    slow: bool,
}

#[derive(Debug, Clone, Copy)]
struct Admission {
    generation: u32,
}

impl Model {
    const fn new(config: BreakerConfig, now: u64) -> Self {
        let phase = Phase::Closed { calls: Vec::new(), closed_at: None };
        Self { config, now, generation: 0, level: 0, phase }
    }

    fn go(&mut self, phase: Phase) {
        self.generation += 1;
        self.phase = phase;
    }

    fn admit(&mut self) -> Result<Admission, Cause> {
        let (now, most) = (self.now, self.config.half_open_max_in_flight);
        match &mut self.phase {
            Phase::Closed { .. } => return Ok(Admission { generation: self.generation }),
            Phase::Open { until } if now < *until => {
                return Err(Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen)));
            }
            Phase::HalfOpen { in_flight, passed, progress, .. }
                if *in_flight < most && *in_flight + *passed < self.config.half_open_requests =>
            {
                *in_flight += 1;
                *progress = now;
            }
            // Progress is kept in units of 64 ms.
            Phase::HalfOpen { progress, .. } if (now / 64 - *progress / 64) * 64 < 5_000 => {
                return Err(Cause::NotExecuted(NotExecuted::Shed(Shed::ProbesTaken)));
            }
            Phase::Open { .. } | Phase::HalfOpen { .. } => {
                self.go(Phase::HalfOpen { in_flight: 1, passed: 0, slow: 0, progress: now });
            }
        }
        Ok(Admission { generation: self.generation })
    }

    fn open(&mut self) {
        let most = self.config.open_timeout_max.map_or(1_000, |most| millis(most).max(1_000));
        let until = self.now + (1_000 << self.level).min(most);
        self.go(Phase::Open { until });
    }

    /// `None` for a call that says nothing.
    fn end(&mut self, pass: Admission, sample: Option<(bool, bool)>) {
        if pass.generation != self.generation {
            return;
        }
        let now = self.now;
        match (&mut self.phase, sample) {
            (Phase::Closed { calls, .. }, Some((failed, slow))) => {
                calls.push(Call { at: now, failed, slow });
                if self.must_open() {
                    self.count_flapping();
                    self.open();
                }
            }
            (Phase::HalfOpen { in_flight, progress, .. }, None) => {
                *in_flight -= 1;
                *progress = now;
            }
            (Phase::HalfOpen { .. }, Some((true, _))) => self.open(),
            (Phase::HalfOpen { in_flight, passed, slow: slows, progress }, Some((_, slow))) => {
                *in_flight -= 1;
                *passed += 1;
                *slows += u32::from(slow);
                *progress = now;
                let (passed, slows) = (*passed, *slows);
                if passed == self.config.half_open_requests {
                    if self.too_slow(slows as usize, passed as usize) {
                        self.open();
                    } else {
                        self.go(Phase::Closed { calls: Vec::new(), closed_at: Some(now) });
                    }
                }
            }
            (Phase::Closed { .. }, None) | (Phase::Open { .. }, _) => {}
        }
    }

    fn count_flapping(&mut self) {
        let Phase::Closed { closed_at, .. } = &self.phase else { return };
        self.level = match closed_at.map(|at| (self.now - at) / 10_000) {
            None => 0,
            Some(0) => (self.level + 1).min(7),
            Some(calms) => self.level.saturating_sub(u32::try_from(calms).unwrap_or(u32::MAX)),
        };
    }

    /// Calls, failures, slow ones, as the window has them.
    fn window(&self) -> (usize, usize, usize) {
        let Phase::Closed { calls, .. } = &self.phase else { return (0, 0, 0) };
        let kept: Vec<&Call> = match self.config.window {
            WindowKind::Count => {
                calls.iter().rev().take(self.config.window_size as usize).collect()
            }
            WindowKind::Time => {
                let oldest = (self.now / 100 + 1).saturating_sub(self.config.window_buckets.into());
                calls.iter().filter(|call| call.at / 100 >= oldest).collect()
            }
            WindowKind::Consecutive => calls.iter().rev().take_while(|call| call.failed).collect(),
        };
        let failures = kept.iter().filter(|call| call.failed).count();
        let slow = kept.iter().filter(|call| call.slow).count();
        let streak_only = self.config.window == WindowKind::Consecutive;
        (kept.len(), failures, if streak_only { 0 } else { slow })
    }

    fn must_open(&self) -> bool {
        let Phase::Closed { calls: all, .. } = &self.phase else { return false };
        let streak = all.iter().rev().take_while(|call| call.failed).count();
        let wanted = self.config.consecutive_failures as usize;
        let (calls, failures, slow) = self.window();
        let enough = calls >= self.config.effective_min_requests() as usize;
        let by_rate = self.config.window != WindowKind::Consecutive
            && enough
            && (reaches(failures, calls, self.config.failure_rate) || self.too_slow(slow, calls));
        by_rate || (wanted > 0 && streak >= wanted)
    }

    fn too_slow(&self, slow: usize, calls: usize) -> bool {
        self.config.slow_as == SlowAs::Rate && reaches(slow, calls, self.config.slow_call_rate)
    }

    const fn state(&self) -> BreakerState {
        match self.phase {
            Phase::Closed { .. } => BreakerState::Closed,
            Phase::Open { until } if self.now < until => BreakerState::Open,
            // Once its time is over, whether anybody calls or not.
            Phase::Open { .. } | Phase::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }
}

/// In millionths, as the breaker compares.
fn reaches(part: usize, whole: usize, share: f64) -> bool {
    part as f64 * 1e6 >= (share * 1e6).round() * whole as f64
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).expect("small")
}

fn sample(verdict: Verdict, slow: bool, slow_as: SlowAs) -> Option<(bool, bool)> {
    match (verdict, slow, slow_as) {
        (Verdict::Failing, slow, _) => Some((true, slow)),
        (Verdict::Healthy, false, _) => Some((false, false)),
        (Verdict::Neutral, false, _) | (Verdict::Neutral, true, SlowAs::Ignore) => None,
        (_, true, SlowAs::Failure) => Some((true, true)),
        (_, true, SlowAs::Rate) | (Verdict::Healthy, true, SlowAs::Ignore) => Some((false, true)),
    }
}

#[derive(Debug, Default)]
struct RecordingObserver(Mutex<Vec<Transition>>);

impl Observer for RecordingObserver {
    fn transition(&self, _: System, transition: &Transition) {
        self.0.lock().expect("no panics").push(*transition);
    }
}

fn play(config: &BreakerConfig, steps: &[Operation]) -> Result<(), TestCaseError> {
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(1));
    let observer = Arc::new(RecordingObserver::default());
    let breaker =
        Breaker::new(System::Catalog, config, MonotonicClock::from(&clock), observer.clone())
            .map_err(|invalid| TestCaseError::fail(format!("{invalid:?}")))?;
    let mut model = Model::new(config.clone(), 1_000);
    let mut permits: Vec<(CallPermit<'_>, Admission)> = Vec::new();
    for step in steps {
        match *step {
            Operation::Admit => {
                let expected = model.admit();
                let got = breaker.try_acquire();
                prop_assert_eq!(
                    got.as_ref().map(drop).map_err(|no| no.cause),
                    expected.as_ref().map(drop).map_err(|cause| *cause)
                );
                permits.extend(got.ok().zip(expected.ok()));
            }
            Operation::End(n, verdict, slow) if n < permits.len() => {
                let (permit, pass) = permits.swap_remove(n);
                permit.record(verdict, if slow { SLOW } else { Duration::ZERO });
                model.end(pass, sample(verdict, slow, config.slow_as));
            }
            Operation::Drop(n) if n < permits.len() => {
                let (permit, pass) = permits.swap_remove(n);
                drop(permit);
                model.end(pass, None);
            }
            Operation::Leak(n) if n < permits.len() => std::mem::forget(permits.swap_remove(n)),
            Operation::Wait(wait) => {
                clock.advance(Duration::from_millis(wait));
                model.now += wait;
            }
            Operation::Reset => {
                breaker.reset();
                model.level = 0;
                model.go(Phase::Closed { calls: Vec::new(), closed_at: None });
            }
            Operation::End(..) | Operation::Drop(_) | Operation::Leak(_) => {}
        }
        let seen = breaker.snapshot();
        prop_assert_eq!(seen.state, model.state(), "after {:?}", step);
        let (calls, failures, slow) = model.window();
        let counts = (calls as u64, failures as u64, slow as u64);
        prop_assert_eq!(
            (seen.window.calls, seen.window.failures, seen.window.slow),
            counts,
            "after {:?}",
            step
        );
    }
    follow_one_another(&observer.0.lock().expect("no panics"))
}

/// Each change is told once, and begins where the one before it ended.
fn follow_one_another(transitions: &[Transition]) -> Result<(), TestCaseError> {
    let mut state = BreakerState::Closed;
    for pair in transitions.windows(2) {
        prop_assert!(pair[0].generation < pair[1].generation);
    }
    for transition in transitions {
        prop_assert_eq!(transition.from, state);
        prop_assert!((0.0..=1.0).contains(&transition.failure_rate()));
        state = transition.to;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_breaker_does_what_a_plain_model_of_it_does(config in configs(), steps in steps()) {
        play(&config, &steps)?;
    }
}
