//! The way to the payment systems: makes the call that a aggregate decided on, and says what became of
//! it in the aggregate's words. Which provider is asked next is the aggregate's decision
//! (`PAYMENT_PROVIDERS` in order, then the queue); this is the only place that knows the ports.

use crate::core::domain::provider::Provider;
use crate::core::domain::unavailable::{NotExecuted, Shed};
use crate::core::payment::effect::{Action, Outcome, Step, Wait};
use crate::core::payment::task::Reason;
use crate::core::ports::call::Call;
use crate::core::ports::deadline::Deadline;
use crate::core::ports::payment::{
    Capacity, Finding, PaymentError, PaymentPort, PaymentRef, PaymentSystemUnavailableError,
    RefundOrder, RegisterOrder,
};
use crate::core::ports::trace::TraceParent;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct PaymentGateway {
    ports: Vec<Arc<dyn PaymentPort>>,
    repeat_safe: Vec<Provider>,
}

/// What became of a step, and the fault behind it for logs, metrics and the client's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Performed {
    pub outcome: Outcome,
    pub unavailable: Option<PaymentSystemUnavailableError>,
}

impl From<Outcome> for Performed {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, unavailable: None }
    }
}

impl PaymentGateway {
    #[must_use]
    pub fn new(ports: Vec<Arc<dyn PaymentPort>>) -> Self {
        let safe = ports.iter().filter(|port| port.repeats_safely());
        let repeat_safe = safe.map(|port| port.provider()).collect();
        Self { ports, repeat_safe }
    }

    #[must_use]
    pub fn repeat_safe(&self) -> &[Provider] {
        &self.repeat_safe
    }

    pub fn providers(&self) -> impl Iterator<Item = Provider> + '_ {
        self.ports.iter().map(|port| port.provider())
    }

    #[must_use]
    pub fn port(&self, provider: Provider) -> Option<&Arc<dyn PaymentPort>> {
        self.ports.iter().find(|port| port.provider() == provider)
    }

    #[must_use]
    pub fn capacity(&self, provider: Provider) -> Capacity {
        self.port(provider)
            .map_or(Capacity { free: 0, retry_after: Duration::ZERO }, |port| port.capacity())
    }

    /// No single call of any provider lasts longer.
    #[must_use]
    pub fn call_limit(&self) -> Duration {
        self.ports.iter().map(|port| port.call_limit()).max().unwrap_or_default()
    }

    /// Makes one call. A write is bounded by its own limit alone: a call that has begun is never cut
    /// short by the wish of a client.
    pub async fn perform(
        &self,
        step: &Step,
        trace: Option<TraceParent>,
        background: bool,
    ) -> Performed {
        let Some(port) = self.port(step.provider) else {
            // A provider that is no longer configured: its registrations wait for its return.
            let wait = Wait { reason: Reason::Retry, retry_after: None, too_late: false };
            return Outcome::NotExecuted(wait).into();
        };
        let mut call = Call::new(Deadline::after(port.call_limit() * 2), trace);
        if background && step.action == Action::Query {
            call = call.in_background();
        }
        match act(port.as_ref(), step, &call).await {
            Ok(outcome) => outcome.into(),
            Err(fault) => fault.into(),
        }
    }
}

async fn act(port: &dyn PaymentPort, step: &Step, call: &Call) -> Result<Outcome, PaymentError> {
    let payment = PaymentRef { number: step.number.clone(), external_id: step.external_id.clone() };
    match &step.action {
        Action::Register { return_url } => {
            let (number, return_url) = (step.number.clone(), return_url.clone());
            let order = RegisterOrder { number, amount: step.amount, return_url };
            let made = port.register(&order, call).await?;
            let (external_id, form_url) = (made.external_id, made.form_url);
            Ok(Outcome::Registered { external_id, form_url, expires_at: made.expires_at })
        }
        Action::Query => Ok(match port.payment_status(&payment, call).await? {
            Finding::Found(report) => Outcome::Found(report),
            Finding::NotFound => Outcome::NotFound,
        }),
        Action::Cancel => port.cancel(&payment, call).await.map(|()| Outcome::Taken),
        Action::Refund { amount, refund_id } => {
            let refund = RefundOrder { payment, amount: *amount, refund_id: refund_id.clone() };
            port.refund(&refund, call).await.map(|()| Outcome::Taken)
        }
    }
}

impl From<PaymentError> for Performed {
    fn from(fault: PaymentError) -> Self {
        match fault {
            PaymentError::NotExecuted(unavailable) => Self {
                outcome: Outcome::NotExecuted(Wait {
                    reason: reason_of(unavailable.cause),
                    retry_after: unavailable.retry_after,
                    too_late: unavailable.cause == Shed::DeadlineTooShort.into(),
                }),
                unavailable: Some(unavailable),
            },
            PaymentError::Unknown(_) => Outcome::Unknown.into(),
            PaymentError::Duplicate => Outcome::Duplicate.into(),
            PaymentError::Rejected(rejection) => {
                use crate::core::ports::payment::Concern;
                let concerns_account = rejection.concerns == Concern::Account;
                Outcome::Refused { concerns_account }.into()
            }
        }
    }
}

/// The API's word for why a task waits.
const fn reason_of(cause: NotExecuted) -> Reason {
    match cause {
        NotExecuted::Shed(Shed::BreakerOpen | Shed::ProbesTaken | Shed::ForcedOpen) => {
            Reason::BreakerOpen
        }
        NotExecuted::Shed(Shed::BulkheadFull | Shed::BulkheadWait) => Reason::BulkheadFull,
        NotExecuted::Shed(Shed::DeadlineTooShort)
        | NotExecuted::Unreachable
        | NotExecuted::Throttled
        | NotExecuted::Misdirected => Reason::Retry,
    }
}
