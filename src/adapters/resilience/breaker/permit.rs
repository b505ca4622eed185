//! The right to one call, given back on every path: a verdict, a drop, a panic.

use super::config::SlowAs;
use super::guard::Breaker;
use super::machine::Pass;
use super::rules::Tally;
use super::window::Sample;
use crate::adapters::resilience::observer::Outcome;
use crate::adapters::resilience::outcome::{Unanswered, Verdict};
use crate::adapters::resilience::trail::follow;
use crate::core::domain::unavailable::NoAnswer;
use std::time::Duration;
use tokio::time::Instant;

/// Admits one call. Dropped without a verdict it says nothing of the partner and gives a probe's
/// place back; dropped by a panic it counts as a failure.
#[derive(Debug)]
#[must_use = "a permit that is dropped at once cancels the call it was for"]
pub struct Permit<'a> {
    breaker: &'a Breaker,
    pass: Pass,
}

impl<'a> Permit<'a> {
    #[inline]
    pub(super) const fn new(breaker: &'a Breaker, pass: Pass) -> Self {
        Self { breaker, pass }
    }

    /// The state in which the call was admitted.
    #[must_use]
    pub fn state(&self) -> super::State {
        if !self.pass.is_watched() {
            self.breaker.state()
        } else if self.pass.is_probe() {
            super::State::HalfOpen
        } else {
            super::State::Closed
        }
    }

    /// Records how the call ended, and says how that counted.
    #[inline]
    pub fn record(self, verdict: Verdict, elapsed: Duration) -> Outcome {
        let shared = &*self.breaker.shared;
        if verdict == Verdict::Healthy
            && elapsed < shared.slow_call_threshold
            && self.breaker.machine.is_unmoved_by_good(&shared.rules, self.pass)
        {
            std::mem::forget(self);
            return Outcome::Success;
        }
        self.finish(verdict, elapsed, Attention::Full)
    }

    fn finish(self, verdict: Verdict, elapsed: Duration, attention: Attention) -> Outcome {
        let (breaker, pass) = (self.breaker, self.pass);
        std::mem::forget(self);
        let slow = elapsed >= breaker.shared.slow_call_threshold;
        let (sample, outcome) = weigh(verdict, slow, breaker.shared.slow_as);
        if pass.is_watched() {
            let counts = |sample: &Sample| {
                attention == Attention::Full || pass.is_probe() || !sample.is_good()
            };
            breaker.settle(pass, sample.filter(counts));
        }
        outcome
    }
}

impl Drop for Permit<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.pass.is_watched() {
            abandon(self.breaker, self.pass);
        }
    }
}

#[cold]
fn abandon(breaker: &Breaker, pass: Pass) {
    breaker.settle(pass, std::thread::panicking().then_some(Sample::FAILED));
}

/// Which ends of a call enter the window of a closed breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attention {
    Full,
    /// Only bad ones: many good polls must not hide that the calls that matter fail.
    OnlyBad,
}

/// What the window gets, and how the call counts outside. A call that nobody waited for any longer
/// is not the partner's fault, unless it was too slow already (requirement 083).
#[inline]
fn weigh(verdict: Verdict, slow: bool, slow_as: SlowAs) -> (Option<Sample>, Outcome) {
    match (verdict, slow, slow_as) {
        (Verdict::Failing, slow, _) => (Some(Sample { failed: true, slow }), Outcome::Failure),
        (Verdict::Healthy, false, _) => (Some(Sample::GOOD), Outcome::Success),
        (Verdict::Neutral, false, _) | (Verdict::Neutral, true, SlowAs::Ignore) => {
            (None, Outcome::Ignored)
        }
        (Verdict::Healthy | Verdict::Neutral, true, SlowAs::Failure) => {
            (Some(Sample { failed: true, slow: true }), Outcome::Slow)
        }
        (Verdict::Healthy | Verdict::Neutral, true, SlowAs::Rate)
        | (Verdict::Healthy, true, SlowAs::Ignore) => (Some(Sample::SLOW), Outcome::Slow),
    }
}

impl Breaker {
    /// Records the end of a watched call; `None` says nothing of the partner.
    #[inline]
    fn settle(&self, pass: Pass, sample: Option<Sample>) {
        match sample {
            Some(sample) if !pass.is_probe() => {
                let (rules, world) = (&self.shared.rules, &*self.shared);
                if let Some(tally) = self.machine.note(rules, world, pass, sample) {
                    self.open(pass, tally);
                }
            }
            Some(_) | None => self.settle_probe(pass, sample),
        }
    }

    #[cold]
    fn open(&self, pass: Pass, tally: Tally) {
        self.announce(self.machine.open(pass, &self.shared.rules, &*self.shared, tally));
    }

    #[cold]
    fn settle_probe(&self, pass: Pass, sample: Option<Sample>) {
        let (rules, world) = (&self.shared.rules, &*self.shared);
        match sample {
            Some(sample) => self.announce(self.machine.record(rules, world, pass, sample)),
            None => self.machine.give_back(rules, world, pass),
        }
    }

    /// Makes a guarded call: takes a permit when first polled, runs `call`, and records how it
    /// ended and how long it took. The caller gets the call's own result, slow or not. Nothing of
    /// `call` runs unless the breaker admits it.
    ///
    /// # Errors
    ///
    /// The call's own, or the refusal, as [`check`](Self::check).
    pub async fn watch<T, E: Unanswered + From<NoAnswer>>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        Watched::begin(self, operation, Attention::Full)?.see(call).await
    }

    /// As [`watch`](Self::watch), for polls in the background: while the breaker is closed, only
    /// their bad ends enter the window, so that many good polls cannot dilute a dead payment call.
    /// As probes they count in full.
    ///
    /// # Errors
    ///
    /// As [`watch`](Self::watch).
    pub async fn watch_poll<T, E: Unanswered + From<NoAnswer>>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        Watched::begin(self, operation, Attention::OnlyBad)?.see(call).await
    }
}

/// A call under way; whatever ends it, the breaker hears of it.
struct Watched<'a> {
    permit: Option<Permit<'a>>,
    breaker: &'a Breaker,
    operation: &'static str,
    attention: Attention,
    begun: Instant,
}

impl<'a> Watched<'a> {
    fn begin(
        breaker: &'a Breaker,
        operation: &'static str,
        attention: Attention,
    ) -> Result<Self, NoAnswer> {
        let permit = breaker.try_acquire()?;
        tracing::Span::current().record("circuit_breaker.state", permit.state().as_str());
        Ok(Self { permit: Some(permit), breaker, operation, attention, begun: Instant::now() })
    }

    async fn see<T, E: Unanswered>(
        mut self,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let (result, trace_id) = follow(call).await;
        let (verdict, elapsed) = (Verdict::of(&result), self.begun.elapsed());
        if let Some(permit) = self.permit.take() {
            self.report(permit.finish(verdict, elapsed, self.attention), elapsed, trace_id);
        }
        result
    }

    fn report(&self, outcome: Outcome, elapsed: Duration, trace_id: Option<u128>) {
        if outcome == Outcome::Slow {
            tracing::Span::current().record("slow_call", true);
        }
        let shared = &self.breaker.shared;
        let operation = self.operation;
        shared.tell(|to| to.called(shared.system, operation, outcome, elapsed, trace_id));
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else { return };
        let elapsed = self.begun.elapsed();
        let verdict = if std::thread::panicking() { Verdict::Failing } else { Verdict::Neutral };
        let outcome = match permit.finish(verdict, elapsed, self.attention) {
            Outcome::Ignored => Outcome::Cancelled,
            counted
            @ (Outcome::Success | Outcome::Failure | Outcome::Slow | Outcome::Cancelled) => counted,
        };
        self.report(outcome, elapsed, None);
    }
}
