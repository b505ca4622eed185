//! What a run tells: the log lines of the mission and the events that are counted. Told after the
//! commit, so that nothing is told that does not hold.

use super::run::{Decided, Run, RunResult};
use crate::core::domain::ids::{OrderId, TaskId};
use crate::core::domain::unavailable::{Cause, PaymentSystemUnavailableError, System};
use crate::core::payment::context::RunHistory;
use crate::core::payment::decision::{DomainEvent, Next};
use crate::core::payment::effect::{CallResult, CompletedCall, ProviderCall, QueryResult};
use crate::core::payment::task::{Reason, Task, TaskError, TaskKind, TaskState};
use crate::core::ports::events::{
    Event, Events, FallbackKind, ReconcileFinding, RegistrationResult, StepOutcome,
};

pub(super) fn completed(events: &dyn Events, run: &Run, call: &CompletedCall) {
    if let Some(error) = call.unavailable() {
        tracing::debug!(order_id = %run.order_id, task_id = %run.task_id, system = %error.system,
            cause = error.cause.as_str(), "not executed");
    }
    if let CallResult::Query { result: QueryResult::NotFound, .. } = call.result {
        let finding = ReconcileFinding::NotExecuted;
        events.record(&Event::Reconciled { system: call.target.provider, finding });
    }
}

/// A provider's own id that names another registration.
pub(super) fn foreign_id(run: &Run, history: &RunHistory) {
    let system = history.last.as_ref().map(|call| call.target.provider.as_str());
    tracing::error!(order_id = %run.order_id, task_id = %run.task_id, system,
        "the provider answered with an id that belongs to another registration");
}

pub(super) fn decided(events: &dyn Events, run: &Run, decided: &Decided) {
    for event in &decided.decision.events {
        domain_event(events, run, event);
    }
    let (from, to) = (decided.from, decided.result.status);
    if decided.decision.next == Next::Rest {
        describe(&decided.result);
    }
    if from != to {
        events.record(&Event::OrderMoved { from, to });
    }
    let Some(task) = &decided.result.task else {
        if decided.decision.next == Next::LeaseLost {
            tracing::warn!(order_id = %run.order_id, task_id = %run.task_id, "lease lost");
        }
        return;
    };
    match &decided.decision.next {
        Next::Call(call) => {
            if let Some(error) = &decided.result.unavailable {
                failover(events, run.order_id, run.task_id, error, call);
            }
        }
        Next::LeaseLost => {
            events.record(&Event::TaskStep { kind: task.kind, outcome: StepOutcome::LeaseLost });
        }
        Next::Rest => at_rest(events, run, decided, task),
    }
}

/// The attributes of the span that stands for the run.
fn describe(result: &RunResult) {
    let made = result.task.as_ref().and_then(|task| task.result).map(|(provider, _)| provider);
    let span = tracing::Span::current();
    span.record("order.status", result.status.as_str());
    if let Some(provider) = made {
        span.record("payment.method", provider.as_str());
    }
}

/// Told to the trace alone: the log has a line of its own for each kind.
pub(in crate::core) fn fallback(kind: &'static str, system: System, cause: Cause) {
    tracing::Span::current().record("fallback.kind", kind);
    tracing::debug!(%system, kind, cause = cause.as_str(), "fallback");
}

/// The next provider is asked instead of one that executed nothing.
pub(in crate::core) fn failover(
    events: &dyn Events,
    order_id: OrderId,
    task_id: TaskId,
    error: &PaymentSystemUnavailableError,
    call: &ProviderCall,
) {
    if call.registers() && error.system != call.target.provider.into() {
        tracing::warn!(%order_id, %task_id, system = %error.system,
            cause = error.cause.as_str(), next = %call.target.provider,
            "payment system unavailable, trying the next one");
        let (system, cause) = (error.system, error.cause.into());
        events.record(&Event::Fallback { system, kind: FallbackKind::Failover, cause });
        fallback("failover", system, cause);
    }
}

fn at_rest(events: &dyn Events, run: &Run, decided: &Decided, task: &Task) {
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
        let age = decided.result.now.since(task.created_at);
        let outcome = task.state.as_str();
        events.record(&Event::TaskFinished { kind: task.kind, outcome, age });
    }
    if task.kind == TaskKind::RegisterPayment {
        registration(events, run, decided, task);
    }
}

fn registration(events: &dyn Events, run: &Run, decided: &Decided, task: &Task) {
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
    let Some(error) = decided.result.unavailable else { return };
    if task.state != TaskState::Queued || task.reason == Some(Reason::OutcomeUnknown) {
        return;
    }
    queued(events, run.order_id, run.task_id, &error);
}

/// It waits in the queue, since nobody executed anything.
pub(in crate::core) fn queued(
    events: &dyn Events,
    order_id: OrderId,
    task_id: TaskId,
    error: &PaymentSystemUnavailableError,
) {
    let (system, cause) = (error.system, error.cause.as_str());
    if Reason::after(error.cause) == Reason::BreakerOpen {
        tracing::warn!(%order_id, %task_id, %system, cause, "{system} CB open, order queued for retry");
    } else {
        tracing::warn!(%order_id, %task_id, %system, cause, "{system} unavailable, order queued for retry");
    }
    let (kind, cause) = (FallbackKind::Queued, error.cause.into());
    events.record(&Event::Fallback { system, kind, cause });
    fallback("queued", system, cause);
}

fn domain_event(events: &dyn Events, run: &Run, event: &DomainEvent) {
    let (order_id, task_id) = (run.order_id, run.task_id);
    let reconciled = |system, finding| events.record(&Event::Reconciled { system, finding });
    match *event {
        DomainEvent::Reconciled { provider, executed: true } => {
            reconciled(provider, ReconcileFinding::Executed);
        }
        DomainEvent::Reconciled { provider, executed: false } => {
            reconciled(provider, ReconcileFinding::NotExecuted);
        }
        DomainEvent::Mismatch { provider, ref dispute } => {
            tracing::error!(%order_id, %task_id, system = %provider,
                theirs = dispute.theirs.record, ours = dispute.ours.record,
                "the provider's record contradicts ours: a person must look");
            reconciled(provider, ReconcileFinding::Mismatch);
        }
        DomainEvent::MismatchAgain { .. } => {}
        DomainEvent::LateMoney { provider } => {
            tracing::error!(%order_id, system = %provider,
                "money arrived for a registration that was given up");
            events.record(&Event::LateTruth { system: provider });
        }
        DomainEvent::RefundElsewhere { provider, amount } => {
            tracing::warn!(%order_id, system = %provider, minor_units = amount.minor(),
                "money was given back, and not by us");
            reconciled(provider, ReconcileFinding::RefundElsewhere);
        }
        DomainEvent::GivenUpPending { provider } => {
            tracing::error!(%order_id, system = %provider,
                "a registration that was given up waits for a payer: it is declined");
        }
        DomainEvent::StrangeStatus { provider } => {
            tracing::error!(%order_id, system = %provider, "the provider tells an unknown status");
            events.record(&Event::StrangeStatus { system: provider });
        }
        DomainEvent::Review { kind, error } => {
            tracing::error!(%order_id, %task_id, kind = kind.as_str(), error = error.code(),
                "a task needs a person");
            events.record(&Event::Review { kind });
        }
    }
}
