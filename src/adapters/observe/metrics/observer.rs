//! What the guards tell, sorted by whom it concerns.

use super::labels::DeadlineStage;
use super::series::Metrics;
use crate::adapters::resilience::breaker::{BreakerRejection, Transition};
use crate::adapters::resilience::deadline::{LEAST, MARGIN};
use crate::adapters::resilience::observer::{
    BulkheadRejection, CallOutcome, Observer, RetryOutcome,
};
use crate::core::domain::unavailable::System;
use std::time::Duration;

impl Observer for Metrics {
    fn called(
        &self,
        system: System,
        operation: &'static str,
        outcome: CallOutcome,
        elapsed: Duration,
        trace_id: Option<u128>,
    ) {
        self.calls.ended(system, operation, outcome, elapsed, trace_id);
        if outcome == CallOutcome::Ignored {
            self.http.deadline_passed(stage_after(elapsed));
        }
    }

    fn rejected(&self, system: System, reason: BreakerRejection) {
        self.calls.rejected(system, reason);
    }

    fn would_reject(&self, system: System, reason: BreakerRejection) {
        self.calls.would_reject(system, reason);
    }

    fn transition(&self, system: System, transition: &Transition) {
        self.calls.moved(system, transition);
        self.watch.heard(system, transition);
    }

    fn bulkhead_waited(&self, system: System, waited: Duration) {
        self.guards.waited(system, waited);
    }

    fn bulkhead_rejected(&self, system: System, reason: BulkheadRejection) {
        self.guards.rejected(system, reason);
    }

    fn retried(&self, system: System, outcome: RetryOutcome) {
        self.guards.retried(system, outcome);
    }
}

/// A call is ignored when the caller's deadline ended it. One that was begun had at least this much
/// time, so what ended earlier was never begun.
fn stage_after(elapsed: Duration) -> DeadlineStage {
    if elapsed < LEAST - MARGIN { DeadlineStage::BeforeCall } else { DeadlineStage::InCall }
}
