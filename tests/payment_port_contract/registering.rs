//! One number, one order; and what may be said of a registration that brought no answer.

use crate::calls::{call, order, payment};
use crate::subject::{IMPATIENT, all, all_with};
use order_service::core::domain::money::Money;
use order_service::core::domain::unavailable::NotExecuted;
use order_service::core::ports::payment::{Concern, Finding, PaymentError, ReportedStatus};
use order_service::sandbox::{Answer, Mood};

#[tokio::test]
async fn a_report_carries_what_the_core_compares() {
    for subject in all().await {
        let made = subject.register().await;
        let report = subject.report().await;
        assert_eq!((report.number, report.amount), (order().number, Some(order().amount)));
        assert_eq!(report.external_id, Some(made.external_id), "{subject}");
        assert_eq!(report.status, ReportedStatus::Pending, "{subject}");
        assert_eq!(report.refunded.map_or(0, Money::minor), 0, "{subject}");
    }
}

#[tokio::test]
async fn a_number_sent_twice_makes_one_order() {
    for subject in all().await {
        let made = subject.register().await;
        let again = subject.port().register(&order(), &call()).await;
        let promised = subject.port().repeats_safely();
        assert_eq!(again, if promised { Ok(made) } else { Err(PaymentError::Duplicate) });
        assert_eq!(subject.orders().len(), 1, "{subject}");
    }
}

#[tokio::test]
async fn a_number_sent_by_many_at_once_makes_one_order() {
    for subject in all_with(&[("MAX_CONCURRENT", "8")]).await {
        let (order, call, port) = (order(), call(), subject.port());
        let sends = (0..8).map(|_| port.register(&order, &call));
        for answer in futures_util::future::join_all(sends).await {
            let may_be = match answer {
                Ok(_) | Err(PaymentError::Duplicate | PaymentError::Unknown(_)) => true,
                Err(PaymentError::NotExecuted(_) | PaymentError::Rejected(_)) => false,
            };
            assert!(may_be, "{subject}: {answer:?}");
        }
        assert_eq!(subject.orders().len(), 1, "{subject}");
    }
}

#[tokio::test]
async fn a_known_number_with_another_amount_changes_nothing_and_is_asked_about() {
    for subject in all().await {
        subject.register().await;
        let mut other = order();
        other.amount = Money::rub(1).unwrap();
        let refused = subject.port().register(&other, &call()).await;
        assert_eq!(refused, Err(PaymentError::Duplicate), "{subject}");
        assert_eq!(subject.report().await.amount, Some(order().amount), "{subject}");
        assert_eq!(subject.orders().len(), 1, "{subject}");
    }
}

#[tokio::test]
async fn a_lost_answer_is_unknown_and_the_order_is_found() {
    for answer in [
        Answer::Drop,
        Answer::DropMidBody,
        Answer::Empty,
        Answer::Html,
        Answer::Truncated,
        Answer::Huge { bytes: 1 << 20 },
        Answer::Hang,
        status(408),
        status(500),
        status(502),
    ] {
        for subject in all_with(IMPATIENT).await {
            subject.answers_once(subject.operations().register, answer.clone());
            let lost = subject.port().register(&order(), &call()).await;
            assert!(
                matches!(lost, Err(PaymentError::Unknown(_))),
                "{subject} {answer:?}: {lost:?}"
            );
            assert_eq!(subject.report().await.status, ReportedStatus::Pending, "{subject}");
        }
    }
}

/// Sber's JSON generation may then seem to say that the number is known, which is asked about as well.
#[tokio::test]
async fn a_mistyped_answer_is_never_taken_for_a_no() {
    for subject in all().await {
        subject.answers_once(subject.operations().register, Answer::WrongTypes);
        let mistyped = subject.port().register(&order(), &call()).await;
        let asks = matches!(mistyped, Err(PaymentError::Unknown(_) | PaymentError::Duplicate));
        assert!(asks, "{subject}: {mistyped:?}");
        subject.answers_once(subject.operations().query, Answer::WrongTypes);
        let mistyped = subject.port().payment_status(&payment(None), &call()).await;
        assert!(mistyped.is_err(), "{subject}: {mistyped:?}");
        assert_eq!(subject.report().await.status, ReportedStatus::Pending, "{subject}");
    }
}

#[tokio::test]
async fn a_repeat_after_a_lost_answer_tells_the_form_where_that_is_promised() {
    for subject in all().await {
        subject.answers_once(subject.operations().register, Answer::Drop);
        subject.port().register(&order(), &call()).await.unwrap_err();
        let again = subject.port().register(&order(), &call()).await;
        if subject.port().repeats_safely() {
            assert_eq!(subject.report().await.form_url, Some(again.unwrap().form_url), "{subject}");
        } else {
            assert_eq!(again, Err(PaymentError::Duplicate), "{subject}");
        }
        assert_eq!(subject.orders().len(), 1, "{subject}");
    }
}

#[tokio::test]
async fn what_is_said_not_to_be_executed_left_nothing_behind() {
    for subject in all().await {
        for (mood, cause) in
            [(Mood::Down, NotExecuted::Unreachable), (Mood::Throttle, NotExecuted::Throttled)]
        {
            subject.set_mode(mood).await;
            let refused = subject.port().register(&order(), &call()).await;
            let Err(PaymentError::NotExecuted(unavailable)) = refused else {
                panic!("{subject} {mood:?}: {refused:?}")
            };
            assert_eq!(unavailable.cause, cause, "{subject}");
            subject.set_mode(Mood::Ok).await;
            assert_eq!(subject.find().await, Finding::NotFound, "{subject} {mood:?}");
        }
        assert!(subject.orders().is_empty(), "{subject}");
    }
}

#[tokio::test]
async fn a_refusal_left_nothing_behind() {
    for subject in all().await {
        subject.set_mode(Mood::Reject).await;
        let refused = subject.port().register(&order(), &call()).await;
        let Err(PaymentError::Rejected(rejection)) = refused else {
            panic!("{subject}: {refused:?}")
        };
        assert_eq!(rejection.concerns, Concern::Order, "{subject}");
        assert!(subject.orders().is_empty(), "{subject}");
    }
}

#[tokio::test]
async fn not_found_is_the_payment_systems_own_word() {
    for subject in all().await {
        assert_eq!(subject.find().await, Finding::NotFound, "{subject}");
        for answer in [status(404), status(410), status(500), Answer::Html, Answer::Empty] {
            subject.intercepted_once(answer.clone());
            let found = subject.port().payment_status(&payment(None), &call()).await;
            assert!(found.is_err(), "{subject} {answer:?}: {found:?}");
        }
    }
}

/// With a page of whoever stands between.
fn status(status: u16) -> Answer {
    Answer::Http { status, body: None, retry_after: None, location: None }
}
