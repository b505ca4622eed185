//! Money goes back once for each refund, and the sum tells.

use crate::calls::{call, refund};
use crate::subject::{Subject, all};
use order_service::core::domain::money::Money;
use order_service::core::ports::payment::{PaymentError, RefundOrder, ReportedStatus};
use order_service::sandbox::{Answer, Deed};

/// Paid, with the payment system's own id.
async fn paid(subject: &Subject) -> String {
    let made = subject.register().await;
    subject.act(Deed::Pay);
    made.external_id
}

async fn refunded(subject: &Subject) -> Option<i64> {
    let report = subject.report().await;
    assert_eq!(report.status, ReportedStatus::Paid, "{subject}");
    report.refunded.map(Money::minor)
}

fn keyed(key: &str, external_id: Option<&str>) -> RefundOrder {
    RefundOrder { refund_id: key.to_owned(), ..refund(external_id) }
}

#[tokio::test]
async fn refunds_under_keys_of_their_own_add_up() {
    for subject in all().await {
        let id = paid(&subject).await;
        subject.port().refund(&keyed("R1", Some(&id)), &call()).await.unwrap();
        assert_eq!(refunded(&subject).await, Some(5_000), "{subject}");
        subject.port().refund(&keyed("R2", None), &call()).await.unwrap();
        assert_eq!(refunded(&subject).await, Some(10_000), "{subject}: also when the id was lost");
    }
}

#[tokio::test]
async fn a_repeat_under_its_key_gives_nothing_back_where_keys_are_kept() {
    for subject in all().await {
        let id = paid(&subject).await;
        for _repeat in 0..2 {
            subject.port().refund(&keyed("R1", Some(&id)), &call()).await.unwrap();
        }
        let once = subject.port().deduplicates_refunds();
        assert_eq!(refunded(&subject).await, Some(if once { 5_000 } else { 10_000 }), "{subject}");
    }
}

#[tokio::test]
async fn a_refund_whose_answer_is_lost_is_unknown_and_the_sum_tells() {
    for subject in all().await {
        let id = paid(&subject).await;
        subject.answers_once(subject.operations().refund, Answer::Drop);
        let lost = subject.port().refund(&keyed("R1", Some(&id)), &call()).await;
        assert!(matches!(lost, Err(PaymentError::Unknown(_))), "{subject}: {lost:?}");
        assert_eq!(refunded(&subject).await, Some(5_000), "{subject}");
    }
}

#[tokio::test]
async fn more_than_is_left_is_never_given_back() {
    for subject in all().await {
        let id = paid(&subject).await;
        subject.port().refund(&keyed("R1", Some(&id)), &call()).await.unwrap();
        let mut too_much = keyed("R2", Some(&id));
        too_much.amount = Money::rub(19_900).unwrap();
        let refused = subject.port().refund(&too_much, &call()).await;
        let may_be = matches!(refused, Err(PaymentError::Rejected(_) | PaymentError::Unknown(_)));
        assert!(may_be, "{subject}: {refused:?}");
        assert_eq!(refunded(&subject).await, Some(5_000), "{subject}");
    }
}

#[tokio::test]
async fn what_nobody_paid_is_not_given_back() {
    for subject in all().await {
        let made = subject.register().await;
        let refused = subject.port().refund(&keyed("R1", Some(&made.external_id)), &call()).await;
        assert!(refused.is_err(), "{subject}");
        assert_eq!(subject.report().await.refunded.map_or(0, Money::minor), 0, "{subject}");
    }
}
