//! Decisions: what the holder of a task's lease does next. Every one checks the token first.

mod cancel;
mod owed;
mod poll;
mod refund;
mod register;
mod scheduling;

use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::decision::{Decision, DomainEvent, Next};
use crate::core::payment::dispute::Dispute;
use crate::core::payment::effect::{CallResult, ProviderCall, QueryResult};
use crate::core::payment::registration::{CONTRADICTED, CONTRADICTED_TOLD, RegistrationState};
use crate::core::payment::task::{Reason, TaskError, TaskKind, TaskState};
use std::time::Duration;

/// A task that killed so many of its holders must not go on killing.
pub const MAX_LOST_LEASES: u32 = 10;

/// The pauses between the questions about an unknown outcome, up to `TASK_BACKOFF_MAX`.
const RESOLVE_PAUSES: [u64; 6] = [1, 2, 5, 15, 60, 300];

/// The grace must be over, not just ending, when a "no such order" is to count.
const AFTER_GRACE: Duration = Duration::from_millis(50);

/// Polls of a registration that waits for its payer never get rarer than this.
const SLOWEST_POLL: Duration = Duration::from_secs(300);

impl OrderAggregate {
    /// Takes in what the last call of the run brought, and decides the next one.
    pub fn decide(&mut self, context: &DecisionContext) -> Decision {
        let mut events = match &context.history.last {
            Some(call) => self.evolve(call, context.now),
            None => Vec::new(),
        };
        if let (Some(_), Some(task)) = (&context.history.last, self.own_task_mut(context)) {
            // A step that ended did not kill its holder.
            task.lost_leases = 0;
        }
        let Some(task) = self.own_task(context) else {
            // What was learned may be news that nobody else will ask for.
            self.follow_up(context);
            self.plan_owed_refunds(context);
            return Decision { next: Next::LeaseLost, events };
        };
        let next = if task.lost_leases >= MAX_LOST_LEASES {
            self.review(context, TaskError::LeaseLost, &mut events)
        } else if contradicted(&events, task.kind) {
            self.review(context, TaskError::Mismatch, &mut events)
        } else {
            match task.kind {
                TaskKind::RegisterPayment => self.decide_register(context, &mut events),
                TaskKind::CancelPayment => self.decide_cancel(context, &mut events),
                TaskKind::SyncPayment => self.decide_poll(context, &mut events),
                TaskKind::RefundPayment => self.decide_refund(context, &mut events),
            }
        };
        if let Next::Call(_) = next {
            self.renew(context);
        }
        self.derive_status();
        self.plan_owed_refunds(context);
        Decision { next, events }
    }

    /// A person must look; the outcome is not claimed. What may be alive is polled on.
    fn review(
        &mut self,
        context: &DecisionContext,
        error: TaskError,
        events: &mut Vec<DomainEvent>,
    ) -> Next {
        if error == TaskError::Mismatch {
            self.told_of_contradiction();
        }
        self.doubt_goes_to_review(context);
        let dispute = events.iter().find_map(disputed).cloned();
        if let Some(task) = self.own_task_mut(context) {
            let kind = task.kind;
            events.push(DomainEvent::Review { kind, error });
            // What a person was told of is asked about on, and told once. Polls that kill their holders end.
            let poll_on = kind != TaskKind::SyncPayment || error != TaskError::LeaseLost;
            task.state = TaskState::Review;
            task.error = Some(error);
            task.dispute = dispute.filter(|_| error == TaskError::Mismatch);
            task.reason = None;
            task.lease = None;
            if poll_on {
                self.follow_up(context);
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

    /// A registration whose sender died before it could say what happened.
    fn orphan_becomes_unknown(&mut self) {
        if let Some(open) = self.open_registration_mut()
            && open.state == RegistrationState::Intent
        {
            open.state = RegistrationState::Unknown;
            "lost_lease".clone_into(&mut open.evidence);
        }
    }

    /// Waits after a call that brought nothing: as long as was asked for, or growing. A question about
    /// an unknown outcome is due right after the grace, whatever the pause.
    fn rest_after_setback(&mut self, context: &DecisionContext, reason: Reason) -> Next {
        let attempts = self.own_task(context).map_or(0, |task| task.attempts);
        let last = context.history.last.as_ref();
        if let Some(error) = last.and_then(|call| call.unavailable()) {
            let pause = context.pause_after(error, attempts);
            let why = Reason::after(error.cause);
            let shown = if reason == Reason::OutcomeUnknown { reason } else { why };
            let run_at = context.now + context.spread(pause);
            self.park(context, shown, run_at, why == Reason::Retry);
            return Next::Rest;
        }
        let pause = self.resolve_pause(context, attempts);
        let grace_left =
            self.open_registration().and_then(|open| open.sent_at).map_or(Duration::ZERO, |sent| {
                (sent + context.policy.unknown_grace).since(context.asked_at())
            });
        let pause = if grace_left.is_zero() { pause } else { pause.min(grace_left + AFTER_GRACE) };
        self.park(context, reason, context.now + pause, true);
        Next::Rest
    }

    /// How long to wait before the next question. The pauses grow with the provider's own answers about
    /// this send, so that a new send is asked about soon again; a question that failed is no answer.
    fn resolve_pause(&self, context: &DecisionContext, attempts: u32) -> Duration {
        let pause = |place: u32| {
            let last = RESOLVE_PAUSES.len() - 1;
            let place = usize::try_from(place).unwrap_or(last).min(last);
            Duration::from_secs(RESOLVE_PAUSES[place]).min(context.policy.backoff_max)
        };
        match context.history.last.as_ref().map(|call| &call.result) {
            Some(CallResult::Register(_)) => pause(0),
            Some(CallResult::Query { result: QueryResult::NotFound, .. }) => {
                pause(self.open_registration().map_or(0, |open| open.not_found))
            }
            Some(CallResult::Query { .. } | CallResult::Cancel(_) | CallResult::Refund { .. })
            | None => pause(attempts),
        }
    }

    fn deadline_of(&self, context: &DecisionContext) -> Timestamp {
        self.own_task(context).map_or(context.now, |task| task.deadline)
    }

    fn ask_about_open(&self, context: &DecisionContext) -> Next {
        self.open_registration()
            .map_or(Next::Rest, |open| Next::Call(ProviderCall::query(open, context.now)))
    }
}

/// Whether a person must look: at whatever somebody waits for, and at a poll when it is news.
fn contradicted(events: &[DomainEvent], kind: TaskKind) -> bool {
    events.iter().any(|event| match event {
        DomainEvent::Mismatch { .. } => true,
        DomainEvent::MismatchAgain { .. } => kind != TaskKind::SyncPayment,
        DomainEvent::Reconciled { .. }
        | DomainEvent::LateMoney { .. }
        | DomainEvent::RefundElsewhere { .. }
        | DomainEvent::GivenUpPending { .. }
        | DomainEvent::StrangeStatus { .. }
        | DomainEvent::Review { .. } => false,
    })
}

/// The two sides of a contradiction.
const fn disputed(event: &DomainEvent) -> Option<&Dispute> {
    match event {
        DomainEvent::Mismatch { dispute, .. } | DomainEvent::MismatchAgain { dispute } => {
            Some(dispute)
        }
        DomainEvent::Reconciled { .. }
        | DomainEvent::LateMoney { .. }
        | DomainEvent::RefundElsewhere { .. }
        | DomainEvent::GivenUpPending { .. }
        | DomainEvent::StrangeStatus { .. }
        | DomainEvent::Review { .. } => None,
    }
}
