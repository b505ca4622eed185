//! What HTTP statuses, broken connections and bodies that are none mean: the same for every method of
//! every payment system.

use crate::calls::{Method, call, unknown};
use crate::subject::{IMPATIENT, Subject, all, all_with};
use order_service::core::domain::unavailable::PaymentSystemUnavailableError;
use order_service::core::domain::unavailable::{NotExecuted, Unknown};
use order_service::core::ports::payment::PaymentError;
use order_service::sandbox::Answer;
use serde_json::json;
use std::time::Duration;

/// Whether a person has to look at our configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alarm {
    Rings,
    Still,
}

/// Every one of them is the partner's to answer for.
async fn is_heard_as(subject: &Subject, answer: Answer, error: PaymentError, alarm: Alarm) {
    for method in Method::ALL {
        let told = format!("{subject} {method:?} {answer:?}");
        subject.adapter.breaker.reset();
        subject.intercepted_once(answer.clone());
        let failed = method.call(subject.port(), &call()).await.unwrap_err();
        assert_eq!(failed, error, "{told}");
        assert!(!failed.to_string().contains("unavailable</h1>"), "{failed}");
        assert_eq!(subject.alarms.rung(), usize::from(alarm == Alarm::Rings), "{told}");
        let snapshot = subject.adapter.breaker.snapshot();
        assert_eq!((snapshot.window.calls, snapshot.window.failures), (1, 1), "{told}");
    }
}

fn not_executed(subject: &Subject, cause: NotExecuted, retry_after: Option<u64>) -> PaymentError {
    let (system, retry_after) = (subject.provider.into(), retry_after.map(Duration::from_secs));
    PaymentSystemUnavailableError { system, cause, retry_after }.into()
}

fn status(status: u16) -> Answer {
    Answer::Http { status, body: None, retry_after: None, location: None }
}

#[tokio::test]
async fn every_method_classifies_statuses() {
    for subject in all().await {
        let throttled = Answer::Http {
            status: 429,
            body: Some(String::new()),
            retry_after: Some(7),
            location: None,
        };
        let error = not_executed(&subject, NotExecuted::Throttled, Some(7));
        is_heard_as(&subject, throttled, error, Alarm::Still).await;
        for elsewhere in [302, 307, 404, 405] {
            let location = Some("/x".to_owned());
            let moved = Answer::Http { status: elsewhere, body: None, retry_after: None, location };
            let error = not_executed(&subject, NotExecuted::Misdirected, None);
            is_heard_as(&subject, moved, error, Alarm::Rings).await;
        }
        for failing in [408, 500, 502, 503, 504] {
            let error = unknown(Unknown::PartnerFailed);
            is_heard_as(&subject, status(failing), error, Alarm::Still).await;
        }
    }
}

/// A proxy spoke, and whether before or after the payment system nobody knows.
#[tokio::test]
async fn a_refusal_without_a_word_of_the_partners_own_is_unknown() {
    for subject in all().await {
        for undocumented in [400, 402, 409, 410, 413, 415, 422, 425, 431, 451, 499] {
            let error = unknown(Unknown::Unreadable);
            is_heard_as(&subject, status(undocumented), error, Alarm::Still).await;
        }
        for locked_out in [401, 403] {
            let error = unknown(Unknown::Unreadable);
            is_heard_as(&subject, status(locked_out), error, Alarm::Rings).await;
        }
    }
}

#[tokio::test]
async fn every_method_classifies_bodies_that_are_none() {
    for subject in all().await {
        let json = |body| Answer::Json { status: 200, body };
        for nonsense in [
            Answer::Empty,
            Answer::Html,
            Answer::Huge { bytes: 1 << 20 },
            json(json!([0])),
            json(json!(7)),
        ] {
            let error = unknown(Unknown::Unreadable);
            is_heard_as(&subject, nonsense, error, Alarm::Still).await;
        }
        is_heard_as(&subject, Answer::Drop, unknown(Unknown::Broken), Alarm::Still).await;
    }
}

#[tokio::test]
async fn every_method_gives_silence_up() {
    let gives_up = async |subject: Subject| {
        is_heard_as(&subject, Answer::Hang, unknown(Unknown::TimedOut), Alarm::Still).await;
        subject.register().await;
        for method in [Method::Register, Method::PaymentStatus] {
            subject.adapter.breaker.reset();
            subject.distorted_once(Answer::Drip { chunk_bytes: 1, interval_ms: 100 });
            let failed = method.call(subject.port(), &call()).await;
            assert_eq!(failed, Err(unknown(Unknown::TimedOut)), "{subject} {method:?}");
            assert_eq!(subject.adapter.breaker.snapshot().window.failures, 1);
        }
    };
    futures_util::future::join_all(all_with(IMPATIENT).await.into_iter().map(gives_up)).await;
}
