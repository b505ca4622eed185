//! A call through the breaker: admitted when it is first polled, timed, and recorded whatever ends it.

use super::guard::Breaker;
use super::permit::{Attention, CallPermit};
use crate::adapters::resilience::observer::CallOutcome;
use crate::adapters::resilience::trail::follow;
use crate::adapters::resilience::verdict::{Failed, Verdict};
use crate::core::domain::unavailable::NoAnswer;
use std::time::Duration;
use tokio::time::Instant;

impl Breaker {
    /// Makes a guarded call: takes a permit when first polled, runs `call`, and records how it
    /// ended and how long it took. The caller gets the call's own result, slow or not. Nothing of
    /// `call` runs unless the breaker admits it.
    ///
    /// # Errors
    ///
    /// The call's own, or the refusal, as [`check`](Self::check).
    pub async fn call<T, E>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, Failed<E>>>,
    ) -> Result<T, Failed<E>> {
        CallUnderWay::begin(self, operation, Attention::Full)?.finish(call).await
    }

    /// As [`call`](Self::call), for polls in the background: while the breaker is closed, only
    /// their bad ends enter the window, so that many good polls cannot dilute a dead payment call.
    /// As probes they count in full.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn call_in_background<T, E>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<T, Failed<E>>>,
    ) -> Result<T, Failed<E>> {
        CallUnderWay::begin(self, operation, Attention::OnlyBad)?.finish(call).await
    }
}

/// Whatever ends it, the breaker and its observer hear of it.
struct CallUnderWay<'a> {
    permit: Option<CallPermit<'a>>,
    breaker: &'a Breaker,
    operation: &'static str,
    attention: Attention,
    begun: Instant,
}

impl<'a> CallUnderWay<'a> {
    fn begin(
        breaker: &'a Breaker,
        operation: &'static str,
        attention: Attention,
    ) -> Result<Self, NoAnswer> {
        let permit = breaker.try_acquire()?;
        tracing::Span::current().record("circuit_breaker.state", permit.state().as_str());
        Ok(Self { permit: Some(permit), breaker, operation, attention, begun: Instant::now() })
    }

    async fn finish<T, E>(
        mut self,
        call: impl Future<Output = Result<T, Failed<E>>>,
    ) -> Result<T, Failed<E>> {
        let (result, trace_id) = follow(call).await;
        let (verdict, elapsed) = (Verdict::of(&result), self.begun.elapsed());
        if let Some(permit) = self.permit.take() {
            let outcome = permit.record_with(self.attention, verdict, elapsed);
            self.report(outcome, elapsed, trace_id);
        }
        result
    }

    fn report(&self, outcome: CallOutcome, elapsed: Duration, trace_id: Option<u128>) {
        if outcome == CallOutcome::Slow {
            tracing::Span::current().record("slow_call", true);
        }
        let shared = &self.breaker.shared;
        let operation = self.operation;
        shared.tell(|to| to.called(shared.system, operation, outcome, elapsed, trace_id));
    }
}

impl Drop for CallUnderWay<'_> {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else { return };
        let elapsed = self.begun.elapsed();
        let verdict = if std::thread::panicking() { Verdict::Failing } else { Verdict::Neutral };
        let outcome = match permit.record_with(self.attention, verdict, elapsed) {
            CallOutcome::Ignored => CallOutcome::Cancelled,
            counted @ (CallOutcome::Success
            | CallOutcome::Failure
            | CallOutcome::Slow
            | CallOutcome::Cancelled) => counted,
        };
        self.report(outcome, elapsed, None);
    }
}
