//! A payment system that behaves as a test tells it to, and records what it was asked.

use order_service::core::domain::money::Money;
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Shed};
use order_service::core::payment::registration::Ending;
use order_service::core::ports::call::Call;
use order_service::core::ports::payment::{
    Callback, CallbackError, Capacity, Concern, Finding, PaymentError, PaymentPort, PaymentRef,
    PaymentReport, RawCallback, RefundOrder, RegisterOrder, Registered, Rejection, ReportedStatus,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

/// How a payment system answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Behaviour {
    #[default]
    Answers,
    /// Not executed.
    BreakerOpen,
    /// Refuses the order.
    Refuses,
    /// Never answers.
    Hangs,
}

/// By POST, query, signature, body.
pub type RecordedCallback = (bool, String, Option<String>, Vec<u8>);

#[derive(Debug)]
pub struct RecordingProvider {
    pub provider: Provider,
    pub behaviour: Mutex<Behaviour>,
    pub registered: Mutex<Vec<(RegisterOrder, Call)>>,
    pub callbacks: Mutex<Vec<RecordedCallback>>,
    refunded: AtomicI64,
    cancelled: AtomicBool,
}

impl RecordingProvider {
    pub fn new(provider: Provider) -> Self {
        Self {
            provider,
            behaviour: Mutex::default(),
            registered: Mutex::default(),
            callbacks: Mutex::default(),
            refunded: AtomicI64::new(0),
            cancelled: AtomicBool::new(false),
        }
    }

    pub fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    async fn answer(&self) -> Result<(), PaymentError> {
        let behaviour = *self.behaviour.lock().unwrap();
        match behaviour {
            Behaviour::Answers => Ok(()),
            Behaviour::Hangs => std::future::pending().await,
            Behaviour::Refuses => Err(PaymentError::Rejected(Rejection {
                code: "5".to_owned(),
                concerns: Concern::Order,
            })),
            Behaviour::BreakerOpen => Err(self.breaker_open()),
        }
    }

    fn breaker_open(&self) -> PaymentError {
        let retry_after = Some(Duration::from_millis(12_300));
        let cause = Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen));
        PaymentError::without_answer(self.provider.into(), NoAnswer { cause, retry_after })
    }
}

#[async_trait::async_trait]
impl PaymentPort for RecordingProvider {
    fn provider(&self) -> Provider {
        self.provider
    }

    fn call_limit(&self) -> Duration {
        Duration::from_secs(15)
    }

    fn capacity(&self) -> Capacity {
        Capacity { free: 10, retry_after: Duration::ZERO }
    }

    fn admits(&self) -> Result<(), PaymentError> {
        let open = *self.behaviour.lock().unwrap() == Behaviour::BreakerOpen;
        if open { Err(self.breaker_open()) } else { Ok(()) }
    }

    fn repeats_safely(&self) -> bool {
        false
    }

    fn deduplicates_refunds(&self) -> bool {
        true
    }

    async fn register(
        &self,
        order: &RegisterOrder,
        call: &Call,
    ) -> Result<Registered, PaymentError> {
        self.answer().await?;
        self.registered.lock().unwrap().push((order.clone(), call.clone()));
        Ok(Registered {
            external_id: format!("ext-{}", order.number),
            form_url: format!("https://pay.example/{}", order.number),
            expires_at: None,
        })
    }

    async fn payment_status(
        &self,
        payment: &PaymentRef,
        _: &Call,
    ) -> Result<Finding, PaymentError> {
        self.answer().await?;
        let registered = self.registered.lock().unwrap();
        let Some((order, _)) = registered.iter().find(|(o, _)| o.number == payment.number) else {
            return Ok(Finding::NotFound);
        };
        let status = if self.cancelled.load(Ordering::Relaxed) {
            ReportedStatus::Over(Ending::Cancelled)
        } else {
            ReportedStatus::Paid
        };
        Ok(Finding::Found(PaymentReport {
            number: payment.number.clone(),
            external_id: payment.external_id.clone(),
            amount: Some(order.amount),
            status,
            refunded: Some(Money::rub(self.refunded.load(Ordering::Relaxed)).unwrap()),
            form_url: None,
            expires_at: None,
        }))
    }

    async fn cancel(&self, _: &PaymentRef, _: &Call) -> Result<(), PaymentError> {
        self.answer().await?;
        self.cancelled.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn refund(&self, refund: &RefundOrder, _: &Call) -> Result<(), PaymentError> {
        self.answer().await?;
        self.refunded.fetch_add(refund.amount.minor(), Ordering::Relaxed);
        Ok(())
    }

    fn read_callback(
        &self,
        raw: &RawCallback<'_>,
        _: Timestamp,
    ) -> Result<Callback, CallbackError> {
        let signature = raw.signature.map(str::to_owned);
        let seen = (raw.post, raw.query.to_owned(), signature, raw.body.to_vec());
        self.callbacks.lock().unwrap().push(seen);
        if raw.query.contains("forged") {
            return Err(CallbackError::SignatureInvalid);
        }
        if raw.query.contains("nonsense") {
            return Err(CallbackError::Malformed("no number"));
        }
        Ok(Callback {
            number: ProviderNumber::told("UNKNOWN-01"),
            event_id: None,
            kind: "deposited".to_owned(),
            signed: true,
        })
    }
}
