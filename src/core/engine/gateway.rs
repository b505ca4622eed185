//! The way to the payment systems: makes the call that was decided on, and says what became of it. Which
//! provider is asked next is the aggregate's decision (`PAYMENT_PROVIDERS` in order, then the queue);
//! this is the only place that calls the payment ports.

use crate::core::domain::provider::{Preference, Provider};
use crate::core::domain::unavailable::{NotExecuted, PaymentSystemUnavailableError, Shed};
use crate::core::engine::money_hold::MoneyHold;
use crate::core::payment::context::ProviderPromises;
use crate::core::payment::effect::{
    CallKind, CallResult, ChangeResult, CompletedCall, ProviderCall, QueryResult, RegisterResult,
};
use crate::core::ports::call::Call;
use crate::core::ports::deadline::Deadline;
use crate::core::ports::payment::{
    CancelOrder, Capacity, Concern, Finding, PaymentError, PaymentPort, PaymentRef, RefundOrder,
    RegisterOrder, Registered,
};
use crate::core::ports::trace::TraceParent;
use std::sync::Arc;
use std::time::Duration;

/// When a call that was held back is looked at again.
const AFTER_MAINTENANCE: Duration = Duration::from_secs(10);

/// All payment ports by their providers.
#[derive(Debug, Clone)]
pub struct PaymentGateway {
    ports: Vec<Arc<dyn PaymentPort>>,
    promises: Arc<ProviderPromises>,
    hold: Arc<MoneyHold>,
}

impl PaymentGateway {
    /// Over these ports.
    #[must_use]
    pub fn new(ports: Vec<Arc<dyn PaymentPort>>) -> Self {
        let that = |keeps: fn(&dyn PaymentPort) -> bool| {
            let keeping = ports.iter().filter(|port| keeps(port.as_ref()));
            keeping.map(|port| port.provider()).collect()
        };
        let promises = Arc::new(ProviderPromises {
            repeat_registrations: that(|port| port.repeats_safely()),
            deduplicate_refunds: that(|port| port.deduplicates_refunds()),
            longest_step: ports
                .iter()
                .map(|port| longest_step(port.as_ref()))
                .max()
                .unwrap_or_default(),
        });
        Self { ports, promises, hold: Arc::default() }
    }

    /// What keeps every call back that moves money, while it is held.
    #[must_use]
    pub const fn hold(&self) -> &Arc<MoneyHold> {
        &self.hold
    }

    /// What they promise, for decisions.
    #[must_use]
    pub const fn promises(&self) -> &Arc<ProviderPromises> {
        &self.promises
    }

    /// Who is configured.
    pub fn providers(&self) -> impl Iterator<Item = Provider> + '_ {
        self.ports.iter().map(|port| port.provider())
    }

    /// The port of a provider, if it is configured.
    #[must_use]
    pub fn port(&self, provider: Provider) -> Option<&Arc<dyn PaymentPort>> {
        self.ports.iter().find(|port| port.provider() == provider)
    }

    /// How many calls it would let through now; none where it is not configured.
    #[must_use]
    pub fn capacity(&self, provider: Provider) -> Capacity {
        let none = Capacity { free: 0, limit: 0, retry_after: Duration::ZERO };
        self.port(provider).map_or(none, |port| port.capacity())
    }

    /// Those of the preferred providers that no call would get through to at this moment.
    #[must_use]
    pub fn refusals(&self, preferred: &Preference) -> Vec<PaymentSystemUnavailableError> {
        let refusal = |provider| match self.port(provider)?.admits() {
            Err(PaymentError::NotExecuted(error)) => Some(error),
            Ok(()) | Err(_) => None,
        };
        preferred.iter().filter_map(refusal).collect()
    }

    /// Makes one call. A write is bounded by its own limit alone: a call that has begun is never cut
    /// short by the wish of a client.
    pub async fn call(
        &self,
        call: ProviderCall,
        trace: Option<TraceParent>,
        background: bool,
    ) -> CompletedCall {
        let Some(port) = self.port(call.target.provider) else {
            // A provider that is no longer configured: its registrations wait for its return.
            let (system, cause) = (call.target.provider.into(), NotExecuted::Unreachable);
            let error = PaymentSystemUnavailableError { system, cause, retry_after: None };
            return call.not_executed(error);
        };
        if !call.only_asks() && self.hold.is_held() {
            let (system, cause) = (call.target.provider.into(), Shed::Maintenance.into());
            let retry_after = Some(AFTER_MAINTENANCE);
            return call.not_executed(PaymentSystemUnavailableError { system, cause, retry_after });
        }
        let mut limits = Call::new(Deadline::after(longest_step(port.as_ref())), trace);
        if background && call.only_asks() {
            limits = limits.in_background();
        }
        let result = make(port.as_ref(), &call, &limits).await;
        call.completed(result)
    }
}

/// A step may hold two calls: a question is repeated, and an answer may have to be looked into.
fn longest_step(port: &dyn PaymentPort) -> Duration {
    port.call_limit() * 2
}

async fn make(port: &dyn PaymentPort, call: &ProviderCall, limits: &Call) -> CallResult {
    let target = &call.target;
    let payment =
        PaymentRef { number: target.number.clone(), external_id: target.external_id.clone() };
    match &call.kind {
        CallKind::Register(checkout) => {
            let (number, checkout) = (target.number.clone(), checkout.as_ref().clone());
            let order = RegisterOrder { number, amount: target.amount, checkout };
            CallResult::Register(port.register(&order, limits).await.into())
        }
        CallKind::Query(basis) => CallResult::Query {
            basis: *basis,
            result: port.payment_status(&payment, limits).await.into(),
        },
        CallKind::Cancel { key } => {
            let order = CancelOrder { payment, cancel_id: key.clone() };
            CallResult::Cancel(port.cancel(&order, limits).await.into())
        }
        CallKind::Refund { key, amount } => {
            let refund_id = key.as_str().to_owned();
            let refund = RefundOrder { payment, amount: *amount, refund_id };
            CallResult::Refund {
                key: key.clone(),
                result: port.refund(&refund, limits).await.into(),
            }
        }
    }
}

impl From<Result<Registered, PaymentError>> for RegisterResult {
    fn from(answer: Result<Registered, PaymentError>) -> Self {
        match answer {
            Ok(Registered { external_id, form_url, expires_at }) => {
                Self::Registered { external_id, form_url, expires_at }
            }
            Err(PaymentError::NotExecuted(error)) => Self::NotExecuted(error),
            Err(PaymentError::Unknown(_)) => Self::Unknown,
            Err(PaymentError::Duplicate) => Self::Duplicate,
            Err(PaymentError::Rejected(rejection)) => {
                Self::Refused { concerns_account: rejection.concerns == Concern::Account }
            }
        }
    }
}

impl From<Result<Finding, PaymentError>> for QueryResult {
    fn from(answer: Result<Finding, PaymentError>) -> Self {
        match answer {
            Ok(Finding::Found(report)) => Self::Found(report),
            Ok(Finding::NotFound) => Self::NotFound,
            Err(PaymentError::NotExecuted(error)) => Self::NotExecuted(error),
            Err(PaymentError::Unknown(_) | PaymentError::Duplicate | PaymentError::Rejected(_)) => {
                Self::Unanswered
            }
        }
    }
}

impl From<Result<(), PaymentError>> for ChangeResult {
    fn from(answer: Result<(), PaymentError>) -> Self {
        match answer {
            Ok(()) => Self::Acknowledged,
            Err(PaymentError::NotExecuted(error)) => Self::NotExecuted(error),
            Err(PaymentError::Unknown(_) | PaymentError::Duplicate) => Self::Unknown,
            Err(PaymentError::Rejected(_)) => Self::Refused,
        }
    }
}
