//! The aggregate: an order with its registrations and its unfinished tasks. Every decision about an
//! order is a pure function on it, run inside one storage transaction.

use crate::core::domain::ids::{LeaseToken, TaskId};
use crate::core::domain::order::{Order, OrderStatus};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::effect::Turn;
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Reason, Task, TaskError, TaskKind, TaskState};

/// What storage loads, hands to a decision, and saves as a whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderAggregate {
    pub order: Order,
    /// All that were ever made, by (provider, sequence).
    pub registrations: Vec<Registration>,
    /// The unfinished ones; those that a decision ends are saved with their final state.
    pub tasks: Vec<Task>,
}

impl OrderAggregate {
    /// The one registration that may be alive; the storage's unique index says there is one at most.
    #[must_use]
    pub fn open_registration(&self) -> Option<&Registration> {
        self.registrations.iter().find(|registration| registration.state.maybe_alive())
    }

    #[must_use]
    pub fn registration(&self, provider: Provider, sequence: u8) -> Option<&Registration> {
        self.registrations.iter().find(|r| r.provider == provider && r.sequence == sequence)
    }

    #[must_use]
    pub fn unfinished(&self, kind: TaskKind) -> Option<&Task> {
        self.tasks.iter().find(|task| task.kind == kind && !task.state.is_final())
    }

    /// The task that a client should look at: the registration's while it is unfinished, else any.
    #[must_use]
    pub fn visible_task(&self) -> Option<&Task> {
        self.unfinished(TaskKind::RegisterPayment)
            .or_else(|| self.tasks.iter().find(|task| !task.state.is_final()))
    }

    /// The sequence that the next registration gets: it advances only past a dead one.
    pub(super) fn present_sequence(&self) -> u8 {
        let passed = |r: &&Registration| {
            matches!(r.state, RegistrationState::Dead | RegistrationState::Surplus)
        };
        self.registrations.iter().filter(passed).map(|r| r.sequence).max().unwrap_or(0) + 1
    }

    pub(super) fn open_mut(&mut self) -> Option<&mut Registration> {
        self.registrations.iter_mut().find(|registration| registration.state.maybe_alive())
    }

    pub(super) fn registration_mut(
        &mut self,
        provider: Provider,
        sequence: u8,
    ) -> Option<&mut Registration> {
        self.registrations.iter_mut().find(|r| r.provider == provider && r.sequence == sequence)
    }

    pub(super) fn unfinished_mut(&mut self, kind: TaskKind) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|task| task.kind == kind && !task.state.is_final())
    }

    pub(super) fn held(&self, task: TaskId, token: LeaseToken) -> Option<&Task> {
        self.tasks.iter().find(|t| t.id == task && t.held_by(token))
    }

    pub(super) fn held_mut(&mut self, turn: &Turn<'_>) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|t| t.id == turn.task && t.held_by(turn.token))
    }

    /// Derives the order's status from its registrations: never from the order in which news came.
    pub(super) fn settle(&mut self) {
        let paid = self.registrations.iter().find(|r| r.state == RegistrationState::Paid);
        let any = |state| self.registrations.iter().any(|r| r.state == state);
        self.order.status = if let Some(paid) = paid {
            let whole = paid.refunded.minor() >= paid.amount.minor();
            if whole { OrderStatus::Refunded } else { OrderStatus::Paid }
        } else if self.order.status == OrderStatus::Cancelled {
            OrderStatus::Cancelled
        } else if self.unfinished(TaskKind::RegisterPayment).is_some() {
            OrderStatus::Registering
        } else if any(RegistrationState::Live) {
            OrderStatus::AwaitingPayment
        } else if any(RegistrationState::Unknown) || any(RegistrationState::Intent) {
            OrderStatus::Registering
        } else if any(RegistrationState::Dead) || self.order.status == OrderStatus::PaymentFailed {
            OrderStatus::PaymentFailed
        } else {
            OrderStatus::New
        };
    }

    /// Ends the task of this turn. What waited for it may go on.
    pub(super) fn finish(&mut self, turn: &Turn<'_>, state: TaskState, error: Option<TaskError>) {
        let Some(task) = self.held_mut(turn) else { return };
        task.state = state;
        task.error = error;
        task.reason = None;
        task.lease = None;
        if task.kind == TaskKind::RegisterPayment {
            self.bring_forward(TaskKind::CancelPayment, turn.now);
        }
        self.follow_up(turn);
    }

    /// Whatever is not final at a provider is polled until it is.
    pub(super) fn follow_up(&mut self, turn: &Turn<'_>) {
        let sync_requested = self.registrations.iter().any(|r| r.sync_requested);
        let live = |r: &Registration| {
            matches!(r.state, RegistrationState::Live | RegistrationState::Unknown)
        };
        let resolving = self.unfinished(TaskKind::RegisterPayment).is_some();
        if sync_requested || (!resolving && self.registrations.iter().any(live)) {
            let first =
                if sync_requested { turn.now } else { turn.now + turn.policy.poll_interval };
            self.ensure_sync(turn.spare[0], turn.now, first, turn.policy.max_age);
        }
    }

    pub(super) fn ensure_sync(
        &mut self,
        id: TaskId,
        now: Timestamp,
        run_at: Timestamp,
        max_age: std::time::Duration,
    ) {
        // Of a poll that has time nobody expects anything; one that is due by news is more than routine.
        let routine = run_at > now;
        self.bring_forward(TaskKind::SyncPayment, run_at);
        if let Some(task) = self.unfinished_mut(TaskKind::SyncPayment) {
            if task.is_routine() && !routine {
                task.reason = None;
            }
            return;
        }
        let mut task = Task::queued(id, self.order.id, TaskKind::SyncPayment, now, now + max_age);
        task.run_at = run_at;
        task.reason = routine.then_some(Reason::Retry);
        task.lane = self
            .registrations
            .iter()
            .find(|r| r.sync_requested || r.state.maybe_alive())
            .map(|r| r.provider);
        self.tasks.push(task);
    }

    pub(super) fn bring_forward(&mut self, kind: TaskKind, run_at: Timestamp) {
        if let Some(task) = self.unfinished_mut(kind)
            && task.state == TaskState::Queued
            && task.reason != Some(Reason::Operator)
        {
            task.run_at = task.run_at.min(run_at);
        }
    }

    /// Hands the lease back until `run_at`. A charge is an attempt that reached, or may have reached,
    /// the partner.
    pub(super) fn park(
        &mut self,
        turn: &Turn<'_>,
        reason: Reason,
        run_at: Timestamp,
        charge: bool,
    ) {
        let lane = self.open_registration().map(|registration| registration.provider);
        let Some(task) = self.held_mut(turn) else { return };
        task.state = TaskState::Queued;
        task.reason = Some(reason);
        task.run_at = run_at;
        task.lane =
            if task.kind == TaskKind::RefundPayment { task.result.map(|r| r.0) } else { lane };
        task.lease = None;
        task.attempts += u32::from(charge);
    }

    /// Stretches the lease over the step that comes next.
    pub(super) fn renew(&mut self, turn: &Turn<'_>) {
        let until = turn.now + turn.policy.lease.max(turn.call_limit + turn.policy.lease / 4);
        if let Some(lease) = self.held_mut(turn).and_then(|task| task.lease.as_mut()) {
            lease.until = until;
        }
    }
}
