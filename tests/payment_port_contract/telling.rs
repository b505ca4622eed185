//! What a payment system says is told as it is, whatever stands beside it; and what it cannot mean is
//! not taken for anything.

use crate::calls::{call, cancellation, order, payment};
use crate::subject::all;
use order_service::core::domain::money::Money;
use order_service::core::payment::registration::Ending;
use order_service::core::ports::payment::{PaymentError, ReportedStatus};
use order_service::sandbox::{Answer, Deed, OrderEffects};

#[tokio::test]
async fn a_hold_is_told_as_a_hold_and_released_by_a_cancellation() {
    for known_id in [false, true] {
        for subject in all().await {
            let made = subject.register().await;
            subject.act(Deed::Hold);
            let report = subject.report().await;
            assert_eq!(report.status, ReportedStatus::Held, "{subject}");
            assert_eq!(report.amount, Some(order().amount), "{subject}");
            let held = cancellation(known_id.then_some(&*made.external_id));
            assert_eq!(subject.port().cancel(&held, &call()).await, Ok(()), "{subject}");
            let released = ReportedStatus::Over(Ending::Cancelled);
            assert_eq!(subject.report().await.status, released, "{subject}");
        }
    }
}

#[tokio::test]
async fn money_that_the_payment_system_has_lost_sight_of_is_strange() {
    for subject in all().await {
        subject.register().await;
        subject.act(Deed::LoseSight);
        assert_eq!(subject.report().await.status, ReportedStatus::Strange, "{subject}");
    }
}

#[tokio::test]
async fn a_sum_that_is_not_ours_is_told() {
    for subject in all().await {
        let another = OrderEffects { amount_delta: 1, ..OrderEffects::default() };
        subject.registers_once(another);
        let _made = subject.port().register(&order(), &call()).await;
        let told = subject.report().await.amount;
        assert_eq!(told, Some(Money::rub(19_901).unwrap()), "{subject}");
    }
}

#[tokio::test]
async fn a_refusal_that_names_an_order_refuses_nothing() {
    for subject in all().await {
        subject.answers_once(subject.operations().register, Answer::RefusedByName);
        let refused = subject.port().register(&order(), &call()).await;
        let asks = matches!(refused, Err(PaymentError::Unknown(_) | PaymentError::Duplicate));
        assert!(asks, "{subject}: {refused:?}");
        assert_eq!(subject.report().await.status, ReportedStatus::Pending, "{subject}");
    }
}

#[tokio::test]
async fn what_nobody_needs_makes_no_answer_unreadable() {
    for subject in all().await {
        subject.distorted_once(Answer::Garbled);
        subject.register().await;
        let clear = subject.report().await;
        subject.distorted_once(Answer::Garbled);
        assert_eq!(subject.report().await, clear, "{subject}");
        subject.distorted_once(Answer::Garbled);
        let taken_back = cancellation(clear.external_id.as_deref());
        assert_eq!(subject.port().cancel(&taken_back, &call()).await, Ok(()), "{subject}");
    }
}

#[tokio::test]
async fn a_page_is_handed_on_as_it_was_parsed() {
    for subject in all().await {
        let page = "HTTPS:\\\\Bank.Example\\pay?a=\"1\"".to_owned();
        subject.answers_once(subject.operations().register, Answer::PageAt(page));
        assert_eq!(subject.register().await.form_url, "https://bank.example/pay?a=%221%22");
    }
}

#[tokio::test]
async fn no_payer_is_sent_where_no_page_can_be() {
    for page in [
        "http://",
        "https://bank.example@evil.example/pay",
        "https://bank.example/\r\nSet-Cookie:%20a=b",
        "https://bank.example/\0",
        "httpx:alert(1)",
    ] {
        for subject in all().await {
            let elsewhere = || Answer::PageAt(page.to_owned());
            subject.answers_once(subject.operations().register, elsewhere());
            let made = subject.port().register(&order(), &call()).await;
            assert!(matches!(made, Err(PaymentError::Unknown(_))), "{subject} {page:?}: {made:?}");
            subject.answers_once(subject.operations().query, elsewhere());
            let found = subject.port().payment_status(&payment(None), &call()).await;
            assert!(!format!("{found:?}").contains("form_url: Some"), "{subject} {page:?}");
        }
    }
}
