use crate::harness::Harness;
use order_service::sandbox::{Deed, Mood, PartnerName};
use serde_json::json;

#[tokio::test]
async fn when_sber_is_down_odnakassa_takes_over() {
    let harness = Harness::new().await;
    harness.partners.set_mode(PartnerName::Sber, Mood::Down).await;
    let order = harness.place().await;
    let confirmed = harness.confirm(&order).await;
    assert_eq!((confirmed.status, &confirmed.body["provider"]), (200, &json!("odnakassa")));
    assert_eq!(harness.alive(), 1);
}

#[tokio::test]
async fn when_both_are_down_the_order_waits_and_is_registered_once_after_they_heal() {
    let harness = Harness::new().await;
    for partner in PartnerName::payment_systems() {
        harness.partners.set_mode(partner, Mood::Down).await;
    }
    let order = harness.place().await;
    let queued = harness.confirm(&order).await;
    assert_eq!((queued.status, &queued.body["status"]), (202, &json!("queued")), "{}", queued.body);
    let task = queued.body["task_id"].clone();
    assert_eq!(queued.headers["location"], format!("/v1/tasks/{task}"));
    assert!(queued.headers.contains_key("retry-after"));
    let again = harness.confirm(&order).await;
    assert_eq!((again.status, &again.body["task_id"]), (202, &task));
    let waiting = harness.get(&format!("/v1/tasks/{task}")).await;
    assert_eq!(waiting.body["status"], "queued");

    for partner in PartnerName::payment_systems() {
        harness.partners.set_mode(partner, Mood::Ok).await;
    }
    let done = harness.until_final(&task).await;
    assert_eq!(done["status"], "succeeded", "{done}");
    assert!(done["result"]["form_url"].is_string());
    assert_eq!(harness.alive(), 1);
    assert_eq!(harness.order(&order).await["status"], "awaiting_payment");
}

#[tokio::test]
async fn when_sber_hangs_nobody_else_is_called_and_the_outcome_is_found_out() {
    for mood in [Mood::Hang, Mood::HangAfterCommit, Mood::Lossy] {
        let harness = Harness::new().await;
        harness.partners.set_mode(PartnerName::Sber, mood).await;
        let order = harness.place().await;
        let queued = harness.confirm(&order).await;
        assert_eq!(queued.status, 202, "{mood:?}: {}", queued.body);
        assert_eq!(harness.partners.call_totals(PartnerName::OdnaKassa).calls, 0, "{mood:?}");
        harness.partners.set_mode(PartnerName::Sber, Mood::Ok).await;
        let done = harness.until_final(&queued.body["task_id"]).await;
        assert_eq!(done["status"], "succeeded", "{mood:?}: {done}\n{}", harness.log());
        assert_eq!(done["result"]["provider"], "sber");
        assert_eq!(harness.alive(), 1, "{mood:?}");
        assert_eq!(harness.partners.call_totals(PartnerName::OdnaKassa).calls, 0, "{mood:?}");
    }
}

#[tokio::test]
async fn without_a_queue_an_unavailable_payment_system_is_a_503() {
    let mut harness = Harness::without_instance().await;
    harness.set("PAYMENT_UNAVAILABLE_MODE", "reject");
    harness.start(&[]).await;
    for partner in PartnerName::payment_systems() {
        harness.partners.set_mode(partner, Mood::Down).await;
    }
    let order = harness.place().await;
    let refused = harness.confirm(&order).await;
    assert_eq!(refused.status, 503);
    assert_eq!(refused.body["code"], "payment_system_unavailable");
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(harness.order(&order).await["status"], "new");
}

#[tokio::test]
async fn reads_degrade_and_say_so() {
    let mut harness = Harness::without_instance().await;
    harness.set("CATALOG_CACHE_TTL", "1ms");
    harness.start(&[]).await;
    let fresh = harness.get("/v1/products/p-1").await;
    assert_eq!((fresh.status, &fresh.body["stale"]), (200, &json!(false)));
    harness.partners.set_mode(PartnerName::Catalog, Mood::Down).await;
    harness.partners.set_mode(PartnerName::Recommendations, Mood::Error500).await;
    let stale = harness.until_stale("/v1/products/p-1").await;
    assert_eq!(stale.status, 200);
    assert!(stale.headers.contains_key("age"));
    let nothing = harness.get("/v1/products/p-2").await;
    assert_eq!((nothing.status, &nothing.body["code"]), (503, &json!("catalog_unavailable")));
    let hints = harness.get("/v1/customers/c-1/recommendations").await;
    assert_eq!((hints.status, &hints.body), (200, &json!({"items": [], "degraded": true})));
    let order = harness.place().await;
    assert_eq!(harness.order(&order).await["items"][0]["price_stale"], true);
}

#[tokio::test]
async fn an_operator_who_forces_a_breaker_open_keeps_every_call_away() {
    let harness = Harness::new().await;
    let url = format!("{}/admin/systems/sber/breaker", harness.admin);
    let forced = harness.http.put(url).header("content-type", "application/json");
    let forced = forced.body(r#"{"mode":"forced_open","reason":"a drill"}"#).send().await.unwrap();
    assert!(forced.status().is_success());
    let order = harness.place().await;
    let confirmed = harness.confirm(&order).await;
    assert_eq!((confirmed.status, &confirmed.body["provider"]), (200, &json!("odnakassa")));
    assert_eq!(harness.partners.call_totals(PartnerName::Sber).calls, 0);
    let metrics = harness.http.get(format!("{}/metrics", harness.admin)).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let rejected = r#"circuit_breaker_rejected_total{reason="forced",system="sber"} 1"#;
    assert!(metrics.contains(rejected), "{metrics}");
}

/// One instance is told; all obey, also one that starts later.
#[tokio::test]
async fn a_read_only_service_places_nothing_and_still_reads_and_takes_callbacks() {
    let mut harness = Harness::new().await;
    let order = harness.place().await;
    let confirmed = harness.confirm(&order).await;
    assert_eq!(confirmed.status, 200);
    let read_only = r#"{"mode":"read_only","reason":"a drill"}"#;
    harness.put_admin("/admin/mode", read_only).await;
    harness.stop().await;
    harness.start(&[]).await;
    let refused = harness.confirm(&order).await;
    assert_eq!((refused.status, &refused.body["code"]), (503, &json!("maintenance")));
    assert!(refused.headers.contains_key("retry-after"));
    // the payer pays, the bank calls back, and the order knows
    let number = harness.order(&order).await["payment"]["number"].as_str().unwrap().to_owned();
    harness.partners.act(PartnerName::Sber, &number, Deed::Pay).unwrap();
    harness.until_order(&order, "paid").await;
    harness.put_admin("/admin/mode", r#"{"mode":"normal","reason":"done"}"#).await;
    let other = harness.place().await;
    assert_eq!(harness.confirm(&other).await.status, 200);
}
