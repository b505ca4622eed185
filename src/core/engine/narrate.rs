//! What a run tells: the log lines of the mission and the events that are counted. Told after the
//! commit, so that nothing is told that does not hold.

use crate::core::domain::unavailable::{Cause, System};
use crate::core::engine::run::{Decided, Rested, Run, system_of};
use crate::core::payment::effect::{Action, Next, Note, Outcome, Step};
use crate::core::payment::task::{Reason, Task, TaskError, TaskKind, TaskState};
use crate::core::ports::events::{
    Event, Events, FallbackKind, ReconcileFinding, RegistrationResult, StepOutcome,
};
use crate::core::ports::payment::PaymentSystemUnavailableError;

/// A provider executed nothing; the next one, or the queue, takes over.
pub(in crate::core) fn not_executed(
    events: &dyn Events,
    run: &Run,
    fault: &PaymentSystemUnavailableError,
) {
    tracing::debug!(order_id = %run.order_id, task_id = %run.task_id, system = %fault.system,
        cause = fault.cause.as_str(), "not executed");
    let _ = events;
}

pub(in crate::core) fn outcome(events: &dyn Events, step: &Step, outcome: &Outcome) {
    if let (Action::Query, Outcome::NotFound) = (&step.action, outcome) {
        let finding = ReconcileFinding::NotExecuted;
        events.record(&Event::Reconciled { system: step.provider, finding });
    }
}

pub(in crate::core) fn decided(events: &dyn Events, run: &Run, decided: &Decided) {
    notes(events, run, &decided.notes);
    let status = decided.rested.status;
    if decided.next == Next::Rest {
        describe(&decided.rested);
    }
    if decided.from != status {
        events.record(&Event::OrderMoved { from: decided.from, to: status });
    }
    let Some(task) = &decided.rested.task else {
        if decided.next == Next::LeaseLost {
            tracing::warn!(order_id = %run.order_id, task_id = %run.task_id, "lease lost");
        }
        return;
    };
    match &decided.next {
        Next::Call(step) => failover(events, run, decided, step),
        Next::LeaseLost => {
            events.record(&Event::TaskStep { kind: task.kind, outcome: StepOutcome::LeaseLost });
        }
        Next::Rest => rested(events, run, decided, task),
    }
}

/// The attributes of the span that stands for the run.
fn describe(rested: &Rested) {
    let made = rested.task.as_ref().and_then(|task| task.result).map(|(provider, _)| provider);
    let span = tracing::Span::current();
    span.record("order.status", rested.status.as_str());
    if let Some(provider) = made {
        span.record("payment.method", provider.as_str());
    }
}

/// Told to the trace alone: the log has a line of its own for each kind.
pub(in crate::core) fn fallback(kind: &'static str, system: System, cause: Cause) {
    tracing::Span::current().record("fallback.kind", kind);
    tracing::debug!(%system, kind, cause = cause.as_str(), "fallback");
}

fn failover(events: &dyn Events, run: &Run, decided: &Decided, step: &Step) {
    let Some(fault) = decided.rested.unavailable else { return };
    if matches!(step.action, Action::Register { .. }) && fault.system != system_of(step.provider) {
        tracing::warn!(order_id = %run.order_id, task_id = %run.task_id, system = %fault.system,
            cause = fault.cause.as_str(), next = %step.provider, "payment system unavailable, trying the next one");
        let (system, cause) = (fault.system, fault.cause.into());
        events.record(&Event::Fallback { system, kind: FallbackKind::Failover, cause });
        fallback("failover", system, cause);
    }
}

fn rested(events: &dyn Events, run: &Run, decided: &Decided, task: &Task) {
    let outcome = match (task.state, task.reason) {
        (TaskState::Queued, Some(Reason::BreakerOpen | Reason::BulkheadFull)) => {
            StepOutcome::Postponed
        }
        (TaskState::Queued | TaskState::Running, _) => StepOutcome::Retry,
        (TaskState::Succeeded, _) => StepOutcome::Completed,
        (TaskState::Failed | TaskState::Cancelled | TaskState::Review, _) => StepOutcome::Failed,
    };
    events.record(&Event::TaskStep { kind: task.kind, outcome });
    if task.state.is_final() {
        let age = decided.rested.now.since(task.created_at);
        let outcome = task.state.as_str();
        events.record(&Event::TaskFinished { kind: task.kind, outcome, age });
    }
    if task.kind == TaskKind::RegisterPayment {
        registration(events, run, decided, task);
    }
}

fn registration(events: &dyn Events, run: &Run, decided: &Decided, task: &Task) {
    let asked = decided.rested.unavailable.map(|fault| fault.system);
    let made = task.result.map(|(provider, _)| provider).or(task.lane);
    let result = match task.state {
        TaskState::Succeeded => RegistrationResult::Registered,
        TaskState::Queued | TaskState::Running => RegistrationResult::Queued,
        TaskState::Failed if task.error == Some(TaskError::PaymentRejected) => {
            RegistrationResult::Declined
        }
        TaskState::Failed | TaskState::Cancelled | TaskState::Review => RegistrationResult::Failed,
    };
    if let Some(system) = made {
        events.record(&Event::Registration { system, result });
    }
    let (Some(system), Some(fault)) = (asked, decided.rested.unavailable) else { return };
    if task.state != TaskState::Queued || task.reason == Some(Reason::OutcomeUnknown) {
        return;
    }
    let (order_id, task_id, cause) = (run.order_id, run.task_id, fault.cause.as_str());
    if task.reason == Some(Reason::BreakerOpen) {
        tracing::warn!(%order_id, %task_id, %system, cause, "{system} CB open, order queued for retry");
    } else {
        tracing::warn!(%order_id, %task_id, %system, cause, "{system} unavailable, order queued for retry");
    }
    let kind = FallbackKind::Queued;
    events.record(&Event::Fallback { system, kind, cause: fault.cause.into() });
    fallback("queued", system, fault.cause.into());
}

fn notes(events: &dyn Events, run: &Run, notes: &[Note]) {
    let (order_id, task_id) = (run.order_id, run.task_id);
    for note in notes {
        match *note {
            Note::Reconciled { provider, executed } => {
                let finding = if executed {
                    ReconcileFinding::Executed
                } else {
                    ReconcileFinding::NotExecuted
                };
                events.record(&Event::Reconciled { system: provider, finding });
            }
            Note::Mismatch { provider } => {
                tracing::error!(%order_id, %task_id, system = %provider,
                    "the provider's record contradicts ours: a person must look");
                let finding = ReconcileFinding::Mismatch;
                events.record(&Event::Reconciled { system: provider, finding });
            }
            Note::MismatchAgain => {}
            Note::LateTruth { provider } => {
                tracing::error!(%order_id, system = %provider,
                    "money arrived for a registration that was given up");
                events.record(&Event::LateTruth { system: provider });
            }
            Note::Strange { provider } => {
                tracing::error!(%order_id, system = %provider, "the provider tells an unknown status");
            }
            Note::Review => {
                tracing::error!(%order_id, %task_id, "a task needs a person");
                events.record(&Event::Review { kind: TaskKind::RegisterPayment });
            }
        }
    }
}
