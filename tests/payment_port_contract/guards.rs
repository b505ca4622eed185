//! The guards before every call.

use crate::calls::{Method, call, call_within, order, payment, unknown};
use crate::subject::{Subject, all, all_with};
use order_service::adapters::resilience::breaker::{BreakerMode, BreakerState};
use order_service::core::domain::provider::Provider;
use order_service::core::domain::unavailable::PaymentSystemUnavailableError;
use order_service::core::domain::unavailable::{NotExecuted, Shed, Unknown};
use order_service::core::ports::call::Call;
use order_service::core::ports::deadline::Deadline;
use order_service::core::ports::payment::PaymentError;
use order_service::sandbox::{Answer, Mood};
use std::time::Duration;

fn not_executed(provider: Provider, cause: impl Into<NotExecuted>) -> PaymentError {
    let (system, cause) = (provider.into(), cause.into());
    PaymentSystemUnavailableError { system, cause, retry_after: None }.into()
}

#[tokio::test]
async fn an_open_breaker_sends_nothing_through_any_method() {
    for subject in all().await {
        subject.set_mode(Mood::Error500).await;
        for _ in 0..10 {
            subject.port().register(&order(), &call()).await.unwrap_err();
        }
        assert_eq!(subject.adapter.breaker.state(), BreakerState::Open);
        subject.set_mode(Mood::Ok).await;
        assert_eq!(subject.calls(), 10, "{subject}");
        for method in Method::ALL {
            let refused = method.call(subject.port(), &call()).await.unwrap_err();
            let PaymentError::NotExecuted(unavailable) = refused else { panic!("{refused}") };
            assert_eq!(unavailable.cause, Shed::BreakerOpen.into(), "{method:?}");
            assert!(unavailable.retry_after.unwrap() > Duration::from_secs(20));
            let provider = subject.provider;
            let expected =
                format!("payment system {provider} unavailable: circuit breaker is open");
            assert_eq!(unavailable.to_string(), expected);
        }
        assert_eq!(subject.calls(), 10, "{subject}");
        assert_eq!(subject.port().capacity().free, 0);

        subject.adapter.breaker.set_mode(BreakerMode::DryRun, None);
        subject.register().await;
    }
}

#[tokio::test]
async fn a_full_bulkhead_sends_nothing_through_any_method() {
    for subject in all_with(&[("MAX_CONCURRENT", "2"), ("MAX_QUEUE", "0")]).await {
        assert_eq!(subject.port().capacity().free, 2);
        let (semaphore, deadline) =
            (&subject.adapter.semaphore, Deadline::after(Duration::from_secs(9)));
        let _held = (semaphore.acquire(deadline).await, semaphore.acquire(deadline).await);
        assert_eq!(subject.port().capacity().free, 0);
        for method in Method::ALL {
            let refused = method.call(subject.port(), &call()).await;
            assert_eq!(refused, Err(not_executed(subject.provider, Shed::BulkheadFull)));
        }
        assert_eq!(subject.calls(), 0, "{subject}");
        assert_eq!(
            subject.adapter.breaker.snapshot().window.calls,
            0,
            "the partner is not to blame"
        );
    }
}

#[tokio::test]
async fn a_partner_that_refuses_connections_was_never_asked() {
    for subject in all().await {
        subject.set_mode(Mood::Down).await;
        for method in Method::ALL {
            let refused = method.call(subject.port(), &call()).await;
            assert_eq!(refused, Err(not_executed(subject.provider, NotExecuted::Unreachable)));
        }
        assert_eq!(subject.adapter.breaker.snapshot().window.failures, 4);
    }
}

#[tokio::test]
async fn a_callers_deadline_blames_nobody() {
    for subject in all().await {
        subject.set_mode(Mood::Hang).await;
        let cut = subject.port().register(&order(), &call_within(Duration::from_millis(500))).await;
        assert_eq!(cut, Err(unknown(Unknown::DeadlinePassed)), "{subject}");
        let asked = subject.calls();

        let short = call_within(Duration::from_millis(100));
        let refused = subject.port().register(&order(), &short).await;
        assert_eq!(refused, Err(not_executed(subject.provider, Shed::DeadlineTooShort)));
        assert_eq!(subject.calls(), asked, "{subject}");
        assert_eq!(subject.adapter.breaker.snapshot().window.calls, 0);
    }
}

/// How often the payment system was asked for this.
async fn asked(subject: &Subject, method: Method, call: &Call) -> (bool, u64) {
    let before = subject.calls();
    let answered = method.call(subject.port(), call).await.is_ok();
    (answered, subject.calls() - before)
}

#[tokio::test]
async fn only_queries_are_tried_again() {
    let quick = [("RETRY_MAX_ATTEMPTS", "3"), ("RETRY_BASE", "1ms"), ("RETRY_MAX", "1ms")];
    for subject in all_with(&quick).await {
        subject.register().await;
        subject.intercepted_once(status(500));
        subject.intercepted_once(Answer::Drop);
        let query = asked(&subject, Method::PaymentStatus, &call()).await;
        assert_eq!(query, (true, 3), "{subject}");
        for method in [Method::Register, Method::Cancel, Method::Refund] {
            subject.intercepted_once(status(500));
            assert_eq!(asked(&subject, method, &call()).await, (false, 1), "{subject} {method:?}");
        }
    }
}

#[tokio::test]
async fn good_polls_of_the_workers_do_not_dilute_the_window() {
    for subject in all().await {
        subject.register().await;
        subject.adapter.breaker.reset();
        let poll = call().in_background();
        subject.port().payment_status(&payment(None), &poll).await.unwrap();
        assert_eq!(subject.adapter.breaker.snapshot().window.calls, 0);
        subject.intercepted_once(status(500));
        subject.port().payment_status(&payment(None), &poll).await.unwrap_err();
        assert_eq!(subject.adapter.breaker.snapshot().window.failures, 1);
    }
}

fn status(status: u16) -> Answer {
    Answer::Http { status, body: None, retry_after: None, location: None }
}
