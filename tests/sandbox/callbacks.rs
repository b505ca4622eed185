//! Callbacks as they arrive at the shop.

use hmac::{Hmac, KeyInit, Mac};
use order_service::sandbox::PartnerName::Sber;
use order_service::sandbox::{CallbackPolicy, Deed, Sandbox};
use serde_json::json;
use sha2::Sha256;

use crate::shop::{Arrived, Shop, json_generation, json_registration, register, sandbox, script};

#[tokio::test]
async fn a_classic_payment_is_called_back_by_a_signed_get() {
    let sandbox = sandbox().await;
    let mut shop = Shop::open(&sandbox, &[]).await;
    let id = register(&sandbox, "A-01").await["orderId"].clone();
    pay(&sandbox, "A-01");
    let callback = shop.next().await;
    assert_eq!((callback.method.as_str(), callback.uri.path()), ("GET", "/v1/webhooks/sber"));
    assert_eq!(callback.parameter("mdOrder").as_deref(), id.as_str());
    assert_eq!(callback.parameter("operation").as_deref(), Some("deposited"));
    assert_eq!(callback.parameter("status").as_deref(), Some("1"));
    assert_eq!(callback.parameter("checksum").expect("signed").len(), 64);
}

#[tokio::test]
async fn a_json_payment_is_called_back_by_an_unsigned_post() {
    let sandbox = sandbox().await;
    let mut shop = Shop::open(&sandbox, &[]).await;
    json_generation(&sandbox, "register.do", json_registration("B-01")).await;
    sandbox.act(Sber, "B-01", Deed::FailAttempt).expect("open");
    let callback = shop.next().await;
    assert_eq!(callback.method, "POST");
    assert_eq!(
        (&callback.json()["operation"], &callback.json()["status"]),
        (&json!("deposited"), &json!(0))
    );
    assert!(callback.json().get("checksum").is_none());
}

#[tokio::test]
async fn a_callback_is_repeated_until_exactly_200() {
    let sandbox = sandbox().await;
    let mut shop = Shop::open(&sandbox, &[500, 204, 302]).await;
    register(&sandbox, "A-01").await;
    pay(&sandbox, "A-01");
    for _ in 0..4 {
        shop.next().await;
    }
    while !sandbox.callbacks(Sber)[0].ended {
        tokio::task::yield_now().await;
    }
    let record = &sandbox.callbacks(Sber)[0];
    assert_eq!((record.tries, record.delivered), (4, true));
}

#[tokio::test]
async fn a_json_callback_is_given_up_after_three_tries() {
    let sandbox = sandbox().await;
    let mut shop = Shop::open(&sandbox, &[500; 10]).await;
    json_generation(&sandbox, "register.do", json_registration("B-01")).await;
    pay(&sandbox, "B-01");
    for _ in 0..3 {
        shop.next().await;
    }
    while !sandbox.callbacks(Sber)[0].ended {
        tokio::task::yield_now().await;
    }
    assert!(shop.has_none());
    assert!(!sandbox.callbacks(Sber)[0].delivered);
}

#[tokio::test]
async fn a_callback_can_come_before_the_reply_and_twice() {
    let sandbox = sandbox().await;
    let mut shop = Shop::open(&sandbox, &[]).await;
    let order = json!({"pay_after_ms": 0, "callbacks": {"times": 2}});
    let then = json!({"await_callbacks": true, "delay_after_ms": 60_000, "order": order});
    script(&sandbox, Sber, json!({"then": then}));
    let waiting = tokio::spawn(async move { register(&sandbox, "A-01").await });
    let (first, second) = (shop.next().await, shop.next().await);
    assert_eq!(first.uri, second.uri);
    assert!(!waiting.is_finished());
    waiting.abort();
}

#[tokio::test]
async fn a_callback_can_be_forged() {
    let sandbox = sandbox().await;
    let mut shop = Shop::open(&sandbox, &[]).await;
    for number in ["A-01", "A-02"] {
        register(&sandbox, number).await;
    }
    pay(&sandbox, "A-01");
    assert!(is_genuine(&shop.next().await));
    sandbox.set_callback_policy(
        Sber,
        CallbackPolicy { bad_signature: true, ..CallbackPolicy::default() },
    );
    pay(&sandbox, "A-02");
    assert!(!is_genuine(&shop.next().await));
}

fn pay(sandbox: &Sandbox, number: &str) {
    sandbox.act(Sber, number, Deed::Pay).expect("open");
}

/// As the bank's manual has a merchant check it.
fn is_genuine(callback: &Arrived) -> bool {
    let (checksum, mut signed): (Vec<_>, Vec<_>) =
        callback.parameters().into_iter().partition(|(name, _)| name == "checksum");
    signed.sort();
    let line: String = signed.iter().map(|(name, value)| format!("{name};{value};")).collect();
    let mut mac = Hmac::<Sha256>::new_from_slice(b"sandbox-callback-secret").expect("a key");
    mac.update(line.as_bytes());
    let digest = mac.finalize().into_bytes();
    let expected: String = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    checksum.iter().map(|(_, value)| value).eq([&expected])
}
