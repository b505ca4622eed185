//! What callbacks may ask of an order: that the provider is asked about a registration of ours, also about
//! one that the database has forgotten. Nothing that they tell is believed.

use crate::core::domain::ids::TaskId;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::registration::{ADOPTED, Registration, RegistrationState};
use crate::core::payment::task::{Reason, Task, TaskKind, TaskState};
use std::time::Duration;

/// However many wait for a task, its questions are this far apart.
const HASTENED_AFTER: Duration = Duration::from_secs(5);

impl OrderAggregate {
    /// Somebody says that there is news about a registration: whoever may ask the provider does so, no
    /// sooner than `not_before`. Requests about the same are one. `false` when the number is not one of
    /// this order's.
    pub fn request_sync(
        &mut self,
        (provider, number): (Provider, &ProviderNumber),
        now: Timestamp,
        not_before: Timestamp,
        task: TaskId,
        max_age: Duration,
    ) -> bool {
        let asking = self.tasks.iter().any(|task| task.state == TaskState::Running);
        let resolving = self.unfinished(TaskKind::RegisterPayment).is_some();
        let known =
            self.registrations.iter_mut().find(|r| r.provider == provider && r.number == *number);
        let Some(registration) = known else { return false };
        let resolved = registration.state == RegistrationState::Unknown && resolving;
        // A question that nobody has begun to ask will answer this news, too. Of one that is under way
        // nobody knows whether its answer is older.
        if asking || !registration.sync_requested() {
            registration.request_sync(now);
        }
        if resolved {
            self.bring_forward(TaskKind::RegisterPayment, not_before);
        } else {
            self.ensure_poll(task, now, not_before, max_age);
        }
        true
    }

    /// Whether somebody who waits for that task may have its next question asked sooner than planned: it
    /// only asks, and the last one is not just over.
    #[must_use]
    pub fn may_hasten(task: &Task, now: Timestamp) -> bool {
        task.state == TaskState::Queued
            && task.kind == TaskKind::RegisterPayment
            && task.reason == Some(Reason::OutcomeUnknown)
            && task.run_at > now
            && now.since(task.updated_at) >= HASTENED_AFTER
    }

    /// Has it asked now. `false` where there is nothing to hasten.
    pub fn hasten(&mut self, id: TaskId, now: Timestamp) -> bool {
        let waits = |task: &&mut Task| task.id == id && Self::may_hasten(task, now);
        let Some(task) = self.tasks.iter_mut().find(waits) else { return false };
        task.run_at = now;
        true
    }

    /// Takes up a registration that a provider tells of and the database has forgotten
    /// (docs/payments.md, rule 15), for the order's sum: the provider is to be asked, and its word is
    /// compared with that. While another registration may be alive this one stands beside the index, like
    /// one that was given up: if it turns out paid, it is surplus. Nothing is done where a registration of
    /// another number has its place.
    pub fn adopt(
        &mut self,
        provider: Provider,
        (number, sequence): (&ProviderNumber, u8),
        now: Timestamp,
    ) {
        if self.registration(provider, sequence).is_some() {
            return;
        }
        let other_alive = self.open_registration().is_some();
        let (number, amount) = (number.clone(), self.order.total);
        let mut adopted = Registration::intent(provider, sequence, number, amount, now);
        adopted.state =
            if other_alive { RegistrationState::Absent } else { RegistrationState::Unknown };
        ADOPTED.clone_into(&mut adopted.evidence);
        self.registrations.push(adopted);
        self.registrations.sort_by_key(|r| (r.provider, r.sequence));
        self.derive_status();
    }
}
