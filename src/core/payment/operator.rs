//! What a person may do by hand. Facts stay facts: a person, too, only brings evidence, and a final
//! answer of a task never changes.

use crate::core::domain::provider::ProviderNumber;
use crate::core::payment::OrderAggregate;
use crate::core::payment::context::DecisionContext;
use crate::core::payment::refund::RefundState;
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Reason, TaskError, TaskKind, TaskState};

/// What a person found out about a registration of unknown outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorFinding {
    /// The provider has it.
    Executed,
    /// The provider has nothing under the number, and will not have.
    NotExecuted,
}

/// Why a person may not do that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OperatorRefused {
    #[error("the task is over")]
    Over,
    #[error("somebody works on the task at this moment")]
    Running,
    #[error("its outcome is unknown: resolve it first")]
    Unknown,
    #[error("no outcome of this order is unknown")]
    NothingUnknown,
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
    /// may have moved on since they looked. That the provider has what we know to be alive takes up
    /// the polls again.
    ///
    /// # Errors
    /// There is no unknown outcome, it has another number, or somebody works on it.
    pub fn resolve_task(
        &mut self,
        finding: OperatorFinding,
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
        let in_state = |wanted| self.registrations.iter().position(|r| r.state == wanted);
        match (in_state(RegistrationState::Unknown), in_state(RegistrationState::Live), finding) {
            // Its form is lost: it is taken back and made anew, or polled if nobody waits.
            (Some(unknown), _, OperatorFinding::Executed) => {
                self.registrations[unknown].found_by_operator(RegistrationState::Live);
            }
            (Some(unknown), _, OperatorFinding::NotExecuted) => {
                self.registrations[unknown].found_by_operator(RegistrationState::Absent);
            }
            // Its polls may have ended in a review: the provider is asked again.
            (None, Some(live), OperatorFinding::Executed) => {
                self.registrations[live].sync_requested = true
            }
            (None, None, OperatorFinding::Executed) | (None, _, OperatorFinding::NotExecuted) => {
                return Err(OperatorRefused::NothingUnknown);
            }
        }
        self.bring_forward(TaskKind::RegisterPayment, context.now);
        self.bring_forward(TaskKind::SyncPayment, context.now);
        self.derive_status();
        self.follow_up(context);
        Ok(())
    }
}

impl Registration {
    fn found_by_operator(&mut self, state: RegistrationState) {
        self.state = state;
        "operator".clone_into(&mut self.evidence);
    }
}
