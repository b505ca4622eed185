use crate::harness::Harness;
use order_service::sandbox::{Deed, PartnerName};
use serde_json::json;

#[tokio::test]
async fn an_order_goes_from_the_cart_to_paid() {
    let harness = Harness::new().await;
    let order = harness.place().await;
    assert_eq!(harness.order(&order).await["status"], "new");

    let confirmed = harness.confirm(&order).await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.body);
    assert_eq!(confirmed.body["status"], "registered");
    assert_eq!(confirmed.body["provider"], "sber");
    let form_url = confirmed.body["form_url"].as_str().unwrap();

    // The payer opens the form and presses Pay.
    let page = harness.http.get(form_url).send().await.unwrap();
    assert!(page.status().is_success());
    let waiting = harness.order(&order).await;
    assert_eq!(waiting["status"], "awaiting_payment");
    assert_eq!(waiting["payment"]["form_url"], form_url);
    let number = harness.everything()[0].order.number.clone();
    harness.partners.act(PartnerName::Sber, &number, Deed::Pay).unwrap();

    let paid = harness.until_order(&order, "paid").await;
    assert_eq!(paid["payment"]["provider"], "sber");
    assert_eq!(paid["payment"]["form_url"], json!(null));
    assert_eq!(paid["payment"]["refunded"], json!({"amount": 0, "currency": "RUB"}));
    assert_eq!(harness.alive(), 1);
    let again = harness.confirm(&order).await;
    assert_eq!((again.status, &again.body["code"]), (409, &json!("order_not_confirmable")));
}

#[tokio::test]
async fn payment_is_noticed_without_any_callback() {
    let harness = Harness::new().await;
    harness.partners.set_callback_url(None);
    let order = harness.place().await;
    harness.confirm(&order).await;
    let number = harness.everything()[0].order.number.clone();
    harness.partners.act(PartnerName::Sber, &number, Deed::Pay).unwrap();
    harness.until_order(&order, "paid").await;
}

#[tokio::test]
async fn a_paid_order_is_refunded_in_parts() {
    let harness = Harness::new().await;
    let order = harness.place().await;
    harness.confirm(&order).await;
    let entry = harness.everything()[0].order.clone();
    harness.partners.act(PartnerName::Sber, &entry.number, Deed::Pay).unwrap();
    harness.until_order(&order, "paid").await;
    let path = format!("/v1/orders/{order}/refund");
    let part = harness.refund(&path, json!({"amount": {"amount": 100, "currency": "RUB"}})).await;
    assert_eq!(part.status, 200, "{}", part.body);
    assert_eq!(part.body["payment"]["refunded"]["amount"], 100);
    assert_eq!(part.body["status"], "paid");
    let too_much = json!({"amount": {"amount": entry.amount, "currency": "RUB"}});
    let refused = harness.refund(&path, too_much).await;
    assert_eq!((refused.status, &refused.body["code"]), (422, &json!("refund_exceeds_payment")));
    let rest = harness.refund(&path, json!({})).await;
    assert_eq!((rest.status, &rest.body["status"]), (200, &json!("refunded")));
    let over = harness.refund(&path, json!({})).await;
    assert_eq!((over.status, &over.body["code"]), (409, &json!("order_not_refundable")));
}

#[tokio::test]
async fn an_order_is_cancelled_at_the_bank_first() {
    let harness = Harness::new().await;
    let order = harness.place().await;
    harness.confirm(&order).await;
    let cancelled = harness.post(&format!("/v1/orders/{order}/cancel"), json!({})).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    assert_eq!(cancelled.body["status"], "cancelled");
    assert_eq!(harness.alive(), 0);
}

#[tokio::test]
async fn stopping_is_orderly() {
    let mut harness = Harness::new().await;
    let order = harness.place().await;
    assert_eq!(harness.stop().await, Some(0), "{}", harness.log());
    harness.start(&[]).await;
    assert_eq!(harness.order(&order).await["status"], "new");
}
