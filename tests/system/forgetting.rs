//! A database that is restored to the past: what the bank knows and it does not is taken up again.

use crate::harness::Harness;
use order_service::adapters::outbound::storage::backup;
use order_service::sandbox::PartnerName;

/// The order is there, its registration was forgotten.
async fn amnesiac() -> (Harness, String) {
    let mut harness = Harness::new().await;
    let order = harness.place().await;
    let url = harness.database_url().to_owned();
    let file = url.strip_prefix("sqlite://").unwrap();
    let copy = format!("{file}.copy");
    backup(&url, copy.as_ref()).await.unwrap();
    assert_eq!(harness.confirm(&order).await.status, 200);
    assert_eq!(harness.stop().await, Some(0));
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{file}{ending}"));
    }
    std::fs::rename(copy, file).unwrap();
    harness.start(&[]).await;
    assert_eq!(harness.order(&order).await["status"], "new");
    (harness, order)
}

const SINCE: [&str; 3] = ["reconcile", "--since", "2020-01-01T00:00:00Z"];

#[tokio::test]
async fn what_a_restored_database_has_forgotten_is_taken_up_and_registered_no_second_time() {
    let (harness, order) = amnesiac().await;
    let only_told = harness.run(&[&SINCE[..], &["--dry-run"]].concat()).await;
    assert_eq!(only_told.status.code(), Some(0), "{only_told:?}");
    assert_eq!(harness.order(&order).await["status"], "new");

    let reconciled = harness.run(&SINCE).await;
    let told = String::from_utf8(reconciled.stdout).unwrap();
    let line: serde_json::Value = serde_json::from_str(told.trim()).unwrap();
    assert_eq!((&line["order_id"], &line["finding"]), (&order.clone().into(), &"forgotten".into()));
    assert_eq!((&line["provider"], &line["status"]), (&"sber".into(), &"pending".into()));
    assert_eq!(reconciled.status.code(), Some(0));
    harness.until_order(&order, "awaiting_payment").await;
    assert_eq!(harness.alive(), 1);
    assert!(harness.partners.call_totals(PartnerName::OdnaKassa).calls > 0, "it was asked");

    // Its form was never told to us: it is wound down before there is another.
    let confirmed = harness.confirm(&order).await;
    assert_eq!((confirmed.status, harness.alive()), (200, 1), "{}", confirmed.body);
    let again = harness.run(&SINCE).await;
    assert_eq!((again.status.code(), again.stdout.is_empty()), (Some(0), true));
}

#[tokio::test]
async fn what_nobody_answers_is_left_for_a_person() {
    let (harness, _) = amnesiac().await;
    harness.partners.set_mode(PartnerName::Sber, order_service::sandbox::Mood::Down).await;
    let reconciled = harness.run(&SINCE).await;
    assert_eq!(reconciled.status.code(), Some(3), "{reconciled:?}");
    assert!(String::from_utf8(reconciled.stdout).unwrap().contains("unanswered"));
}
