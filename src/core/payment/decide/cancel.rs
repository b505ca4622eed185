//! The next step of a cancellation, and of a registration whose form was lost: take it back at the
//! provider and wait for the evidence.

use super::SLOWEST_POLL;
use crate::core::domain::order::OrderStatus;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::decision::{DomainEvent, Next};
use crate::core::payment::effect::{CallResult, ChangeResult, ProviderCall, QueryResult};
use crate::core::payment::policy::CancelPaid;
use crate::core::payment::registration::{CONTRADICTED_TOLD, RegistrationState};
use crate::core::payment::task::{Reason, TaskError, TaskKind, TaskState};

impl OrderAggregate {
    pub(super) fn decide_cancel(
        &mut self,
        context: &DecisionContext,
        events: &mut Vec<DomainEvent>,
    ) -> Next {
        if self.unfinished(TaskKind::RegisterPayment).is_some() {
            // Its end brings this task forward.
            self.park(context, Reason::OutcomeUnknown, context.now + SLOWEST_POLL, false);
            return Next::Rest;
        }
        self.orphan_becomes_unknown();
        let deadline = self.deadline_of(context);
        let state = self.open_registration().map(|open| open.state);
        match state {
            None => {
                self.order.status = OrderStatus::Cancelled;
                self.finish(context, TaskState::Succeeded, None);
                Next::Rest
            }
            Some(RegistrationState::Paid) => self.paid_before_cancel(context),
            Some(_) if context.past(deadline) || self.tell_of_strange_status(context) => {
                self.review(context, TaskError::OutcomeUnknown, events)
            }
            Some(RegistrationState::Unknown) if context.history.last.is_some() => {
                self.rest_after_setback(context, Reason::OutcomeUnknown)
            }
            Some(RegistrationState::Unknown) => self.ask_about_open(context),
            Some(_) => self.wind_down(context),
        }
    }

    /// The payment was faster. What accepting the cancel has promised is kept by a refund, which is
    /// derived from what is stored; unless it is for a person to decide.
    fn paid_before_cancel(&mut self, context: &DecisionContext) -> Next {
        let paid = self.paid_registration().map(|paid| (paid.provider, paid.sequence));
        if let Some(task) = self.own_task_mut(context) {
            task.result = paid;
        }
        match context.policy.cancel_paid {
            CancelPaid::Refund => self.finish(context, TaskState::Succeeded, None),
            CancelPaid::Review => {
                self.finish(context, TaskState::Failed, Some(TaskError::OrderNotCancellable));
            }
        }
        Next::Rest
    }

    /// Cancel, then ask; only the answer to the question counts.
    pub(in crate::core::payment) fn wind_down(&mut self, context: &DecisionContext) -> Next {
        let reason = match self.own_task(context).map(|task| task.kind) {
            Some(TaskKind::RegisterPayment) => Reason::OutcomeUnknown,
            Some(TaskKind::CancelPayment | TaskKind::RefundPayment | TaskKind::SyncPayment)
            | None => Reason::Retry,
        };
        let last = context.history.last.as_ref().map(|call| &call.result);
        let Some(open) = self.open_registration_mut() else { return Next::Rest };
        match last {
            Some(CallResult::Query {
                result: QueryResult::NotExecuted(_) | QueryResult::Unanswered,
                ..
            }) => self.rest_after_setback(context, reason),
            Some(CallResult::Cancel(ChangeResult::NotExecuted(_)))
                if open.cancel_sent_at.is_none() =>
            {
                self.rest_after_setback(context, reason)
            }
            // Not said yet, or asked for once more after a person was told that a hold had stayed.
            _ if open.cancel_sent_at.is_none()
                || (last.is_none() && open.evidence == CONTRADICTED_TOLD) =>
            {
                open.given_up_at.get_or_insert(context.now);
                Next::Call(ProviderCall::cancel(open, context.now))
            }
            // Still open after our word: say it again later.
            Some(CallResult::Query { .. }) => {
                open.cancel_sent_at = None;
                self.rest_after_setback(context, reason)
            }
            Some(CallResult::Register(_) | CallResult::Cancel(_) | CallResult::Refund { .. })
            | None => Next::Call(ProviderCall::query(open, context.now)),
        }
    }
}
