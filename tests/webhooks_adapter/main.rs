//! Webhooks on their way out, against receivers that take them, refuse them, lie and fall silent.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../stub_partner/mod.rs"]
#[expect(dead_code, reason = "other tests want more of their partner")]
mod stub_partner;
mod verifiers;

use order_service::adapters::outbound::webhooks::{Webhooks, WebhooksConfig};
use order_service::adapters::resilience::clock::MonotonicClock;
use order_service::core::domain::ids::WebhookEndpointId;
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::domain::unavailable::{Cause, NotExecuted, Shed, Unknown};
use order_service::core::domain::webhook::attempt::{AttemptError, ForbiddenDestination};
use order_service::core::domain::webhook::{SigningKeys, WebhookId};
use order_service::core::ports::webhooks::{Attempt, Webhook, WebhookSender};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use stub_partner::{Answer, StubPartner};

pub const BODY: &str = r#"{"type":"payment.paid","data":{"order":{"note":"«заплачено» \u0000 "}}}"#;

pub fn keys(seed: u128) -> SigningKeys {
    SigningKeys::new([seed, 2, seed, 4])
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap())
}

fn sender_with(adjust: impl FnOnce(&mut WebhooksConfig)) -> Webhooks {
    let mut config = WebhooksConfig {
        timeout: Duration::from_secs(5),
        allowed_hosts: vec!["127.0.0.1".to_owned()],
        max_in_flight: 8,
        max_in_flight_each: 2,
    };
    adjust(&mut config);
    Webhooks::new(config, MonotonicClock::tokio()).unwrap()
}

fn sender() -> Webhooks {
    sender_with(|_| ())
}

async fn send_to(sender: &Webhooks, endpoint: u128, url: &str, keys: &[SigningKeys]) -> Attempt {
    let endpoint = WebhookEndpointId::from_uuid(uuid::Uuid::from_u128(endpoint));
    let id = WebhookId::parse("test_1").unwrap();
    sender.send(&Webhook { endpoint, url, id: &id, at: now(), body: BODY, keys }).await
}

async fn send(sender: &Webhooks, receiver: &StubPartner) -> Attempt {
    send_to(sender, 1, &receiver.url, &[keys(1)]).await
}

fn cause(attempt: &Attempt) -> Cause {
    match attempt.result {
        Err(AttemptError::NoAnswer(error)) => error.cause,
        Ok(_) | Err(AttemptError::Forbidden(_)) => panic!("{attempt:?}"),
    }
}

#[tokio::test]
async fn the_body_goes_out_byte_for_byte_with_the_three_headers() {
    let receiver = StubPartner::playing([Answer::Status(200)]).await;
    let attempt = send_to(&sender(), 1, &format!("{}/hooks?key=1", receiver.url), &[keys(1)]).await;
    assert_eq!(attempt.result.unwrap().status, 200);
    let request = receiver.asked_once();
    assert_eq!(request.line(), ("POST", "/hooks?key=1"));
    assert_eq!(request.body, BODY);
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("webhook-id"), Some("test_1"));
    assert!(request.header("webhook-signature").unwrap().starts_with("v1,"));
    assert_eq!(request.header("traceparent"), None, "a stranger learns nothing of ours");
}

#[tokio::test]
async fn whatever_the_receiver_says_is_an_answer_with_its_beginning() {
    let script = [
        Answer::Other(404, "no such hook".to_owned()),
        Answer::With(429, "Retry-After: 30"),
        Answer::Status(410),
        Answer::Huge,
        Answer::Truncated,
    ];
    let receiver = StubPartner::playing(script).await;
    let sender = sender();
    let refused = send(&sender, &receiver).await;
    assert_eq!((refused.result.unwrap().status, &*refused.excerpt), (404, "no such hook"));
    let throttled = send(&sender, &receiver).await.result.unwrap();
    assert_eq!(throttled.retry_after, Some(Duration::from_secs(30)));
    assert_eq!(send(&sender, &receiver).await.result.unwrap().status, 410);
    let huge = send(&sender, &receiver).await;
    assert_eq!((huge.result.unwrap().status, huge.excerpt.len()), (200, 1024));
    assert_eq!(send(&sender, &receiver).await.result.unwrap().status, 200, "its status was here");
}

#[tokio::test]
async fn a_receiver_that_says_nothing_has_not_answered() {
    let receiver = StubPartner::playing([Answer::Hang, Answer::Reset]).await;
    let sender = sender_with(|config| config.timeout = Duration::from_millis(100));
    assert_eq!(cause(&send(&sender, &receiver).await), Cause::Unknown(Unknown::TimedOut));
    assert_eq!(cause(&send(&sender, &receiver).await), Cause::Unknown(Unknown::Broken));
}

#[tokio::test]
async fn a_destination_inside_is_refused_before_anything_is_sent() {
    let receiver = StubPartner::playing([]).await;
    let sender = sender_with(|config| config.allowed_hosts.clear());
    for (url, why) in [
        (receiver.url.clone(), ForbiddenDestination::NotHttps),
        (receiver.url.replace("http:", "https:"), ForbiddenDestination::NotPublic),
        ("https://localhost/".to_owned(), ForbiddenDestination::NotPublic),
    ] {
        let attempt = send_to(&sender, 1, &url, &[keys(1)]).await;
        assert_eq!(attempt.result, Err(AttemptError::Forbidden(why)), "{url}");
    }
    assert_eq!(receiver.calls(), 0);
}

#[tokio::test]
async fn a_dead_destination_is_left_alone_and_costs_no_other() {
    let dead = StubPartner::playing([]).await;
    let alive = StubPartner::playing([Answer::Status(204)]).await;
    let sender = sender();
    for _ in 0..5 {
        assert_eq!(send(&sender, &dead).await.result.unwrap().status, 500);
    }
    let shed = Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen));
    assert_eq!(cause(&send(&sender, &dead).await), shed);
    assert_eq!(dead.calls(), 5);
    let other = send_to(&sender, 2, &alive.url, &[keys(1)]).await;
    assert_eq!(other.result.unwrap().status, 204);
}

#[tokio::test]
async fn a_receiver_that_refuses_is_in_good_health() {
    let refusals = std::iter::repeat_with(|| Answer::Status(404)).take(20);
    let receiver = StubPartner::playing(refusals).await;
    let sender = sender();
    for _ in 0..20 {
        assert_eq!(send(&sender, &receiver).await.result.unwrap().status, 404);
    }
}

#[tokio::test]
async fn a_slow_destination_holds_its_own_places_and_no_more() {
    let slow = StubPartner::held([Answer::Status(200), Answer::Status(200)]).await;
    let quick = StubPartner::playing([Answer::Status(200)]).await;
    let sender = std::sync::Arc::new(sender());
    let hold = || {
        let (sender, url) = (std::sync::Arc::clone(&sender), slow.url.clone());
        tokio::spawn(async move { send_to(&sender, 1, &url, &[keys(1)]).await })
    };
    let held = [hold(), hold()];
    slow.until_heard(2).await;
    let full = Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull));
    assert_eq!(cause(&send(&sender, &slow).await), full);
    let other = send_to(&sender, 2, &quick.url, &[keys(1)]).await;
    assert_eq!(other.result.unwrap().status, 200);
    for attempt in held {
        slow.let_one_through();
        assert_eq!(attempt.await.unwrap().result.unwrap().status, 200);
    }
    assert_eq!(slow.calls(), 2);
}
