//! Accepting a refund: its row, its task and what is kept under its key, in one transaction.

use super::request::{RefundError, RefundRequest};
use crate::core::domain::ids::TaskId;
use crate::core::engine::Engine;
use crate::core::engine::command::NewTask;
use crate::core::payment::commands::{RefundCommand, RefundDecision};
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::refund::RefundState;
use crate::core::ports::idempotency::{KeptOutcome, Refusal};
use crate::core::ports::order_repository::{LoadOptions, SideWrites};

/// How a refund goes on once it is committed.
pub(super) enum Accepted {
    /// The call to make, with the lease in this request's hand.
    Call(ProviderCall),
    /// By the refund's own row: its request's outcome is kept for a day only.
    Known { task: TaskId, state: RefundState },
    /// The refund of that key was for something else.
    KeyReused,
}

pub(super) async fn accept(
    engine: &Engine,
    request: RefundRequest,
    task: NewTask,
) -> Result<Accepted, RefundError> {
    let RefundRequest { order_id, scope, amount, idempotency, call } = request;
    let command = RefundCommand {
        amount,
        client_key: Some(idempotency.key.key.clone()),
        trace: call.trace.as_ref().map(ToString::to_string),
    };
    let commanded = engine
        .command(order_id, scope, task, LoadOptions::Aggregate, move |aggregate, context| {
            let asked = aggregate.refund_payment(&command, context);
            let kept = kept_outcome(&asked, context.task);
            let kept = kept.map(|outcome| (idempotency.clone(), outcome));
            (asked, SideWrites { kept, ..SideWrites::default() })
        })
        .await?
        .ok_or(RefundError::NotFound)?;
    match commanded.answer {
        RefundDecision::Call(call) => Ok(Accepted::Call(call)),
        RefundDecision::Known { task, state } => Ok(Accepted::Known { task, state }),
        RefundDecision::KeyReused => Ok(Accepted::KeyReused),
        RefundDecision::InProgress => Err(RefundError::InProgress),
        RefundDecision::Exceeds => Err(RefundError::Exceeds),
        RefundDecision::OtherCurrency => Err(RefundError::OtherCurrency),
        RefundDecision::Refused(status) => Err(RefundError::NotRefundable(status)),
    }
}

/// What is committed under the key, with the task or with the look at the order that led to the refusal:
/// so no crash comes between effect and memory, and of two instances that are asked at once one answers.
/// `None` where a repeat may get another answer.
const fn kept_outcome(asked: &RefundDecision, task: TaskId) -> Option<KeptOutcome> {
    match asked {
        RefundDecision::Call(_) => Some(KeptOutcome::Refunding(task)),
        RefundDecision::InProgress | RefundDecision::Known { .. } | RefundDecision::KeyReused => {
            None
        }
        RefundDecision::Exceeds => Some(KeptOutcome::Refused(Refusal::RefundExceeds)),
        RefundDecision::OtherCurrency => {
            Some(KeptOutcome::Refused(Refusal::CurrencyNotSupported(Vec::new())))
        }
        RefundDecision::Refused(status) => {
            Some(KeptOutcome::Refused(Refusal::NotRefundable(*status)))
        }
    }
}
