//! What is asked of a payment port, and what it can answer.

use order_service::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use order_service::core::domain::money::Money;
use order_service::core::domain::provider::ProviderNumber;
use order_service::core::domain::unavailable::Unknown;
use order_service::core::ports::call::Call;
use order_service::core::ports::deadline::Deadline;
use order_service::core::ports::payment::{
    CancelOrder, Checkout, PaymentError, PaymentPort, PaymentRef, RefundOrder, RegisterOrder,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub const NUMBER: &str = "01JDTESTORDER0000000000001-01";

/// A payment system's own id, in every alphabet.
pub const EXTERNAL_ID: &str = "6f0c1f0e-1";

pub fn call() -> Call {
    call_within(Duration::from_secs(30))
}

pub fn call_within(budget: Duration) -> Call {
    Call::new(Deadline::after(budget), None)
}

pub fn order() -> RegisterOrder {
    RegisterOrder {
        number: ProviderNumber::told(NUMBER),
        amount: Money::rub(19_900).unwrap(),
        checkout: checkout(),
    }
}

/// A shop that says no more than where its payers come back to.
pub fn checkout() -> Checkout {
    Checkout {
        return_url: "https://shop.example/back?a=1&b=%20".to_owned(),
        lifetime: None,
        expires_at: None,
        description: None,
        receipt: None,
    }
}

pub fn payment(external_id: Option<&str>) -> PaymentRef {
    PaymentRef { number: ProviderNumber::told(NUMBER), external_id: external_id.map(str::to_owned) }
}

pub fn cancellation(external_id: Option<&str>) -> CancelOrder {
    CancelOrder { payment: payment(external_id), cancel_id: format!("cancel-{NUMBER}-1") }
}

pub fn refund(external_id: Option<&str>) -> RefundOrder {
    RefundOrder {
        payment: payment(external_id),
        amount: Money::rub(5_000).unwrap(),
        refund_id: "R7".to_owned(),
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Method {
    Register,
    PaymentStatus,
    Cancel,
    Refund,
}

impl Method {
    pub const ALL: [Self; 4] = [Self::Register, Self::PaymentStatus, Self::Cancel, Self::Refund];

    pub async fn call(self, port: &dyn PaymentPort, call: &Call) -> Result<(), PaymentError> {
        let id = Some(EXTERNAL_ID);
        match self {
            Self::Register => port.register(&order(), call).await.map(drop),
            Self::PaymentStatus => port.payment_status(&payment(id), call).await.map(drop),
            Self::Cancel => port.cancel(&cancellation(id), call).await,
            Self::Refund => port.refund(&refund(id), call).await,
        }
    }
}

pub fn unknown(cause: Unknown) -> PaymentError {
    PaymentError::Unknown(cause)
}

/// Counts the alarms about our configuration.
#[derive(Debug, Default)]
pub struct Alarms(AtomicUsize);

impl Alarms {
    /// Since the last look.
    pub fn rung(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

impl AdapterEvents for Alarms {
    fn tell(&self, event: &AdapterEvent) {
        if matches!(event, AdapterEvent::Misconfigured { .. }) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}
