//! Bugs around a provider's adapter: what it sends and what it makes of the answers.

use super::Mutant;
use crate::simulation::port::SimPort;
use order_service::core::domain::money::Money;
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::domain::unavailable::PaymentSystemUnavailableError;
use order_service::core::domain::unavailable::{NotExecuted, Unknown};
use order_service::core::payment::registration::Ending;
use order_service::core::ports::call::Call;
use order_service::core::ports::payment::{
    Callback, CallbackError, CancelOrder, Capacity, Finding, PaymentError, PaymentPort, PaymentRef,
    PaymentReport, RawCallback, RefundOrder, RegisterOrder, Registered, ReportedStatus,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// The adapter with its bug, if it has one.
#[derive(Debug)]
pub struct MutantPort {
    mutant: Option<Mutant>,
    port: Arc<SimPort>,
    attempts: AtomicU32,
    declined: Mutex<Vec<String>>,
}

impl MutantPort {
    pub fn around(mutant: Option<Mutant>, port: Arc<SimPort>) -> Arc<Self> {
        Arc::new(Self { mutant, port, attempts: AtomicU32::new(0), declined: Mutex::default() })
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn not_executed(&self) -> PaymentError {
        let system = self.port.provider().into();
        let cause = NotExecuted::Unreachable;
        PaymentSystemUnavailableError { system, cause, retry_after: None }.into()
    }

    fn over(payment: &PaymentRef, amount: Option<Money>, ending: Ending) -> Finding {
        Finding::Found(PaymentReport {
            number: payment.number.clone(),
            external_id: None,
            amount,
            taken: None,
            decline: None,
            status: ReportedStatus::Over(ending),
            refunded: None,
            form_url: None,
            expires_at: None,
        })
    }

    fn sent(&self, number: &ProviderNumber) -> Option<Money> {
        self.port.world().records().sent.get(number.as_str()).copied()
    }
}

#[async_trait::async_trait]
impl PaymentPort for MutantPort {
    fn provider(&self) -> Provider {
        self.port.provider()
    }

    fn call_limit(&self) -> Duration {
        self.port.call_limit()
    }

    fn capacity(&self) -> Capacity {
        self.port.capacity()
    }

    fn admits(&self) -> Result<(), PaymentError> {
        self.port.admits()
    }

    fn repeats_safely(&self) -> bool {
        self.port.repeats_safely()
    }

    fn deduplicates_refunds(&self) -> bool {
        self.port.deduplicates_refunds()
    }

    async fn register(
        &self,
        order: &RegisterOrder,
        call: &Call,
    ) -> Result<Registered, PaymentError> {
        let number = order.number.as_str().to_owned();
        self.port.world().records().sent.insert(number.clone(), order.amount);
        let mut order = order.clone();
        if self.is(Mutant::FreshNumberEachTime) {
            let attempt = self.attempts.fetch_add(1, Ordering::Relaxed);
            order.number = ProviderNumber::told(&format!("{number}-{attempt}"));
        }
        let made = self.port.register(&order, call).await;
        match made {
            Err(PaymentError::Unknown(Unknown::TimedOut))
                if self.is(Mutant::FailoverAfterTimeout) =>
            {
                Err(self.not_executed())
            }
            made => made,
        }
    }

    async fn payment_status(
        &self,
        payment: &PaymentRef,
        call: &Call,
    ) -> Result<Finding, PaymentError> {
        let declined = self
            .declined
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&payment.number.as_str().to_owned());
        if declined {
            return Ok(Self::over(payment, self.sent(&payment.number), Ending::Cancelled));
        }
        let mut found = self.port.payment_status(payment, call).await?;
        let sent = self.sent(&payment.number);
        if self.is(Mutant::NotFoundIsDead) && found == Finding::NotFound {
            found = Self::over(payment, sent, Ending::Expired);
        }
        if let (true, Finding::Found(report)) = (self.is(Mutant::AmountNotCompared), &mut found) {
            report.amount = sent.or(report.amount);
        }
        Ok(found)
    }

    async fn cancel(&self, order: &CancelOrder, call: &Call) -> Result<(), PaymentError> {
        let cancelled = self.port.cancel(order, call).await;
        let executed = !matches!(cancelled, Err(PaymentError::NotExecuted(_)));
        if self.is(Mutant::DeclineBelieved) && executed {
            let mut declined = self.declined.lock().unwrap_or_else(PoisonError::into_inner);
            declined.push(order.payment.number.as_str().to_owned());
        }
        cancelled
    }

    async fn refund(&self, refund: &RefundOrder, call: &Call) -> Result<(), PaymentError> {
        let given = self.port.refund(refund, call).await;
        match given {
            Err(PaymentError::Unknown(_)) if self.is(Mutant::RefundRepeated) => {
                sleep(Duration::from_secs(1)).await;
                self.port.refund(refund, call).await
            }
            given => given,
        }
    }

    fn read_callback(&self, raw: &RawCallback<'_>) -> Result<Callback, CallbackError> {
        self.port.read_callback(raw)
    }
}
