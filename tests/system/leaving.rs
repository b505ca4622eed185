//! A payment system leaves, by its settings or because an older version takes over: its orders wait.

use crate::harness::Harness;
use order_service::sandbox::{Deed, PartnerName};
use serde_json::json;
use sqlx::{Connection, Executor, SqliteConnection};

/// An order that waits for its payer at Sber, and its number there; nobody serves it for now.
async fn awaiting_payment(harness: &mut Harness) -> (String, String) {
    let order = harness.place().await;
    let confirmed = harness.confirm(&order).await;
    assert_eq!((confirmed.status, &confirmed.body["provider"]), (200, &json!("sber")));
    let number = harness.partners.orders(PartnerName::Sber)[0].order.number.clone();
    assert_eq!(harness.stop().await, Some(0));
    (order, number)
}

#[tokio::test]
async fn a_payment_system_without_settings_is_told_of_and_its_orders_wait_for_its_return() {
    let mut harness = Harness::new().await;
    let (order, number) = awaiting_payment(&mut harness).await;
    let (all, of_sber) = (harness.unset("PAYMENT_PROVIDERS"), harness.unset("SBER_"));
    harness.start(&[("PAYMENT_PROVIDERS", "odnakassa")]).await;
    assert!(harness.log().contains("at a payment system without settings"), "{}", harness.log());
    assert_eq!(harness.order(&order).await["status"], "awaiting_payment");
    assert_eq!(harness.get("/v1/webhooks/sber?orderNumber=x").await.status, 404);
    let other = harness.place().await;
    assert_eq!(harness.confirm(&other).await.body["provider"], "odnakassa");
    harness.partners.act(PartnerName::Sber, &number, Deed::Pay).unwrap();
    assert_eq!(harness.stop().await, Some(0));

    for (name, value) in all.into_iter().chain(of_sber) {
        harness.set(&name, &value);
    }
    harness.start(&[]).await;
    harness.until_order(&order, "paid").await;
}

#[tokio::test]
async fn an_order_at_a_payment_system_that_is_not_known_is_refused_by_its_name() {
    let mut harness = Harness::new().await;
    let (order, _) = awaiting_payment(&mut harness).await;
    let mut file = SqliteConnection::connect(harness.database_url()).await.unwrap();
    let newer = "UPDATE registrations SET provider = 'not-yet'; UPDATE tasks SET lane = 'not-yet' WHERE lane = 'sber'";
    file.execute(newer).await.unwrap();
    file.close().await.unwrap();
    harness.start(&[]).await;
    let log = harness.log();
    assert!(log.contains("this version does not know") && log.contains("not-yet"), "{log}");

    let refused = harness.get(&format!("/v1/orders/{order}")).await;
    assert_eq!((refused.status, &refused.body["code"]), (503, &json!("storage_unavailable")));
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(harness.confirm(&order).await.status, 503);
    assert!(
        harness.log().contains("an order at payment system \\\"not-yet\\\""),
        "{}",
        harness.log()
    );
    let ours = harness.place().await;
    let listed = harness.get("/v1/orders").await.body["items"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["id"], json!(ours));
}
