//! How a payment ends, and what a payment system that does not like us says.

use crate::calls::{call, cancellation, order};
use crate::subject::all;
use order_service::core::payment::registration::Ending;
use order_service::core::ports::payment::{Concern, PaymentError, ReportedStatus};
use order_service::sandbox::{Credential, Deed, PartnerName};

#[tokio::test]
async fn an_order_is_paid_when_its_payer_has_paid() {
    for subject in all().await {
        subject.register().await;
        subject.act(Deed::Pay);
        let report = subject.report().await;
        assert_eq!(report.status, ReportedStatus::Paid, "{subject}");
        assert_eq!(report.amount, Some(order().amount), "{subject}");
    }
}

#[tokio::test]
async fn endings_are_told_apart() {
    for (deed, ending) in [(Deed::Expire, Ending::Expired), (Deed::Decline, Ending::Declined)] {
        for subject in all().await {
            subject.register().await;
            subject.act(deed);
            assert_eq!(subject.report().await.status, ReportedStatus::Over(ending), "{subject}");
        }
    }
}

#[tokio::test]
async fn an_unpaid_order_is_taken_back() {
    for known_id in [false, true] {
        for subject in all().await {
            let made = subject.register().await;
            let registered = cancellation(known_id.then_some(&*made.external_id));
            subject.port().cancel(&registered, &call()).await.unwrap();
            let status = subject.report().await.status;
            assert!(matches!(status, ReportedStatus::Over(_)), "{subject}: {status:?}");
        }
    }
}

#[tokio::test]
async fn a_paid_order_stays_paid_whatever_a_cancellation_says() {
    for subject in all().await {
        let made = subject.register().await;
        subject.act(Deed::Pay);
        let _said = subject.port().cancel(&cancellation(Some(&made.external_id)), &call()).await;
        assert_eq!(subject.report().await.status, ReportedStatus::Paid, "{subject}");
    }
}

#[tokio::test]
async fn credentials_that_are_refused_are_an_alarm_and_not_the_payers_fault() {
    for subject in all().await {
        // A callback's secret is not told to whoever is called.
        let told = |credential: &&Credential| !credential.name.contains("secret");
        let partner =
            PartnerName::ALL.into_iter().find(|p| p.as_str() == subject.provider.as_str());
        let mut told = partner.unwrap().credentials().iter().filter(told);
        let variable = told.find_map(|credential| credential.variable).unwrap();
        let (adapter, alarms) = subject.misinformed(variable);
        let refused = adapter.port.register(&order(), &call()).await;
        let Err(PaymentError::Rejected(rejection)) = refused else {
            panic!("{subject}: {refused:?}")
        };
        assert_eq!(rejection.concerns, Concern::Account, "{subject}");
        assert_eq!(alarms.rung(), 1, "{subject}");
        assert!(subject.orders().is_empty(), "{subject}");
    }
}
