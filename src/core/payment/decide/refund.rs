//! The next step of a refund: read what was given back so far, send, read again. A repeat is judged
//! against the sum that stood there before, since not every provider knows a key for refunds.

use crate::core::payment::OrderAggregate;
use crate::core::payment::effect::{Action, Next, Note, Outcome, Step, Turn};
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Reason, RefundPlan, TaskError, TaskKind, TaskState};

/// So many readings of an unchanged sum are needed before a refund of unknown outcome goes again.
const UNCHANGED_ENOUGH: u32 = 3;

/// What a reading of the refunded sum says about a refund that was sent.
enum Reading {
    Done,
    Unchanged,
    Other,
}

impl OrderAggregate {
    pub(in crate::core::payment) fn next_refund(
        &mut self,
        turn: &Turn<'_>,
        notes: &mut Vec<Note>,
    ) -> Next {
        let Some((plan, paid)) = self.refund_in_hand(turn) else {
            return self.review(turn, TaskError::Mismatch, notes);
        };
        let (query, deadline) =
            (Self::step(&paid, Action::Query, turn.now), self.deadline_of(turn));
        let refused = matches!(turn.round.last, Some((_, Outcome::Refused { .. })));
        match &turn.round.last {
            None => Next::Call(query),
            Some((step, Outcome::Found(_))) if step.action == Action::Query => match plan.sent_at {
                None => self.send_refund(turn, plan, &paid),
                Some(_) => self.judge_refund(turn, plan, &paid, notes),
            },
            Some((step, _)) if matches!(step.action, Action::Refund { .. }) => {
                if refused && plan.sent_at.is_none() {
                    self.finish(turn, TaskState::Failed, Some(TaskError::RefundRejected));
                    Next::Rest
                } else if plan.sent_at.is_none() {
                    self.rest_after_setback(turn, Reason::Retry)
                } else {
                    Next::Call(query)
                }
            }
            Some(_) if turn.past(deadline) => self.review(turn, TaskError::OutcomeUnknown, notes),
            Some(_) if plan.sent_at.is_some() => {
                self.rest_after_setback(turn, Reason::OutcomeUnknown)
            }
            Some(_) => self.rest_after_setback(turn, Reason::Retry),
        }
    }

    fn send_refund(&mut self, turn: &Turn<'_>, mut plan: RefundPlan, paid: &Registration) -> Next {
        let left = paid.amount.minus(paid.refunded);
        if !left.is_ok_and(|left| left.minor() >= plan.amount.minor()) {
            self.finish(turn, TaskState::Failed, Some(TaskError::RefundRejected));
            return Next::Rest;
        }
        plan.before = Some(paid.refunded);
        self.call_refund(turn, plan, paid)
    }

    fn judge_refund(
        &mut self,
        turn: &Turn<'_>,
        mut plan: RefundPlan,
        paid: &Registration,
        notes: &mut Vec<Note>,
    ) -> Next {
        match plan.read(paid) {
            Reading::Done => {
                self.finish(turn, TaskState::Succeeded, None);
                Next::Rest
            }
            Reading::Other => self.review(turn, TaskError::Mismatch, notes),
            Reading::Unchanged if turn.past(self.deadline_of(turn)) => {
                self.review(turn, TaskError::OutcomeUnknown, notes)
            }
            Reading::Unchanged => {
                plan.unchanged = plan.unchanged.saturating_add(1);
                // A reading from before the end of the grace proves nothing, however late it comes.
                let grace = turn.policy.unknown_grace;
                let grace_over = plan.sent_at.is_none_or(|sent| turn.asked_at() > sent + grace);
                if !plan.taken && grace_over && plan.unchanged >= UNCHANGED_ENOUGH {
                    return self.call_refund(turn, plan, paid);
                }
                self.keep_plan(turn, plan);
                self.rest_after_setback(turn, Reason::OutcomeUnknown)
            }
        }
    }

    fn call_refund(&mut self, turn: &Turn<'_>, mut plan: RefundPlan, paid: &Registration) -> Next {
        plan.sent_at = Some(turn.now);
        plan.sends = plan.sends.saturating_add(1);
        plan.unchanged = 0;
        self.keep_plan(turn, plan);
        // One id for all repeats of this refund, another for the next refund of the same sum.
        let refund_id = format!("R{}", turn.task);
        Next::Call(Self::step(paid, Action::Refund { amount: plan.amount, refund_id }, turn.now))
    }

    /// A fact about the refund that is under way; there is one at most.
    pub(in crate::core::payment) fn learn_refund(&mut self, step: &Step, outcome: &Outcome) {
        let Some(plan) =
            self.unfinished_mut(TaskKind::RefundPayment).and_then(|t| t.refund.as_mut())
        else {
            return;
        };
        match outcome {
            Outcome::Taken => plan.taken = true,
            // Certainly without effect: as if it had never been sent, unless an earlier send is in doubt.
            Outcome::NotExecuted(_) | Outcome::Refused { .. }
                if plan.sends == 1 && plan.sent_at == Some(step.at) =>
            {
                plan.sent_at = None;
                plan.sends = 0;
            }
            Outcome::NotExecuted(_)
            | Outcome::Refused { .. }
            | Outcome::Unknown
            | Outcome::Duplicate
            | Outcome::Registered { .. }
            | Outcome::Found(_)
            | Outcome::NotFound => {}
        }
    }

    fn refund_in_hand(&self, turn: &Turn<'_>) -> Option<(RefundPlan, Registration)> {
        let task = self.task_of(turn)?;
        let (provider, sequence) = task.result?;
        let paid = self.registration(provider, sequence)?;
        let money = matches!(paid.state, RegistrationState::Paid | RegistrationState::Surplus);
        if money { Some((task.refund?, paid.clone())) } else { None }
    }

    fn keep_plan(&mut self, turn: &Turn<'_>, plan: RefundPlan) {
        if let Some(task) = self.held_mut(turn) {
            task.refund = Some(plan);
        }
    }
}

impl RefundPlan {
    fn read(&self, paid: &Registration) -> Reading {
        let before = self.before.map_or(0, |money| money.minor());
        let now = paid.refunded.minor();
        if now == before + self.amount.minor() {
            Reading::Done
        } else if now == before {
            Reading::Unchanged
        } else {
            Reading::Other
        }
    }
}
