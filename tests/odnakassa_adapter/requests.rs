//! The shape of each request.

use crate::payment_partner::calls::{
    EXTERNAL_ID, NUMBER, call, call_within, cancellation, order, payment, refund,
};
use crate::payment_partner::json;
use crate::payment_partner::port::rejected;
use crate::{API_KEY, listed, payment_object, rig};
use order_service::core::domain::money::{Currency, Money};
use order_service::core::domain::provider::Provider;
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::ports::payment::{Concern, PaymentPort};
use order_service::core::ports::trace::TraceParent;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_registration_is_keyed_by_our_number() {
    let rig = rig().await;
    rig.stub.then(json(201, &payment_object("pending")));
    let trace = TraceParent::new(7, 8);
    let mut call = call_within(Duration::from_secs(9));
    call.trace = Some(trace.clone());
    let made = rig.adapter.register(&order(), &call).await.unwrap();
    assert_eq!(made.external_id, EXTERNAL_ID);
    assert_eq!(made.form_url, "https://kassa.example/pay/1");
    assert_eq!(made.expires_at.unwrap().to_rfc3339(), "2025-11-30T11:13:20Z");

    let asked = rig.stub.asked_once();
    assert_eq!(asked.line(), ("POST", "/v1/payments"));
    assert_eq!(asked.header("authorization"), Some(&*format!("Bearer {API_KEY}")));
    assert_eq!(asked.header("idempotency-key"), Some(NUMBER));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    let sent = TraceParent::parse(asked.header("traceparent").unwrap()).unwrap();
    assert_eq!(sent.trace_id(), trace.trace_id());
    let expected = json!({
        "order_id": NUMBER, "amount": {"value": "199.00", "currency": "RUB"}, "capture": true,
        "description": format!("Заказ {NUMBER}"), "return_url": order().checkout.return_url,
    });
    assert_eq!(asked.json(), expected);
}

#[tokio::test]
async fn a_repeat_is_the_same_request() {
    let rig = rig().await;
    rig.stub.then(json(201, &payment_object("pending")));
    rig.stub.then(json(200, &payment_object("pending")));
    let first = rig.adapter.register(&order(), &call()).await;
    assert_eq!(rig.adapter.register(&order(), &call()).await, first);
    let asked = rig.stub.asked();
    assert_eq!(asked[0].body, asked[1].body);
    assert_eq!(asked[0].header("idempotency-key"), asked[1].header("idempotency-key"));
}

#[tokio::test]
async fn a_query_goes_by_our_number() {
    let rig = rig().await;
    rig.stub.then(listed("pending"));
    rig.adapter.payment_status(&payment(Some(EXTERNAL_ID)), &call()).await.unwrap();
    let asked = rig.stub.asked_once();
    let target = format!("/v1/payments?order_id={NUMBER}");
    assert_eq!(asked.line(), ("GET", &*target));
    assert_eq!(asked.header("idempotency-key"), None);
}

#[tokio::test]
async fn changes_go_by_the_partners_id_under_keys_of_their_own() {
    let rig = rig().await;
    rig.stub.then(json(200, &payment_object("canceled")));
    rig.stub.then(json(201, &payment_object("succeeded")));
    rig.adapter.cancel(&cancellation(Some(EXTERNAL_ID)), &call()).await.unwrap();
    rig.adapter.refund(&refund(Some(EXTERNAL_ID)), &call()).await.unwrap();
    let asked = rig.stub.asked();
    assert_eq!(asked[0].target(), format!("/v1/payments/{EXTERNAL_ID}/cancel"));
    assert_eq!(asked[0].header("idempotency-key"), Some(&*format!("cancel-{NUMBER}-1")));
    assert_eq!(asked[1].target(), format!("/v1/payments/{EXTERNAL_ID}/refunds"));
    assert_eq!(asked[1].header("idempotency-key"), Some("R7"));
    let expected = json!({"refund_id": "R7", "amount": {"value": "50.00", "currency": "RUB"}});
    assert_eq!(asked[1].json(), expected);
}

#[tokio::test]
async fn a_change_without_the_partners_id_asks_for_it_first() {
    let rig = rig().await;
    rig.stub.then(listed("pending")).then(json(200, &payment_object("canceled")));
    rig.adapter.cancel(&cancellation(None), &call()).await.unwrap();
    assert_eq!(rig.stub.asked()[1].target(), format!("/v1/payments/{EXTERNAL_ID}/cancel"));

    rig.stub.then(json(200, &json!({"items": []})));
    let unknown = rig.adapter.refund(&refund(None), &call()).await;
    assert_eq!(unknown, Err(rejected("payment_unknown", Concern::Order)));
    assert_eq!(rig.stub.asked().len(), 1, "nothing was refunded");
}

#[tokio::test]
async fn another_currency_is_refused_before_anything_is_sent() {
    let rig = rig().await;
    let mut order = order();
    order.amount = Money::new(100, Currency::parse("USD").unwrap()).unwrap();
    let refused = rig.adapter.register(&order, &call()).await;
    assert_eq!(refused, Err(rejected("amount_not_supported", Concern::Order)));
    assert!(rig.stub.asked().is_empty());
}

#[tokio::test]
async fn the_adapter_tells_nobody_its_secrets() {
    let rig = rig().await;
    let told = format!("{:?}", rig.adapter);
    assert!(!told.contains(API_KEY), "{told}");
    assert_eq!(rig.adapter.provider(), Provider::OdnaKassa);
    assert!(rig.adapter.repeats_safely());
    assert_eq!(rig.adapter.call_limit(), Duration::from_secs(11));
}

#[tokio::test]
async fn a_wished_life_and_a_description_are_told() {
    let rig = rig().await;
    rig.stub.then(json(201, &payment_object("pending")));
    let mut order = order();
    order.checkout.description = Some("Чай".into());
    order.checkout.lifetime = Some(Duration::from_secs(3_600));
    order.checkout.expires_at = Some(Timestamp::from_micros(1_764_500_000_000_000));
    rig.adapter.register(&order, &call()).await.unwrap();
    let body = rig.stub.asked_once().json();
    assert_eq!(body["description"], "Чай");
    assert_eq!(body["expires_at"], "2025-11-30T10:53:20Z");
}
