//! How a task goes on waiting, ends, and brings others forward.

use crate::core::domain::ids::TaskId;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Reason, Task, TaskError, TaskKind, TaskState};
use std::time::Duration;

impl OrderAggregate {
    /// Ends the task in hand. What waited for it may go on.
    pub(super) fn finish(
        &mut self,
        context: &DecisionContext,
        state: TaskState,
        error: Option<TaskError>,
    ) {
        let Some(task) = self.own_task_mut(context) else { return };
        task.state = state;
        task.error = error;
        task.reason = None;
        task.lease = None;
        if task.kind == TaskKind::RegisterPayment {
            self.bring_forward(TaskKind::CancelPayment, context.now);
            // Polls of an earlier registration may have become rare.
            if let Some(poll) = self.unfinished_mut(TaskKind::SyncPayment) {
                poll.attempts = 0;
            }
        }
        self.follow_up(context);
    }

    /// Whatever is not final at a provider is polled until it is.
    pub(in crate::core::payment) fn follow_up(&mut self, context: &DecisionContext) {
        let requested = self.registrations.iter().any(|r| r.sync_requested());
        let live = |r: &Registration| {
            matches!(r.state, RegistrationState::Live | RegistrationState::Unknown)
        };
        let resolving = self.unfinished(TaskKind::RegisterPayment).is_some();
        let first = if requested {
            Some(context.now)
        } else if !resolving && self.registrations.iter().any(live) {
            Some(context.now + context.policy.poll_interval)
        } else {
            self.next_look(context)
        };
        if let Some(first) = first {
            let id = context.fresh_task_id(self.tasks.len());
            self.ensure_poll(id, context.now, first, context.policy.max_age);
        }
    }

    /// When something that is settled is looked at next.
    pub(super) fn next_look(&self, context: &DecisionContext) -> Option<Timestamp> {
        self.registrations.iter().filter_map(|r| r.next_look(&context.policy)).min()
    }

    pub(in crate::core::payment) fn ensure_poll(
        &mut self,
        id: TaskId,
        now: Timestamp,
        run_at: Timestamp,
        max_age: Duration,
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
            .find(|r| r.sync_requested() || r.state.maybe_alive())
            .map(|r| r.provider);
        self.tasks.push(task);
    }

    /// Never of refunds, which may wait for their own release.
    pub(in crate::core::payment) fn bring_forward(&mut self, kind: TaskKind, run_at: Timestamp) {
        if let Some(task) = self.unfinished_mut(kind)
            && task.state == TaskState::Queued
        {
            task.run_at = task.run_at.min(run_at);
        }
    }

    /// Hands the lease back until `run_at`. A charge is an attempt that reached, or may have reached,
    /// the partner.
    pub(super) fn park(
        &mut self,
        context: &DecisionContext,
        reason: Reason,
        run_at: Timestamp,
        charge: bool,
    ) {
        let lane = self.open_registration().map(|registration| registration.provider);
        let Some(task) = self.own_task_mut(context) else { return };
        // Whoever asks us to stay away cannot keep alive what has to end.
        let ends = task.kind != TaskKind::SyncPayment && task.deadline > context.now;
        task.state = TaskState::Queued;
        task.reason = Some(reason);
        task.run_at = if ends { run_at.min(task.deadline) } else { run_at };
        task.lane =
            if task.kind == TaskKind::RefundPayment { task.result.map(|r| r.0) } else { lane };
        task.lease = None;
        task.attempts += u32::from(charge);
    }

    /// Stretches the lease over the step that comes next.
    pub(super) fn renew(&mut self, context: &DecisionContext) {
        let until = context.lease_until();
        if let Some(lease) = self.own_task_mut(context).and_then(|task| task.lease.as_mut()) {
            lease.until = until;
        }
    }
}
