//! A payment system that behaves as a test tells it to, and records what it was asked.

use order_service::core::domain::money::Money;
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Shed};
use order_service::core::payment::registration::Ending;
use order_service::core::ports::call::Call;
use order_service::core::ports::payment::{
    Callback, CallbackError, CancelOrder, Capacity, Concern, Finding, PaymentError, PaymentPort,
    PaymentRef, PaymentReport, RawCallback, RefundOrder, RegisterOrder, Registered, Rejection,
    ReportedStatus,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

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
    /// Answers when it is let go.
    HeldBack,
}

/// By POST, query, signature, body.
pub type RecordedCallback = (bool, String, Option<String>, Vec<u8>);

#[derive(Debug)]
pub struct RecordingProvider {
    pub provider: Provider,
    pub behaviour: Mutex<Behaviour>,
    pub registered: Mutex<Vec<(RegisterOrder, Call)>>,
    pub callbacks: Mutex<Vec<RecordedCallback>>,
    /// Whether each callback was declared to be a form.
    pub forms: Mutex<Vec<bool>>,
    /// Questions about a payment.
    pub asked: AtomicUsize,
    refunded: AtomicI64,
    cancelled: AtomicBool,
    /// The payer has paid whatever we take back.
    pub paid_first: AtomicBool,
    pub let_go: Notify,
}

impl RecordingProvider {
    pub fn new(provider: Provider) -> Self {
        Self {
            provider,
            behaviour: Mutex::default(),
            registered: Mutex::default(),
            callbacks: Mutex::default(),
            forms: Mutex::default(),
            asked: AtomicUsize::new(0),
            refunded: AtomicI64::new(0),
            cancelled: AtomicBool::new(false),
            paid_first: AtomicBool::new(false),
            let_go: Notify::new(),
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
            Behaviour::HeldBack => {
                self.let_go.notified().await;
                Ok(())
            }
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
        Capacity { free: 10, limit: 10, retry_after: Duration::ZERO }
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
        self.asked.fetch_add(1, Ordering::Relaxed);
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
            taken: None,
            status,
            refunded: Some(Money::rub(self.refunded.load(Ordering::Relaxed)).unwrap()),
            form_url: None,
            expires_at: None,
            decline: None,
        }))
    }

    async fn cancel(&self, _: &CancelOrder, _: &Call) -> Result<(), PaymentError> {
        self.answer().await?;
        self.cancelled.store(!self.paid_first.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    }

    async fn refund(&self, refund: &RefundOrder, _: &Call) -> Result<(), PaymentError> {
        self.answer().await?;
        self.refunded.fetch_add(refund.amount.minor(), Ordering::Relaxed);
        Ok(())
    }

    /// What the query says: `forged`, `nonsense`, `notours`, or `number=`, with `unsigned`, `at=` and `event=`.
    fn read_callback(&self, raw: &RawCallback<'_>) -> Result<Callback, CallbackError> {
        let signature = raw.signature.map(str::to_owned);
        let seen = (raw.post, raw.query.to_owned(), signature, raw.body.to_vec());
        self.callbacks.lock().unwrap().push(seen);
        self.forms.lock().unwrap().push(raw.form);
        let said = |word: &str| {
            let mut parameters = raw.query.split('&').map(|p| p.split_once('=').unwrap_or((p, "")));
            parameters.find(|(name, _)| *name == word).map(|(_, value)| value.to_owned())
        };
        if said("forged").is_some() {
            return Err(CallbackError::SignatureInvalid);
        }
        if said("nonsense").is_some() {
            return Err(CallbackError::Malformed("no number"));
        }
        if said("notours").is_some() {
            return Err(CallbackError::NotOurs("no number"));
        }
        let seconds = said("at").map(|seconds| seconds.parse::<i64>().unwrap());
        Ok(Callback {
            number: ProviderNumber::told(said("number").as_deref().unwrap_or("UNKNOWN-01")),
            event_id: said("event"),
            kind: "deposited".to_owned(),
            signed: said("unsigned").is_none(),
            signed_at: seconds.map(|seconds| Timestamp::from_micros(seconds * 1_000_000)),
        })
    }
}
