//! The breakers under test behind one interface: a call that succeeds or fails, on a breaker that
//! stays closed or stays open.

use circuitbreaker_rs::{CircuitBreaker as Rs, DefaultPolicy};
use failsafe::backoff::Constant;
use failsafe::failure_policy::{self, ConsecutiveFailures, SuccessRateOverTimeWindow};
use failsafe::{CircuitBreaker as _, StateMachine};
use futures_util::FutureExt;
use order_service::adapters::resilience::breaker::{
    Breaker, BreakerConfig, BreakerState, Keyed, WindowKind,
};
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::observer::Silent;
use order_service::adapters::resilience::verdict::{Failed, Verdict};
use order_service::core::domain::unavailable::{System, Unknown};
use std::future::ready;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tower::{Layer, Service, service_fn};
use tower_resilience_circuitbreaker as tower_resilience;

const MINUTE: Duration = Duration::from_secs(60);
const QUICK: Duration = Duration::from_millis(3);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    Healthy,
    /// A fifth of the calls fails; the threshold is a half.
    Failures,
    /// Every call is refused.
    Open,
}

pub trait Subject: Sync + Sized {
    /// What each thread brings; for services that want `&mut self`.
    type Handle;
    const NAME: &str;
    fn new(load: Load) -> Self;
    fn handle(&self) -> Self::Handle;
    fn call(&self, handle: &mut Self::Handle, ok: bool);

    /// Fails until it must be open, if it is to be open.
    fn ready(self, load: Load) -> Self {
        let mut handle = self.handle();
        for _ in 0..200 {
            self.call(&mut handle, load != Load::Open);
        }
        self
    }
}

fn breaker(window: WindowKind) -> Breaker {
    let config = BreakerConfig {
        window,
        failure_rate: 0.5,
        open_timeout: MINUTE,
        ..BreakerConfig::default()
    };
    Breaker::new(System::Catalog, &config, MonotonicClock::Coarse, Arc::new(Silent)).expect("valid")
}

const fn verdict(ok: bool) -> Verdict {
    if ok { Verdict::Healthy } else { Verdict::Failing }
}

pub struct Ours(Breaker);

impl Subject for Ours {
    type Handle = ();
    const NAME: &str = "ours, permit";

    fn new(load: Load) -> Self {
        Self(breaker(WindowKind::Count)).ready(load)
    }

    fn handle(&self) {}

    fn call(&self, (): &mut (), ok: bool) {
        if let Ok(permit) = self.0.try_acquire() {
            black_box(permit.record(verdict(black_box(ok)), QUICK));
        }
    }
}

pub struct OursTime(Breaker);

impl Subject for OursTime {
    type Handle = ();
    const NAME: &str = "ours, permit, time window";

    fn new(load: Load) -> Self {
        Self(breaker(WindowKind::Time)).ready(load)
    }

    fn handle(&self) {}

    fn call(&self, (): &mut (), ok: bool) {
        if let Ok(permit) = self.0.try_acquire() {
            black_box(permit.record(verdict(black_box(ok)), QUICK));
        }
    }
}

pub struct OursCheck(Breaker);

impl Subject for OursCheck {
    type Handle = ();
    const NAME: &str = "ours, check (what sheds in adapters)";

    fn new(load: Load) -> Self {
        let breaker = Ours::new(load).0;
        assert_eq!(breaker.state() == BreakerState::Open, load == Load::Open);
        Self(breaker)
    }

    fn handle(&self) {}

    fn call(&self, (): &mut (), _ok: bool) {
        black_box(self.0.check().is_err());
    }
}

pub struct OursCall(Breaker);

impl Subject for OursCall {
    type Handle = ();
    const NAME: &str = "ours, call (takes its time)";

    fn new(load: Load) -> Self {
        Self(breaker(WindowKind::Count)).ready(load)
    }

    fn handle(&self) {}

    fn call(&self, (): &mut (), ok: bool) {
        let answer =
            if black_box(ok) { Ok(()) } else { Err(Failed::<()>::from(Unknown::TimedOut)) };
        black_box(self.0.call("call", ready(answer)).now_or_never());
    }
}

pub struct RecloserSync(recloser::Recloser);

fn recloser() -> recloser::Recloser {
    recloser::Recloser::custom().error_rate(0.5).closed_len(50).open_wait(MINUTE).build()
}

impl Subject for RecloserSync {
    type Handle = ();
    const NAME: &str = "recloser 1.4.0";

    fn new(load: Load) -> Self {
        Self(recloser()).ready(load)
    }

    fn handle(&self) {}

    fn call(&self, (): &mut (), ok: bool) {
        let _end = black_box(self.0.call(|| if black_box(ok) { Ok(()) } else { Err(()) }));
    }
}

pub struct RecloserAsync(recloser::AsyncRecloser);

impl Subject for RecloserAsync {
    type Handle = ();
    const NAME: &str = "recloser 1.4.0, async";

    fn new(load: Load) -> Self {
        Self(recloser().into()).ready(load)
    }

    fn handle(&self) {}

    fn call(&self, (): &mut (), ok: bool) {
        let answer = ready(if black_box(ok) { Ok(()) } else { Err(()) });
        black_box(self.0.call(answer).now_or_never());
    }
}

type Policy<P> = StateMachine<P, ()>;

pub struct FailsafeConsecutive(Policy<ConsecutiveFailures<Constant>>);

impl Subject for FailsafeConsecutive {
    type Handle = ();
    const NAME: &str = "failsafe 1.3.0, consecutive";

    fn new(load: Load) -> Self {
        let policy = failure_policy::consecutive_failures(5, failsafe::backoff::constant(MINUTE));
        Self(failsafe::Config::new().failure_policy(policy).build()).ready(load)
    }

    fn handle(&self) {}

    fn call(&self, (): &mut (), ok: bool) {
        let _end = black_box(self.0.call(|| if black_box(ok) { Ok(()) } else { Err(()) }));
    }
}

pub struct FailsafeRate(Policy<SuccessRateOverTimeWindow<Constant>>);

impl Subject for FailsafeRate {
    type Handle = ();
    const NAME: &str = "failsafe 1.3.0, rate";

    fn new(load: Load) -> Self {
        let policy = failure_policy::success_rate_over_time_window(
            0.5,
            10,
            Duration::from_secs(10),
            failsafe::backoff::constant(MINUTE),
        );
        Self(failsafe::Config::new().failure_policy(policy).build()).ready(load)
    }

    fn handle(&self) {}

    fn call(&self, (): &mut (), ok: bool) {
        let _end = black_box(self.0.call(|| if black_box(ok) { Ok(()) } else { Err(()) }));
    }
}

pub struct CircuitBreakerRs(Rs<DefaultPolicy, std::fmt::Error>);

impl Subject for CircuitBreakerRs {
    type Handle = ();
    const NAME: &str = "circuitbreaker-rs 0.1.1";

    fn new(load: Load) -> Self {
        let breaker = Rs::<DefaultPolicy, _>::builder()
            .failure_threshold(0.5)
            .min_throughput(10)
            .cooldown(MINUTE);
        Self(breaker.build()).ready(load)
    }

    fn handle(&self) {}

    fn call(&self, (): &mut (), ok: bool) {
        let call = || if black_box(ok) { Ok(()) } else { Err(std::fmt::Error) };
        let _end = black_box(self.0.call(call));
    }
}

/// A tower layer: it can only be called as a service, so each thread brings its clone.
pub struct TowerResilience(Mutex<Layered>);

type Answering = fn(bool) -> std::future::Ready<Result<(), ()>>;
type Layered = tower_resilience::CircuitBreaker<
    tower::util::ServiceFn<Answering>,
    tower_resilience::DefaultClassifier,
>;

impl Subject for TowerResilience {
    type Handle = Layered;
    const NAME: &str = "tower-resilience-…breaker 0.14.0";

    fn new(load: Load) -> Self {
        let layer = tower_resilience::circuit_breaker_builder()
            .failure_rate_threshold(0.5)
            .sliding_window_size(50)
            .minimum_number_of_calls(10)
            .wait_duration_in_open(MINUTE)
            .build()
            .expect("valid");
        let answering: Answering = |ok| ready(if black_box(ok) { Ok(()) } else { Err(()) });
        Self(Mutex::new(layer.layer(service_fn(answering)))).ready(load)
    }

    fn handle(&self) -> Layered {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn call(&self, service: &mut Layered, ok: bool) {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        if service.poll_ready(&mut context).is_ready() {
            black_box(service.call(ok).now_or_never());
        }
    }
}

/// What one writes by hand: correct, and everyone waits for everyone.
pub struct MutexRing(Mutex<Ring>);

struct Ring {
    calls: [bool; 50],
    seen: usize,
    failures: usize,
    open_until: Option<tokio::time::Instant>,
}

impl Subject for MutexRing {
    type Handle = ();
    const NAME: &str = "std Mutex and a ring";

    fn new(load: Load) -> Self {
        let ring = Ring { calls: [false; 50], seen: 0, failures: 0, open_until: None };
        Self(Mutex::new(ring)).ready(load)
    }

    fn handle(&self) {}

    fn call(&self, (): &mut (), ok: bool) {
        let ring = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ring().open_until.is_some_and(|until| tokio::time::Instant::now() < until) {
            return;
        }
        let failed = !black_box(ok);
        let mut ring = ring();
        let slot = ring.seen % 50;
        ring.failures += usize::from(failed);
        ring.failures -= usize::from(ring.calls[slot]);
        ring.calls[slot] = failed;
        ring.seen += 1;
        if ring.seen >= 10 && ring.failures * 2 >= ring.seen.min(50) {
            ring.open_until = Some(tokio::time::Instant::now() + MINUTE);
        }
    }
}

/// So many breakers of a keyed set, each with its key.
pub fn crowd(count: u32) -> Keyed<u32> {
    let capacity = usize::try_from(count).expect("fits");
    let config = BreakerConfig::default();
    let keyed =
        Keyed::new(System::Catalog, &config, capacity, MonotonicClock::Coarse, Arc::new(Silent));
    let keyed = keyed.expect("valid");
    for key in 0..count {
        let _made = keyed.get(&key);
    }
    keyed
}
