//! Against the simulated partner, which was written from the same protocol by other hands: an error
//! in one of the two is found by the other.

use crate::config;
use crate::payment_partner::port::{Alarms, call, order, payment, refund, rejected, unknown};
use order_service::adapters::outbound::odnakassa::OdnaKassaAdapter;
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::adapters::resilience::observer::Silent;
use order_service::core::domain::money::Money;
use order_service::core::domain::unavailable::Unknown;
use order_service::core::payment::registration::Ending;
use order_service::core::ports::payment::{
    Concern, Finding, PaymentError, PaymentPort, PaymentReport, ReportedStatus,
};
use order_service::sandbox::{
    Answer, Deed, Fault, PartnerName, Sandbox, SandboxConfig, Then, When,
};
use secrecy::SecretString;
use std::sync::Arc;

struct Kassa {
    sandbox: Sandbox,
    adapter: OdnaKassaAdapter,
    alarms: Arc<Alarms>,
}

async fn kassa_with(api_key: &str) -> Kassa {
    let sandbox = Sandbox::start(SandboxConfig::default()).await.unwrap();
    let mut config = config(&sandbox.base_url(PartnerName::OdnaKassa));
    config.api_key = SecretString::from(api_key);
    let alarms = Arc::new(Alarms::default());
    let adapter =
        OdnaKassaAdapter::new(config, MonotonicClock::coarse(), Arc::new(Silent), alarms.clone())
            .unwrap();
    Kassa { sandbox, adapter, alarms }
}

async fn kassa() -> Kassa {
    kassa_with("sandbox-key").await
}

impl Kassa {
    fn act(&self, deed: Deed) {
        self.sandbox.act(PartnerName::OdnaKassa, order().number.as_str(), deed).unwrap();
    }

    fn fault(&self, operation: &str, answer: Answer) {
        let when =
            When { operation: Some(operation.to_owned()), times: Some(1), ..When::default() };
        let then = Then { answer, ..Then::default() };
        self.sandbox.add_fault(PartnerName::OdnaKassa, Fault { when, then });
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

#[tokio::test]
async fn a_payment_lives_its_whole_life() {
    let kassa = kassa().await;
    assert_eq!(kassa.find().await, Finding::NotFound);
    let made = kassa.adapter.register(&order(), &call()).await.unwrap();
    let report = kassa.report().await;
    assert_eq!((report.number, report.amount), (order().number, Some(order().amount)));
    assert_eq!(report.form_url, Some(made.form_url.clone()), "the form is never lost");
    assert_eq!(report.status, ReportedStatus::Pending);
    let repeated = kassa.adapter.register(&order(), &call()).await;
    assert_eq!(repeated, Ok(made.clone()), "a repeat is answered with the first outcome");

    kassa.act(Deed::Pay);
    assert_eq!(kassa.report().await.status, ReportedStatus::Paid);
    let repeated = kassa.adapter.register(&order(), &call()).await;
    assert_eq!(repeated, Err(PaymentError::Duplicate), "and with its present status");
    for (known_id, refunded) in [(Some(&*made.external_id), 5_000), (None, 10_000)] {
        let mut refund = refund(known_id);
        refund.refund_id = format!("R{refunded}");
        for _repeat in 0..2 {
            kassa.adapter.refund(&refund, &call()).await.unwrap();
            assert_eq!(kassa.report().await.refunded.map(Money::minor), Some(refunded));
        }
    }
    let mut too_much = refund(None);
    too_much.refund_id = "R1".to_owned();
    too_much.amount = Money::rub(19_900).unwrap();
    let refused = kassa.adapter.refund(&too_much, &call()).await;
    assert_eq!(refused, Err(rejected("amount_exceeded", Concern::Order)));
}

#[tokio::test]
async fn endings_are_told_apart() {
    for (deed, ending) in [(Deed::Expire, Ending::Expired), (Deed::Decline, Ending::Declined)] {
        let kassa = kassa().await;
        kassa.adapter.register(&order(), &call()).await.unwrap();
        kassa.act(deed);
        assert_eq!(kassa.report().await.status, ReportedStatus::Over(ending));
    }
    let kassa = kassa().await;
    kassa.adapter.register(&order(), &call()).await.unwrap();
    kassa.adapter.cancel(&payment(None), &call()).await.unwrap();
    assert_eq!(kassa.report().await.status, ReportedStatus::Over(Ending::Cancelled));
}

#[tokio::test]
async fn a_lost_reply_is_unknown_and_the_repeat_tells() {
    for (answer, cause) in [
        (Answer::Drop, Unknown::Broken),
        (Answer::DropMidBody, Unknown::Broken),
        (Answer::Empty, Unknown::Unreadable),
        (Answer::Html, Unknown::Unreadable),
        (Answer::Truncated, Unknown::Unreadable),
        (Answer::WrongTypes, Unknown::Unreadable),
        (Answer::Huge { bytes: 1 << 20 }, Unknown::Unreadable),
        (Answer::Without(vec!["confirmation".to_owned()]), Unknown::Unreadable),
    ] {
        let kassa = kassa().await;
        kassa.fault("create", answer);
        let lost = kassa.adapter.register(&order(), &call()).await;
        assert_eq!(lost, Err(unknown(cause)));
        assert!(kassa.adapter.register(&order(), &call()).await.is_ok(), "{cause}");
        assert_eq!(kassa.sandbox.orders(PartnerName::OdnaKassa).len(), 1);
    }
}

#[tokio::test]
async fn a_key_with_another_body_is_an_alarm_and_a_question() {
    let kassa = kassa().await;
    kassa.adapter.register(&order(), &call()).await.unwrap();
    let mut other = order();
    other.return_url = "https://shop.example/elsewhere".to_owned();
    let refused = kassa.adapter.register(&other, &call()).await;
    assert_eq!(refused, Err(PaymentError::Duplicate));
    assert_eq!(kassa.alarms.rung(), 1);
}

#[tokio::test]
async fn a_wrong_key_is_an_alarm_and_not_the_payers_fault() {
    let kassa = kassa_with("another").await;
    let refused = kassa.adapter.register(&order(), &call()).await;
    assert_eq!(refused, Err(rejected("http_401", Concern::Account)));
    assert_eq!(kassa.alarms.rung(), 1);
}
