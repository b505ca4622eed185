//! The shape of each request, in both generations.

use crate::payment_partner::calls::{
    EXTERNAL_ID, NUMBER, call, cancellation, order, payment, refund,
};
use crate::payment_partner::json;
use crate::payment_partner::port::rejected;
use crate::{PASSWORD, code, form, known, registered, rig, rig_with};
use order_service::adapters::outbound::sber::{Credentials, Protocol};
use order_service::core::domain::details::{Buyer, Vat};
use order_service::core::domain::ids::ProductId;
use order_service::core::domain::money::{Currency, Money};
use order_service::core::domain::order::Item;
use order_service::core::domain::provider::Provider;
use order_service::core::ports::call::Call;
use order_service::core::ports::deadline::Deadline;
use order_service::core::ports::payment::{Concern, PaymentPort, Receipt};
use order_service::core::ports::trace::TraceParent;
use secrecy::SecretString;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_classic_registration_is_a_form_without_secrets_in_its_url() {
    let rig = rig(Protocol::Classic).await;
    rig.stub.then(json(200, &registered()));
    let trace = TraceParent::new(7, 8);
    let call = Call::new(Deadline::after(Duration::from_secs(9)), Some(trace.clone()));
    let made = rig.adapter.register(&order(), &call).await.unwrap();
    assert_eq!(made.external_id, "6f0c1f0e-1");
    assert_eq!(made.form_url, "https://bank.example/pay?mdOrder=6f0c1f0e-1");

    let asked = rig.stub.asked_once();
    assert_eq!(asked.line(), ("POST", "/payment/rest/register.do"));
    assert_eq!(asked.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(asked.header("x-idempotencyKey"), None);
    let sent = TraceParent::parse(asked.header("traceparent").unwrap()).unwrap();
    assert_eq!(sent.trace_id(), trace.trace_id());
    let fields = form(&asked.body);
    let expected = [
        ("amount", "19900"),
        ("currency", "643"),
        ("description", &format!("Заказ {NUMBER}")),
        ("language", "ru"),
        ("orderNumber", NUMBER),
        ("password", PASSWORD),
        ("returnUrl", &order().checkout.return_url),
        ("userName", "shop-api"),
    ];
    assert!(fields.iter().map(|(name, value)| (&**name, &**value)).eq(expected), "{fields:?}");
}

#[tokio::test]
async fn a_json_registration_has_numbers_where_numbers_belong() {
    let rig = rig(Protocol::Json).await;
    rig.stub.then(json(200, &registered()));
    rig.adapter.register(&order(), &call()).await.unwrap();
    let asked = rig.stub.asked_once();
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.header("x-idempotencyKey"), Some(NUMBER));
    let expected = json!({
        "userName": "shop-api", "password": PASSWORD, "orderNumber": NUMBER, "amount": 19900,
        "currency": "643", "returnUrl": order().checkout.return_url,
        "description": format!("Заказ {NUMBER}"), "language": "ru",
    });
    assert_eq!(asked.json(), expected);
}

#[tokio::test]
async fn a_token_replaces_the_login() {
    let rig = rig_with(Protocol::Classic, |config| {
        config.credentials = Credentials::Token(SecretString::from("tok"));
    })
    .await;
    rig.stub.then(json(200, &known(0)));
    rig.adapter.payment_status(&payment(None), &call()).await.unwrap();
    let fields = form(&rig.stub.asked_once().body);
    let expected = [("orderNumber", NUMBER), ("token", "tok")];
    assert!(fields.iter().map(|(name, value)| (&**name, &**value)).eq(expected), "{fields:?}");
}

#[tokio::test]
async fn queries_and_cancellations_go_by_our_number() {
    for protocol in [Protocol::Classic, Protocol::Json] {
        let rig = rig(protocol).await;
        rig.stub.then(json(200, &known(0))).then(json(200, &json!({"errorCode": 0})));
        rig.adapter.payment_status(&payment(Some(EXTERNAL_ID)), &call()).await.unwrap();
        rig.adapter.cancel(&cancellation(Some(EXTERNAL_ID)), &call()).await.unwrap();
        let asked = rig.stub.asked();
        let targets: Vec<_> = asked.iter().map(|request| request.target()).collect();
        let expected = ["/payment/rest/getOrderStatusExtended.do", "/payment/rest/decline.do"];
        assert_eq!(targets, expected);
        for request in asked {
            assert!(request.body.contains(NUMBER), "{}", request.body);
            assert!(!request.body.contains("6f0c1f0e-1"), "exactly one id: {}", request.body);
        }
    }
}

#[tokio::test]
async fn a_refund_goes_by_the_banks_id_and_carries_its_key_where_keys_are_known() {
    let classic = rig(Protocol::Classic).await;
    classic.stub.then(json(200, &json!({"errorCode": 0})));
    classic.adapter.refund(&refund(Some(EXTERNAL_ID)), &call()).await.unwrap();
    let asked = classic.stub.asked_once();
    assert_eq!(asked.target(), "/payment/rest/refund.do");
    let fields = form(&asked.body);
    assert!(fields.contains(&("orderId".to_owned(), "6f0c1f0e-1".to_owned())), "{fields:?}");
    assert!(fields.contains(&("amount".to_owned(), "5000".to_owned())), "{fields:?}");
    assert!(!asked.body.contains("R7"), "{fields:?}");

    let json_rig = rig(Protocol::Json).await;
    json_rig.stub.then(json(200, &json!({"errorCode": "0"})));
    json_rig.adapter.refund(&refund(Some(EXTERNAL_ID)), &call()).await.unwrap();
    let body = json_rig.stub.asked_once().json();
    assert_eq!(body["jsonParams"], json!({"externalRefundId": "R7"}));
    assert_eq!((&body["orderId"], &body["amount"]), (&json!("6f0c1f0e-1"), &json!(5000)));
}

#[tokio::test]
async fn a_refund_without_the_banks_id_asks_for_it_first() {
    let rig = rig(Protocol::Classic).await;
    rig.stub.then(json(200, &known(2))).then(json(200, &json!({"errorCode": 0})));
    rig.adapter.refund(&refund(None), &call()).await.unwrap();
    assert!(rig.stub.asked()[1].body.contains("6f0c1f0e-1"));

    rig.stub.then(code(6));
    let unknown_order = rig.adapter.refund(&refund(None), &call()).await;
    assert_eq!(unknown_order, Err(rejected("sber_6", Concern::Order)));
    assert_eq!(rig.stub.asked().len(), 1, "nothing was refunded");
}

#[tokio::test]
async fn another_currency_is_refused_before_anything_is_sent() {
    let rig = rig(Protocol::Classic).await;
    let mut order = order();
    order.amount = Money::new(100, Currency::parse("USD").unwrap()).unwrap();
    let refused = rig.adapter.register(&order, &call()).await;
    assert_eq!(refused, Err(rejected("currency_not_supported", Concern::Order)));
    assert!(rig.stub.asked().is_empty());
}

#[tokio::test]
async fn the_adapter_tells_nobody_its_secrets() {
    let rig = rig(Protocol::Classic).await;
    let told = format!("{:?}", rig.adapter);
    assert!(!told.contains(PASSWORD), "{told}");
    assert_eq!(rig.adapter.provider(), Provider::Sber);
    assert!(!rig.adapter.repeats_safely());
    assert_eq!(rig.adapter.call_limit(), Duration::from_secs(11));
}

#[tokio::test]
async fn what_the_shop_says_is_told_to_the_bank_and_shown_to_nobody() {
    let rig = rig(Protocol::Classic).await;
    rig.stub.then(json(200, &registered()));
    let item = Item {
        product_id: ProductId::parse("p-1").unwrap(),
        name: "Чай".into(),
        quantity: 1,
        unit_price: Money::rub(19_900).unwrap(),
        price_stale: false,
        vat: Some(Vat::Ten),
    };
    let buyer = Buyer { email: Some("a@b.example".into()), phone: Some("+79991234567".into()) };
    let mut order = order();
    order.checkout.description = Some("Чай + печенье — 50%".into());
    order.checkout.lifetime = Some(Duration::from_secs(3_600));
    order.checkout.receipt = Some(Receipt { buyer: Some(buyer), items: vec![item] });
    assert!(!format!("{order:?}").contains("a@b.example"));
    rig.adapter.register(&order, &call()).await.unwrap();
    let fields: std::collections::BTreeMap<_, _> =
        form(&rig.stub.asked_once().body).into_iter().collect();
    assert_eq!(fields["description"], "Чай   печенье   50 ");
    assert_eq!(fields["sessionTimeoutSecs"], "3600");
    let bundle: serde_json::Value = serde_json::from_str(&fields["orderBundle"]).unwrap();
    assert_eq!(
        bundle,
        json!({
            "customerDetails": {"email": "a@b.example", "phone": "+79991234567"},
            "cartItems": {"items": [{
                "positionId": 1, "name": "Чай", "quantity": {"value": 1, "measure": "шт"},
                "itemCode": "p-1", "itemPrice": 19_900, "itemAmount": 19_900, "tax": {"taxType": 2},
            }]},
        })
    );
}
