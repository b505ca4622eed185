//! What a person may do by hand. Facts stay facts: a person, too, only brings evidence, and a final
//! answer of a task never changes.

use crate::core::domain::ids::TaskId;
use crate::core::domain::provider::ProviderNumber;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::refund::{Refund, RefundState};
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Reason, Task, TaskError, TaskKind, TaskState};

/// What a person found out about an outcome that nobody knew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorFinding {
    /// The provider has done it.
    Executed,
    /// The provider has done nothing, and will not.
    NotExecuted,
    /// Seen and settled elsewhere: nothing more is done about it.
    Settled,
}

impl OperatorFinding {
    /// Its word in the API and in the audit.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::NotExecuted => "not_executed",
            Self::Settled => "settled",
        }
    }
}

/// Why a person may not do that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OperatorRefused {
    /// A final answer never changes.
    #[error("the task is over")]
    Over,
    /// Its holder may be in the middle of a call: wait for the end of the lease.
    #[error("somebody works on the task at this moment")]
    Running,
    /// Retried or cancelled it could be done twice, or be done and called not done.
    #[error("its outcome is unknown: resolve it first")]
    Unknown,
    /// There is no question that a finding would answer.
    #[error("no outcome of this order is unknown")]
    NothingUnknown,
    /// The person has looked at another registration than the one in doubt.
    #[error("what is unknown by now has another number")]
    AnotherNumber,
}

impl OrderAggregate {
    /// Lets a task run now; releases one that waits for a person.
    ///
    /// # Errors
    /// It is over, or running.
    pub fn retry_task(&mut self, context: &DecisionContext) -> Result<(), OperatorRefused> {
        let own = self.tasks.iter_mut().find(|task| task.id == context.task);
        let task = own.ok_or(OperatorRefused::Over)?;
        match task.state {
            TaskState::Queued => {
                task.run_at = context.now;
                if task.reason == Some(Reason::Operator) {
                    task.reason = Some(Reason::Retry);
                    task.deadline = context.now + context.policy.max_age;
                }
                Ok(())
            }
            TaskState::Running => Err(OperatorRefused::Running),
            TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled | TaskState::Review => {
                Err(OperatorRefused::Over)
            }
        }
    }

    /// Gives a waiting task up, unless an outcome is unknown.
    ///
    /// # Errors
    /// It is over, running, or its outcome is unknown.
    pub fn cancel_task(&mut self, context: &DecisionContext) -> Result<(), OperatorRefused> {
        let open = self.open_registration().map(|open| open.state);
        let refund = self.refund_of(context.task).map(|refund| (refund.key.clone(), refund.state));
        let sent = refund.as_ref().is_some_and(|(_, state)| *state != RefundState::Planned);
        let own = self.tasks.iter_mut().find(|task| task.id == context.task);
        let task = own.ok_or(OperatorRefused::Over)?;
        let in_doubt = match task.kind {
            TaskKind::RegisterPayment => open.is_some(),
            TaskKind::RefundPayment => sent,
            // Polls and cancellations end when the registration does.
            TaskKind::SyncPayment | TaskKind::CancelPayment => true,
        };
        match task.state {
            TaskState::Running => Err(OperatorRefused::Running),
            TaskState::Queued if in_doubt => Err(OperatorRefused::Unknown),
            TaskState::Queued => {
                task.state = TaskState::Cancelled;
                task.reason = None;
                task.error = Some(TaskError::CancelledByOperator);
                if let Some((key, _)) = refund {
                    self.set_refund(&key, |refund| refund.state = RefundState::Cancelled);
                }
                self.derive_status();
                Ok(())
            }
            TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled | TaskState::Review => {
                Err(OperatorRefused::Over)
            }
        }
    }

    /// Answers an unknown outcome by a person's word, about `number` if the person names one: the order
    /// may have moved on since they looked. `in_review` tells that the task is over and waits for this
    /// word; then any finding closes it.
    ///
    /// # Errors
    /// There is no unknown outcome, it has another number, or somebody works on it.
    pub fn resolve_task(
        &mut self,
        finding: OperatorFinding,
        number: Option<&ProviderNumber>,
        in_review: bool,
        context: &DecisionContext,
    ) -> Result<(), OperatorRefused> {
        let refund = self.refund_of(context.task).filter(|refund| refund.state.is_in_doubt());
        if let Some(refund) = refund.cloned() {
            return self.resolve_refund(&refund, finding, number, context);
        }
        let resolved = match finding {
            OperatorFinding::Settled if in_review => return Ok(()),
            OperatorFinding::Settled => Err(OperatorRefused::NothingUnknown),
            OperatorFinding::Executed | OperatorFinding::NotExecuted => {
                self.resolve_registration(finding == OperatorFinding::Executed, number, context)
            }
        };
        match resolved {
            // The order has been found out in the meantime: the person's word closes what is left.
            Err(OperatorRefused::NothingUnknown) if in_review => Ok(()),
            resolved => resolved,
        }
    }

    /// That the provider has what we know to be alive takes up the polls again.
    fn resolve_registration(
        &mut self,
        executed: bool,
        number: Option<&ProviderNumber>,
        context: &DecisionContext,
    ) -> Result<(), OperatorRefused> {
        let register = self.unfinished(TaskKind::RegisterPayment).map(|task| task.state);
        if register == Some(TaskState::Running) {
            return Err(OperatorRefused::Running);
        }
        let about = self.open_registration().map(|open| &open.number);
        if number.is_some_and(|number| about != Some(number)) {
            return Err(OperatorRefused::AnotherNumber);
        }
        let Some(open) = self.open_registration_mut() else {
            return Err(OperatorRefused::NothingUnknown);
        };
        match (open.state, executed) {
            // Its form is lost: it is taken back and made anew, or polled if nobody waits.
            (RegistrationState::Unknown, true) => open.found_by_operator(RegistrationState::Live),
            (RegistrationState::Unknown, false) => {
                open.found_by_operator(RegistrationState::Absent)
            }
            // Its polls may have ended in a review: the provider is asked again.
            (RegistrationState::Live, true) => open.request_sync(context.now),
            (
                RegistrationState::Intent
                | RegistrationState::Live
                | RegistrationState::Paid
                | RegistrationState::Dead
                | RegistrationState::Absent
                | RegistrationState::Surplus,
                _,
            ) => return Err(OperatorRefused::NothingUnknown),
        }
        self.bring_forward(TaskKind::RegisterPayment, context.now);
        self.bring_forward(TaskKind::SyncPayment, context.now);
        self.derive_status();
        self.follow_up(context);
        Ok(())
    }

    /// What a person found out about a refund. That it was not executed sends it once more: nothing but
    /// such a word does where the provider knows no keys.
    fn resolve_refund(
        &mut self,
        refund: &Refund,
        finding: OperatorFinding,
        number: Option<&ProviderNumber>,
        context: &DecisionContext,
    ) -> Result<(), OperatorRefused> {
        let registration = self.registration(refund.provider, refund.sequence);
        if number.is_some_and(|number| registration.map(|r| &r.number) != Some(number)) {
            return Err(OperatorRefused::AnotherNumber);
        }
        let own = self.tasks.iter().find(|task| task.id == context.task).map(|task| task.state);
        if own == Some(TaskState::Running) {
            return Err(OperatorRefused::Running);
        }
        match finding {
            OperatorFinding::Executed => {
                self.set_refund(&refund.key, |refund| refund.state = RefundState::Done);
                self.credit(refund);
                self.end_waiting(context.task, TaskState::Succeeded, None);
            }
            OperatorFinding::NotExecuted => self.send_again(refund, own.is_some(), context),
            OperatorFinding::Settled => {
                self.set_refund(&refund.key, |refund| refund.state = RefundState::Cancelled);
                let error = Some(TaskError::CancelledByOperator);
                self.end_waiting(context.task, TaskState::Cancelled, error);
            }
        }
        if let Some(registration) = self.registration_mut(refund.provider, refund.sequence) {
            registration.request_sync(context.now);
        }
        self.derive_status();
        self.follow_up(context);
        Ok(())
    }

    /// A person has confirmed the sum, as the provider's own report would have.
    fn credit(&mut self, refund: &Refund) {
        let Some(registration) = self.registration(refund.provider, refund.sequence) else {
            return;
        };
        let explained = self.explained(registration);
        if let Some(registration) = self.registration_mut(refund.provider, refund.sequence)
            && explained.minor() > registration.refunded.minor()
            && explained.minor() <= registration.amount.minor()
        {
            registration.refunded = explained;
        }
    }

    fn send_again(&mut self, refund: &Refund, waiting: bool, context: &DecisionContext) {
        let now = context.now;
        let own = self.tasks.iter_mut().find(|task| waiting && task.id == context.task);
        let task = if let Some(own) = own {
            // Of several refunds this one: another may wait for its own release.
            own.run_at = own.run_at.min(now);
            context.task
        } else {
            let id = context.fresh_task_id(self.tasks.len());
            let deadline = now + context.policy.max_age;
            let kind = TaskKind::RefundPayment;
            let mut task = Task::queued(id, self.order.id, kind, now, deadline);
            task.lane = Some(refund.provider);
            task.result = Some((refund.provider, refund.sequence));
            self.tasks.push(task);
            id
        };
        self.set_refund(&refund.key, |refund| {
            refund.state = RefundState::Planned;
            refund.task = Some(task);
            refund.sent_at = None;
            refund.sends = 0;
            refund.acknowledged = false;
            refund.unchanged = 0;
        });
    }

    /// Ends a task that nobody works on.
    fn end_waiting(&mut self, task: TaskId, state: TaskState, error: Option<TaskError>) {
        if let Some(task) = self.tasks.iter_mut().find(|own| own.id == task) {
            task.state = state;
            task.error = error;
            task.reason = None;
        }
    }
}

impl Registration {
    fn found_by_operator(&mut self, state: RegistrationState) {
        self.state = state;
        "operator".clone_into(&mut self.evidence);
    }
}
