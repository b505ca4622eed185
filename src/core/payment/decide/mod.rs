//! Decisions: what the holder of a task's lease does now. Every one checks the token first.

mod cancel;
mod poll;
mod refund;
pub(super) mod register;

use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::effect::{Action, Next, Note, Outcome, Step, Turn, Wait};
use crate::core::payment::registration::{
    CONTRADICTED, CONTRADICTED_TOLD, Registration, RegistrationState,
};
use crate::core::payment::task::{Reason, Task, TaskError, TaskKind, TaskState};
use std::time::Duration;

/// A task that killed so many of its holders must not go on killing.
pub const MAX_LOST_LEASES: u32 = 10;

/// The pauses between the questions about an unknown outcome, up to `TASK_BACKOFF_MAX`.
const RESOLVE_PAUSES: [u64; 6] = [1, 2, 5, 15, 60, 300];

/// The grace must be over, not just ending, when a "no such order" is to count.
const AFTER_GRACE: Duration = Duration::from_millis(50);

/// Polls of a registration that waits for its payer never get rarer than this.
pub(in crate::core::payment) const SLOWEST_POLL: Duration = Duration::from_secs(300);

impl OrderAggregate {
    /// Takes in what the last step brought, and decides the next one.
    pub fn advance(&mut self, turn: &Turn<'_>) -> (Next, Vec<Note>) {
        let mut notes = match &turn.round.last {
            Some((step, outcome)) => self.learn(step, outcome, turn.now),
            None => Vec::new(),
        };
        let Some(task) = self.held(turn.task, turn.token) else {
            // What was learned may be news that nobody else will ask for.
            self.follow_up(turn);
            return (Next::LeaseLost, notes);
        };
        let next = if task.lost_leases >= MAX_LOST_LEASES {
            self.review(turn, TaskError::LeaseLost, &mut notes)
        } else if contradicted(&notes, task.kind) {
            self.review(turn, TaskError::Mismatch, &mut notes)
        } else {
            match task.kind {
                TaskKind::RegisterPayment => self.next_register(turn, &mut notes),
                TaskKind::CancelPayment => self.next_cancel(turn, &mut notes),
                TaskKind::SyncPayment => self.next_sync(turn),
                TaskKind::RefundPayment => self.next_refund(turn, &mut notes),
            }
        };
        if let Next::Call(_) = next {
            self.renew(turn);
        }
        self.settle();
        self.give_back_late_money(turn, &notes);
        (next, notes)
    }

    /// A person must look; the outcome is not claimed. What may be alive is polled on.
    pub(in crate::core::payment) fn review(
        &mut self,
        turn: &Turn<'_>,
        error: TaskError,
        notes: &mut Vec<Note>,
    ) -> Next {
        notes.push(Note::Review);
        if error == TaskError::Mismatch {
            self.told_of_contradiction();
        }
        if let Some(task) = self.held_mut(turn) {
            // A contradiction may have been a slip, and is told once. Polls that kill their holders end.
            let poll_on = task.kind != TaskKind::SyncPayment || error == TaskError::Mismatch;
            task.state = TaskState::Review;
            task.error = Some(error);
            task.reason = None;
            task.lease = None;
            if poll_on {
                self.follow_up(turn);
            }
        }
        Next::Rest
    }

    /// From now on polls may find the same again and go on.
    fn told_of_contradiction(&mut self) {
        let mut all = self.registrations.iter_mut();
        if let Some(doubtful) = all.find(|registration| registration.evidence == CONTRADICTED) {
            CONTRADICTED_TOLD.clone_into(&mut doubtful.evidence);
        }
    }

    /// A step on a registration, as the partner must see it.
    pub(in crate::core::payment) fn step(
        registration: &Registration,
        action: Action,
        at: Timestamp,
    ) -> Step {
        Step {
            provider: registration.provider,
            sequence: registration.sequence,
            number: registration.number.clone(),
            amount: registration.amount,
            external_id: registration.external_id.clone(),
            action,
            at,
            not_found: registration.not_found,
        }
    }

    /// A registration whose sender died before it could say what happened.
    pub(in crate::core::payment) fn orphan_becomes_unknown(&mut self) {
        if let Some(open) = self.open_mut()
            && open.state == RegistrationState::Intent
        {
            open.state = RegistrationState::Unknown;
            "lost_lease".clone_into(&mut open.evidence);
        }
    }

    /// Waits after a call that brought nothing: as long as the partner's guard says, or growing. A
    /// question about an unknown outcome is due right after the grace, whatever the pause.
    pub(in crate::core::payment) fn rest_after_setback(
        &mut self,
        turn: &Turn<'_>,
        reason: Reason,
    ) -> Next {
        let attempts = self.task_of(turn).map_or(0, |task| task.attempts);
        if let Some((_, Outcome::NotExecuted(wait))) = &turn.round.last {
            let pause = turn.pause_of(wait, attempts);
            let charge = wait.reason == Reason::Retry;
            let shown = if reason == Reason::OutcomeUnknown { reason } else { wait.reason };
            self.park(turn, shown, turn.now + turn.spread(pause), charge);
            return Next::Rest;
        }
        let pause = self.resolve_pause(turn, attempts);
        let grace_left =
            self.open_registration().and_then(|open| open.sent_at).map_or(Duration::ZERO, |sent| {
                (sent + turn.policy.unknown_grace).since(turn.asked_at())
            });
        let pause = if grace_left.is_zero() { pause } else { pause.min(grace_left + AFTER_GRACE) };
        self.park(turn, reason, turn.now + pause, true);
        Next::Rest
    }

    pub(in crate::core::payment) fn last_was(turn: &Turn<'_>, wanted: fn(&Action) -> bool) -> bool {
        turn.round.last.as_ref().is_some_and(|(step, _)| wanted(&step.action))
    }

    /// How long to wait before the next question. The pauses grow with the provider's own answers about
    /// this send, so that a new send is asked about soon again; a question that failed is no answer.
    fn resolve_pause(&self, turn: &Turn<'_>, attempts: u32) -> Duration {
        let pause = |place: u32| {
            let last = RESOLVE_PAUSES.len() - 1;
            let place = usize::try_from(place).unwrap_or(last).min(last);
            Duration::from_secs(RESOLVE_PAUSES[place]).min(turn.policy.backoff_max)
        };
        match &turn.round.last {
            Some((step, _)) if matches!(step.action, Action::Register { .. }) => pause(0),
            Some((_, Outcome::NotFound)) => {
                pause(self.open_registration().map_or(0, |open| open.not_found))
            }
            Some(_) | None => pause(attempts),
        }
    }

    pub(in crate::core::payment) fn deadline_of(&self, turn: &Turn<'_>) -> Timestamp {
        self.task_of(turn).map_or(turn.now, |task| task.deadline)
    }

    pub(in crate::core::payment) fn task_of<'a>(&'a self, turn: &Turn<'_>) -> Option<&'a Task> {
        self.held(turn.task, turn.token)
    }
}

/// Whether a person must look: at whatever somebody waits for, and at a poll when it is news.
fn contradicted(notes: &[Note], kind: TaskKind) -> bool {
    notes.iter().any(|note| match note {
        Note::Mismatch { .. } => true,
        Note::MismatchAgain => kind != TaskKind::SyncPayment,
        Note::Reconciled { .. } | Note::LateTruth { .. } | Note::Strange { .. } | Note::Review => {
            false
        }
    })
}

impl Turn<'_> {
    /// Exponential with full jitter over the upper half: never at once, never in step with others.
    pub(in crate::core::payment) fn backoff(&self, attempts: u32) -> Duration {
        let factor = 2u32.saturating_pow(attempts.min(20));
        let ceiling = self.policy.backoff.saturating_mul(factor).min(self.policy.backoff_max);
        ceiling.mul_f64(0.5 + self.luck / 2.0)
    }

    /// As long as the partner's guard says, or growing. A breaker that a person holds open for hours may be
    /// let go at any moment: the task is due by then, and until then workers leave its lane alone.
    pub(in crate::core::payment) fn pause_of(&self, wait: &Wait, attempts: u32) -> Duration {
        let longest = match wait.reason {
            Reason::BreakerOpen => self.policy.backoff_max,
            Reason::BulkheadFull
            | Reason::OutcomeUnknown
            | Reason::Retry
            | Reason::RespondAsync
            | Reason::Operator => Duration::MAX,
        };
        wait.retry_after.map_or_else(|| self.backoff(attempts), |pause| pause.min(longest))
    }

    /// A wait that was named by somebody, spread so that all who were told it do not come together.
    pub(in crate::core::payment) fn spread(&self, pause: Duration) -> Duration {
        pause + (pause / 10 + Duration::from_millis(50)).mul_f64(self.luck)
    }

    /// When the last step was decided: what its answer tells is no younger than that.
    pub(in crate::core::payment) fn asked_at(&self) -> Timestamp {
        self.round.last.as_ref().map_or(self.now, |(step, _)| step.at)
    }

    pub(in crate::core::payment) fn past(&self, deadline: Timestamp) -> bool {
        self.now >= deadline
    }
}
