//! Against the simulated bank, which was written from the same protocol by other hands: an error in
//! one of the two is found by the other.

use crate::payment_partner::port::{
    call, impatient, order, payment, refund, rejected, timeouts, unknown,
};
use crate::{adapter, config};
use order_service::adapters::outbound::http_client::base_url;
use order_service::adapters::outbound::sber::{Credentials, Protocol, SberAdapter};
use order_service::adapters::resilience::settings::TimeoutConfig;
use order_service::core::domain::money::Money;
use order_service::core::domain::unavailable::Unknown;
use order_service::core::payment::registration::Ending;
use order_service::core::ports::payment::{
    Concern, Finding, PaymentError, PaymentPort, PaymentReport, ReportedStatus,
};
use order_service::sandbox::{
    Answer, Deed, ErrorCodeShape, Fault, Mood, OrderEffects, PartnerName, Sandbox, SandboxConfig,
    Then, When,
};
use secrecy::SecretString;

struct Bank {
    sandbox: Sandbox,
    adapter: SberAdapter,
}

async fn bank(protocol: Protocol) -> Bank {
    bank_within(timeouts(), protocol).await
}

async fn bank_within(timeouts: TimeoutConfig, protocol: Protocol) -> Bank {
    let sandbox = Sandbox::start(SandboxConfig::default()).await.unwrap();
    let url = match protocol {
        Protocol::Classic => sandbox.base_url(PartnerName::Sber),
        Protocol::Json => sandbox.sber_json_base_url(),
    };
    let mut config = config(&url, protocol);
    config.base_url = base_url(&url).unwrap();
    config.guards.timeouts = timeouts;
    config.credentials = Credentials::Login {
        username: "sandbox-api".to_owned(),
        password: SecretString::from("sandbox"),
    };
    Bank { sandbox, adapter: adapter(config).0 }
}

impl Bank {
    fn act(&self, deed: Deed) {
        self.sandbox.act(PartnerName::Sber, order().number.as_str(), deed).unwrap();
    }

    fn fault(&self, operation: &str, then: Then) {
        let when =
            When { operation: Some(operation.to_owned()), times: Some(1), ..When::default() };
        self.sandbox.add_fault(PartnerName::Sber, Fault { when, then });
    }

    async fn find(&self) -> Finding {
        self.adapter.payment_status(&payment(None), &call()).await.unwrap()
    }

    async fn report(&self) -> PaymentReport {
        match self.find().await {
            Finding::Found(report) => report,
            Finding::NotFound => panic!("not found"),
        }
    }
}

const PROTOCOLS: [Protocol; 2] = [Protocol::Classic, Protocol::Json];

#[tokio::test]
async fn an_order_lives_its_whole_life_in_both_generations() {
    for protocol in PROTOCOLS {
        let bank = bank(protocol).await;
        assert_eq!(bank.find().await, Finding::NotFound);
        let made = bank.adapter.register(&order(), &call()).await.unwrap();
        let report = bank.report().await;
        assert_eq!((report.number, report.amount), (order().number, Some(order().amount)));
        assert_eq!(report.external_id, Some(made.external_id.clone()));
        assert_eq!(report.status, ReportedStatus::Pending);

        bank.act(Deed::Pay);
        assert_eq!(bank.report().await.status, ReportedStatus::Paid);
        for (known_id, refunded) in [(Some(&*made.external_id), 5_000), (None, 10_000)] {
            let mut refund = refund(known_id);
            refund.refund_id = format!("R{refunded}");
            bank.adapter.refund(&refund, &call()).await.unwrap();
            let report = bank.report().await;
            assert_eq!(report.status, ReportedStatus::Paid);
            assert_eq!(report.refunded.map(Money::minor), Some(refunded));
        }
    }
}

#[tokio::test]
async fn an_unpaid_order_is_taken_back_and_a_paid_one_is_not() {
    for protocol in PROTOCOLS {
        let bank = bank(protocol).await;
        bank.adapter.register(&order(), &call()).await.unwrap();
        bank.adapter.cancel(&payment(None), &call()).await.unwrap();
        assert!(matches!(bank.report().await.status, ReportedStatus::Over(_)));
    }
    let bank = bank(Protocol::Classic).await;
    bank.adapter.register(&order(), &call()).await.unwrap();
    bank.act(Deed::Pay);
    let refused = bank.adapter.cancel(&payment(None), &call()).await;
    assert_eq!(refused, Err(unknown(Unknown::PartnerFailed)), "only the status tells why");
}

#[tokio::test]
async fn endings_are_told_apart() {
    for protocol in PROTOCOLS {
        for (deed, ending) in [(Deed::Expire, Ending::Expired), (Deed::Decline, Ending::Declined)] {
            let bank = bank(protocol).await;
            bank.adapter.register(&order(), &call()).await.unwrap();
            bank.act(deed);
            assert_eq!(bank.report().await.status, ReportedStatus::Over(ending));
        }
    }
}

#[tokio::test]
async fn a_repeated_number_is_a_duplicate() {
    for protocol in PROTOCOLS {
        let bank = bank(protocol).await;
        bank.adapter.register(&order(), &call()).await.unwrap();
        let repeated = bank.adapter.register(&order(), &call()).await;
        assert_eq!(repeated, Err(PaymentError::Duplicate));
    }
}

#[tokio::test]
async fn a_lost_reply_is_unknown_and_the_order_is_found() {
    for protocol in PROTOCOLS {
        for (answer, cause) in [
            (Answer::Drop, Unknown::Broken),
            (Answer::DropMidBody, Unknown::Broken),
            (Answer::Empty, Unknown::Unreadable),
            (Answer::Html, Unknown::Unreadable),
            (Answer::Truncated, Unknown::Unreadable),
            (Answer::Huge { bytes: 1 << 20 }, Unknown::Unreadable),
            (Answer::Without(vec!["formUrl".to_owned()]), Unknown::Unreadable),
            (Answer::ErrorCode(7), Unknown::PartnerFailed),
        ] {
            let bank = bank(protocol).await;
            bank.fault("register.do", Then { answer, ..Then::default() });
            let lost = bank.adapter.register(&order(), &call()).await;
            assert_eq!(lost, Err(unknown(cause)));
            assert_eq!(bank.report().await.status, ReportedStatus::Pending);
        }
    }
}

#[tokio::test]
async fn an_answer_that_never_comes_is_unknown_and_the_order_is_there() {
    let bank = bank_within(impatient(), Protocol::Classic).await;
    bank.fault("register.do", Then { answer: Answer::Hang, ..Then::default() });
    let lost = bank.adapter.register(&order(), &call()).await;
    assert_eq!(lost, Err(unknown(Unknown::TimedOut)));
    assert_eq!(bank.sandbox.orders(PartnerName::Sber).len(), 1);
}

#[tokio::test]
async fn mistyped_replies_are_unreadable() {
    let bank = bank(Protocol::Classic).await;
    for operation in ["register.do", "getOrderStatusExtended.do"] {
        bank.fault(operation, Then { answer: Answer::WrongTypes, ..Then::default() });
    }
    let mistyped = bank.adapter.register(&order(), &call()).await;
    assert_eq!(mistyped, Err(unknown(Unknown::Unreadable)));
    let mistyped = bank.adapter.payment_status(&payment(None), &call()).await;
    assert_eq!(mistyped, Err(unknown(Unknown::Unreadable)));
}

#[tokio::test]
async fn codes_are_read_however_they_are_written() {
    let bank = bank(Protocol::Classic).await;
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
        assert_eq!(bank.report().await.status, ReportedStatus::Pending, "{shape:?}");
    }
}

#[tokio::test]
async fn a_wrong_login_is_an_alarm_and_not_the_payers_fault() {
    for protocol in PROTOCOLS {
        let sandbox = Sandbox::start(SandboxConfig::default()).await.unwrap();
        let url = match protocol {
            Protocol::Classic => sandbox.base_url(PartnerName::Sber),
            Protocol::Json => sandbox.sber_json_base_url(),
        };
        let mut config = config(&url, protocol);
        config.base_url = base_url(&url).unwrap();
        let (adapter, alarms) = adapter(config);
        let refused = adapter.register(&order(), &call()).await;
        assert_eq!(refused, Err(rejected("sber_5", Concern::Account)), "{protocol:?}");
        assert_eq!(alarms.rung(), 1);
    }
}

#[tokio::test]
async fn the_payer_at_the_issuers_page_is_not_an_ending() {
    let bank = bank(Protocol::Classic).await;
    let order_effects = OrderEffects { acs_polls: 1, ..OrderEffects::default() };
    bank.fault("register.do", Then { order: order_effects, ..Then::default() });
    bank.adapter.register(&order(), &call()).await.unwrap();
    assert_eq!(bank.report().await.status, ReportedStatus::Pending);
}

#[tokio::test]
async fn a_bank_that_is_down_was_never_asked() {
    let bank = bank(Protocol::Classic).await;
    bank.sandbox.set_mode(PartnerName::Sber, Mood::Down).await;
    let refused = bank.adapter.register(&order(), &call()).await.unwrap_err();
    assert!(matches!(refused, PaymentError::NotExecuted(_)), "{refused}");
    bank.sandbox.set_mode(PartnerName::Sber, Mood::Ok).await;
    assert_eq!(bank.find().await, Finding::NotFound);
}
