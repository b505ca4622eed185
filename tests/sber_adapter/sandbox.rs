//! Against the simulated bank: what is Sber's own.

use crate::payment_partner::calls::{call, cancellation, order, payment, unknown};
use crate::{adapter, config};
use order_service::adapters::outbound::http_client::base_url;
use order_service::adapters::outbound::sber::{Credentials, Protocol, SberAdapter};
use order_service::core::domain::unavailable::Unknown;
use order_service::core::ports::payment::{Finding, PaymentError, PaymentPort, ReportedStatus};
use order_service::sandbox::{
    Answer, Deed, ErrorCodeShape, Fault, OrderEffects, PartnerName, Sandbox, SandboxConfig, Then,
    When,
};
use secrecy::SecretString;

struct Bank {
    sandbox: Sandbox,
    adapter: SberAdapter,
}

async fn bank() -> Bank {
    let sandbox = Sandbox::start(SandboxConfig::default()).await.unwrap();
    let url = sandbox.base_url(PartnerName::Sber);
    let mut config = config(&url, Protocol::Classic);
    config.base_url = base_url(&url).unwrap();
    config.credentials = Credentials::Login {
        username: "sandbox-api".to_owned(),
        password: SecretString::from("sandbox"),
    };
    Bank { sandbox, adapter: adapter(config).0 }
}

impl Bank {
    fn fault(&self, operation: &str, then: Then) {
        let when =
            When { operation: Some(operation.to_owned()), times: Some(1), ..When::default() };
        self.sandbox.add_fault(PartnerName::Sber, Fault { when, then });
    }

    async fn status(&self) -> ReportedStatus {
        match self.adapter.payment_status(&payment(None), &call()).await.unwrap() {
            Finding::Found(report) => report.status,
            Finding::NotFound => panic!("not found"),
        }
    }
}

#[tokio::test]
async fn a_system_error_after_the_commit_is_unknown_and_the_order_is_found() {
    for (answer, cause) in [
        (Answer::ErrorCode(7), Unknown::PartnerFailed),
        (Answer::Without(vec!["formUrl".to_owned()]), Unknown::Unreadable),
    ] {
        let bank = bank().await;
        bank.fault("register.do", Then { answer, ..Then::default() });
        assert_eq!(bank.adapter.register(&order(), &call()).await, Err(unknown(cause)));
        assert_eq!(bank.status().await, ReportedStatus::Pending);
    }
}

#[tokio::test]
async fn a_paid_order_that_cannot_be_declined_is_unknown() {
    let bank = bank().await;
    bank.adapter.register(&order(), &call()).await.unwrap();
    bank.sandbox.act(PartnerName::Sber, order().number.as_str(), Deed::Pay).unwrap();
    let refused = bank.adapter.cancel(&cancellation(None), &call()).await;
    assert_eq!(refused, Err(unknown(Unknown::PartnerFailed)), "only the status tells why");
}

#[tokio::test]
async fn codes_are_read_however_they_are_written() {
    let bank = bank().await;
    bank.adapter.register(&order(), &call()).await.unwrap();
    for shape in [
        ErrorCodeShape::String,
        ErrorCodeShape::Number,
        ErrorCodeShape::Capitalised,
        ErrorCodeShape::Nested,
    ] {
        for operation in ["register.do", "getOrderStatusExtended.do"] {
            bank.fault(operation, Then { error_code_as: Some(shape), ..Then::default() });
        }
        let repeated = bank.adapter.register(&order(), &call()).await;
        assert_eq!(repeated, Err(PaymentError::Duplicate), "{shape:?}");
        assert_eq!(bank.status().await, ReportedStatus::Pending, "{shape:?}");
    }
}

#[tokio::test]
async fn the_payer_at_the_issuers_page_is_not_an_ending() {
    let bank = bank().await;
    let order_effects = OrderEffects { acs_polls: 1, ..OrderEffects::default() };
    bank.fault("register.do", Then { order: order_effects, ..Then::default() });
    bank.adapter.register(&order(), &call()).await.unwrap();
    assert_eq!(bank.status().await, ReportedStatus::Pending);
}
