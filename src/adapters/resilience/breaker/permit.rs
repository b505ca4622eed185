//! The right to one call, given back on every path: a verdict, a drop, a panic.

use super::config::SlowAs;
use super::guard::Breaker;
use super::machine::Admission;
use super::sample::Sample;
use super::shared::Shared;
use super::state::{BreakerMode, BreakerState, Tally};
use crate::adapters::resilience::observer::CallOutcome;
use crate::adapters::resilience::verdict::Verdict;
use crate::core::domain::unavailable::NoAnswer;
use std::time::Duration;

/// Admits one call. Dropped without a verdict it says nothing of the partner and gives a probe's
/// place back; dropped by a panic it counts as a failure.
#[derive(Debug)]
#[must_use = "a permit that is dropped at once cancels the call it was for"]
pub struct CallPermit<'a> {
    breaker: &'a Breaker,
    admission: Admission,
}

/// Which ends of a call enter the window of a closed breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attention {
    Full,
    /// Only bad ones: many good polls must not hide that the calls that matter fail.
    OnlyBad,
}

impl Breaker {
    /// Admits one call. Report its end through the permit; dropping that says "cancelled".
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    #[inline]
    pub fn try_acquire(&self) -> Result<CallPermit<'_>, NoAnswer> {
        if self.shared.mode.plainly_enforces()
            && let Some(admission) = self.machine.admit_if_closed()
        {
            return Ok(CallPermit { breaker: self, admission });
        }
        self.acquire_with_care()
    }

    fn acquire_with_care(&self) -> Result<CallPermit<'_>, NoAnswer> {
        let unwatched = || CallPermit { breaker: self, admission: Admission::UNWATCHED };
        let mode = self.mode();
        match mode {
            BreakerMode::Off => return Ok(unwatched()),
            BreakerMode::ForcedOpen => return Err(self.refuse_forced()),
            BreakerMode::DryRun | BreakerMode::Enforce | BreakerMode::ForcedClosed => {}
        }
        match self.machine.admit(&self.shared.rules, &self.shared.clock) {
            Ok((admission, transition)) => {
                self.announce(transition);
                Ok(CallPermit { breaker: self, admission })
            }
            Err(rejected) if mode == BreakerMode::Enforce => Err(self.refuse(rejected)),
            Err(rejected) => {
                if mode == BreakerMode::DryRun {
                    let (system, reason) = (self.shared.system, rejected.reason);
                    self.shared.tell(|observer| observer.would_reject(system, reason));
                }
                Ok(unwatched())
            }
        }
    }

    /// Records the end of a watched call; `None` says nothing of the partner.
    #[inline]
    fn end(&self, admission: Admission, sample: Option<Sample>) {
        match sample {
            Some(sample) if !admission.is_probe() => {
                let Shared { rules, clock, .. } = &*self.shared;
                if let Some(tally) = self.machine.record_call(rules, clock, admission, sample) {
                    self.open(admission, tally);
                }
            }
            Some(_) | None => self.end_probe(admission, sample),
        }
    }

    #[cold]
    fn open(&self, admission: Admission, tally: Tally) {
        let Shared { rules, clock, .. } = &*self.shared;
        self.announce(self.machine.open(admission, rules, clock, tally));
    }

    #[cold]
    fn end_probe(&self, admission: Admission, sample: Option<Sample>) {
        let Shared { rules, clock, .. } = &*self.shared;
        match sample {
            Some(sample) => self.announce(self.machine.record(rules, clock, admission, sample)),
            None => self.machine.give_back(rules, clock, admission),
        }
    }
}

impl CallPermit<'_> {
    /// The state in which the call was admitted.
    #[must_use]
    pub fn state(&self) -> BreakerState {
        if !self.admission.is_watched() {
            self.breaker.state()
        } else if self.admission.is_probe() {
            BreakerState::HalfOpen
        } else {
            BreakerState::Closed
        }
    }

    /// Records how the call ended and how long it took, and says how that counted.
    #[inline]
    pub fn record(self, verdict: Verdict, elapsed: Duration) -> CallOutcome {
        let shared = &*self.breaker.shared;
        if verdict == Verdict::Healthy
            && elapsed < shared.slow_call_threshold
            && self.breaker.machine.is_unmoved_by_good(&shared.rules, self.admission)
        {
            std::mem::forget(self);
            return CallOutcome::Success;
        }
        self.record_with(Attention::Full, verdict, elapsed)
    }

    pub(super) fn record_with(
        self,
        attention: Attention,
        verdict: Verdict,
        elapsed: Duration,
    ) -> CallOutcome {
        let (breaker, admission) = (self.breaker, self.admission);
        std::mem::forget(self);
        let slow = elapsed >= breaker.shared.slow_call_threshold;
        let (sample, outcome) = weigh(verdict, slow, breaker.shared.slow_as);
        if admission.is_watched() {
            let counts = |sample: &Sample| {
                attention == Attention::Full || admission.is_probe() || !sample.is_good()
            };
            breaker.end(admission, sample.filter(counts));
        }
        outcome
    }
}

impl Drop for CallPermit<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.admission.is_watched() {
            abandon(self.breaker, self.admission);
        }
    }
}

#[cold]
fn abandon(breaker: &Breaker, admission: Admission) {
    breaker.end(admission, std::thread::panicking().then_some(Sample::FAILED));
}

/// What the window gets, and how the call counts outside. A call that nobody waited for any longer
/// is not the partner's fault, unless it was too slow already.
#[inline]
fn weigh(verdict: Verdict, slow: bool, slow_as: SlowAs) -> (Option<Sample>, CallOutcome) {
    match (verdict, slow, slow_as) {
        (Verdict::Failing, slow, _) => (Some(Sample { failed: true, slow }), CallOutcome::Failure),
        (Verdict::Healthy, false, _) => (Some(Sample::GOOD), CallOutcome::Success),
        (Verdict::Neutral, false, _) | (Verdict::Neutral, true, SlowAs::Ignore) => {
            (None, CallOutcome::Ignored)
        }
        (Verdict::Healthy | Verdict::Neutral, true, SlowAs::Failure) => {
            (Some(Sample { failed: true, slow: true }), CallOutcome::Slow)
        }
        (Verdict::Healthy | Verdict::Neutral, true, SlowAs::Rate)
        | (Verdict::Healthy, true, SlowAs::Ignore) => (Some(Sample::SLOW), CallOutcome::Slow),
    }
}
