//! Leases, gauges and pruning of the memory store: what walks over all tasks.

use super::state::State;
use crate::adapters::observe::storage_upkeep::{Retention, TaskStat};
use crate::adapters::outbound::storage::settings::PRUNE_BATCH;
use crate::core::domain::ids::{InstanceId, TaskId};
use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::task::{Lease, Reason, Task, TaskKind, TaskState};
use crate::core::ports::task_queue::{ClaimRequest, Claimed};

impl State {
    pub fn claim(&mut self, request: &ClaimRequest, now: Timestamp) -> Vec<Claimed> {
        let mut claimed = Vec::new();
        for (lane, limit) in &request.lanes {
            let mut due: Vec<(bool, Timestamp, TaskId)> = self
                .unfinished
                .iter()
                .filter_map(|(_, id)| self.tasks.get(id))
                .filter(|task| task.lane == *lane)
                .filter_map(|task| Some((task.is_routine(), due_at(task)?, task.id)))
                .filter(|(_, due_at, _)| *due_at <= now)
                .collect();
            due.sort_unstable();
            for (_, due_at, id) in due.into_iter().take(*limit) {
                claimed.extend(self.lease(id, request, now).map(|claim| (due_at, claim)));
            }
        }
        claimed.sort_by_key(|(due_at, claim)| (*due_at, claim.task_id));
        claimed.into_iter().map(|(_, claim)| claim).collect()
    }

    fn lease(&mut self, id: TaskId, request: &ClaimRequest, now: Timestamp) -> Option<Claimed> {
        let task = self.tasks.get_mut(&id)?;
        if task.state == TaskState::Running {
            task.lost_leases += 1;
        }
        task.state = TaskState::Running;
        task.lease = Some(Lease {
            owner: request.owner.clone(),
            token: request.token,
            until: now + request.lease,
        });
        task.version += 1;
        task.updated_at = now;
        Some(Claimed {
            order_id: task.order_id,
            task_id: task.id,
            kind: task.kind,
            token: request.token,
            attempts: task.attempts,
            trace: task.trace.clone(),
        })
    }

    pub fn bring_forward(&mut self, lane: Option<Provider>, limit: usize, now: Timestamp) -> u64 {
        let kept = |task: &&mut Task| {
            let held_back = task.reason == Some(Reason::BreakerOpen) && !task.is_routine();
            task.state == TaskState::Queued && task.lane == lane && task.run_at > now && held_back
        };
        let mut kept: Vec<_> = self.tasks.values_mut().filter(kept).collect();
        kept.sort_by_key(|task| (task.run_at, task.id));
        let brought = kept.into_iter().take(limit).map(|task| {
            task.run_at = now;
            task.version += 1;
        });
        u64::try_from(brought.count()).unwrap_or(u64::MAX)
    }

    pub fn release_leases(&mut self, owner: &InstanceId, now: Timestamp) -> u64 {
        let mut released = 0;
        for task in self.tasks.values_mut() {
            if task.lease.as_ref().is_some_and(|lease| lease.owner == *owner) {
                task.state = TaskState::Queued;
                task.lease = None;
                task.run_at = now;
                task.version += 1;
                task.updated_at = now;
                released += 1;
            }
        }
        released
    }

    pub fn task_stats(&self, now: Timestamp) -> Vec<TaskStat> {
        let mut stats: Vec<TaskStat> = Vec::new();
        for kind in TaskKind::ALL {
            for state in [TaskState::Queued, TaskState::Running, TaskState::Review] {
                let of_it = || {
                    self.tasks
                        .values()
                        .filter(|t| t.kind == kind && t.state == state && t.settled.is_none())
                };
                let due = of_it().filter_map(due_at).filter(|due_at| *due_at <= now);
                let oldest_due = due.map(|due_at| now.since(due_at)).max();
                let waiting = || of_it().filter(|task| is_for_operator(task));
                let oldest_for_operator = waiting().map(|task| now.since(task.updated_at)).max();
                let number = |count| u64::try_from(count).unwrap_or(u64::MAX);
                let (count, for_operator) = (number(of_it().count()), number(waiting().count()));
                if count > 0 {
                    stats.push(TaskStat {
                        kind,
                        state,
                        count,
                        oldest_due,
                        for_operator,
                        oldest_for_operator,
                    });
                }
            }
        }
        stats
    }

    pub fn prune(&mut self, retention: &Retention, now: Timestamp) -> u64 {
        let tasks = now - retention.tasks;
        let settled = |task: &Task| task.settled.as_ref().is_some_and(|(_, at)| *at < tasks);
        let old = |task: &&Task| {
            let over = task.state != TaskState::Review || settled(task);
            task.state.is_final() && over && task.updated_at < tasks
        };
        let gone: Vec<TaskId> =
            self.tasks.values().filter(old).map(|task| task.id).take(PRUNE_BATCH.into()).collect();
        for id in &gone {
            self.tasks.remove(id);
        }
        let size = |state: &Self| state.records.len() + state.inbox.len() + state.deeds.len();
        let before = size(self);
        self.records.retain(|_, (_, kept_at)| *kept_at >= now - retention.keys);
        self.inbox.retain(|(at, _)| *at >= now - retention.callbacks);
        self.deeds.retain(|(_, at, _)| *at >= now - retention.audit);
        let erased = self.erase_buyers(now - retention.buyers);
        let archived = retention.orders.map_or(0, |age| self.archive(now - age));
        u64::try_from(gone.len() + before - size(self) + erased + archived).unwrap_or(u64::MAX)
    }
}

/// Whether nothing but a person moves it on.
fn is_for_operator(task: &Task) -> bool {
    match task.state {
        TaskState::Review => true,
        TaskState::Queued => task.reason == Some(Reason::Operator),
        TaskState::Running | TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled => {
            false
        }
    }
}

/// When somebody may take it: in its own time, or when its holder's lease is over.
fn due_at(task: &Task) -> Option<Timestamp> {
    match task.state {
        TaskState::Queued => Some(task.run_at),
        TaskState::Running => task.lease.as_ref().map(|lease| lease.until),
        TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled | TaskState::Review => None,
    }
}
