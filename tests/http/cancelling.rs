//! A cancel while the payment is under way: nobody is given a form any more, and whoever was faster gets
//! the money back.

use crate::fakes::Behaviour;
use crate::harness::{Harness, Reply};
use order_service::core::domain::provider::Provider;
use serde_json::json;
use std::sync::atomic::Ordering;

async fn cancel(harness: &Harness, id: &str) -> Reply {
    harness.act(&format!("/v1/orders/{id}/cancel"), &[]).await
}

/// Everything that is due at the bank, until nothing is.
async fn work(harness: &Harness) {
    loop {
        let claimed = harness.engine.claim(Some(Provider::Sber), 10).await.unwrap();
        if claimed.is_empty() {
            return;
        }
        for task in claimed {
            harness.engine.run_claimed(task).await.unwrap();
        }
    }
}

async fn registering(harness: &Harness, id: &str) {
    while harness.get(&format!("/v1/orders/{id}")).await.json["status"] != "registering" {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn from_an_accepted_cancel_on_no_form_is_handed_out_or_shown() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.sber.behave(Behaviour::HeldBack);
    let in_between = async {
        registering(&harness, &id).await;
        let order = harness.get(&format!("/v1/orders/{id}")).await.json;
        let task = format!("/v1/tasks/{}", order["task_id"]);
        assert_eq!(cancel(&harness, &id).await.status, 202);
        let again = harness.confirm(&id).await;
        assert_eq!((again.status.as_u16(), again.code()), (409, "cancel_in_progress"));
        harness.sber.behave(Behaviour::Answers);
        harness.sber.let_go.notify_one();
        task
    };
    let (first, task) = tokio::join!(harness.confirm(&id), in_between);
    assert_eq!((first.status.as_u16(), first.code()), (409, "cancel_in_progress"));
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    assert_eq!(order["payment"]["status"], "registered", "the bank has it: {order}");
    assert_eq!(order["payment"]["form_url"], json!(null));
    let task = harness.get(&task).await.json;
    assert_eq!((&task["status"], &task["result"]), (&json!("cancelled"), &json!(null)));
    work(&harness).await;
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    assert_eq!(order["status"], "cancelled");
}

#[tokio::test]
async fn a_payment_that_was_faster_than_the_cancel_goes_back_by_itself() {
    let harness = Harness::open();
    let id = harness.order().await;
    assert_eq!(harness.confirm(&id).await.status, 200);
    harness.sber.paid_first.store(true, Ordering::Relaxed);
    let accepted = cancel(&harness, &id).await;
    assert_eq!(accepted.status, 202, "{}", accepted.json);
    let task = harness.get(accepted.header("location")).await.json;
    assert_eq!((&task["kind"], &task["status"]), (&json!("cancel_payment"), &json!("succeeded")));
    let refund = &task["result"]["refund"];
    assert_eq!(refund["amount"], json!({"amount": 20_000, "currency": "RUB"}));
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    assert_eq!((&order["status"], &order["task_id"]), (&json!("paid"), &refund["task_id"]));
    work(&harness).await;
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    assert_eq!((&order["status"], &order["task_id"]), (&json!("refunded"), &json!(null)));
    let refunds = harness.get(&format!("/v1/orders/{id}/refunds")).await.json;
    let told = &refunds["items"][0];
    assert_eq!((&told["reason"], &told["state"]), (&json!("cancel"), &json!("succeeded")));
    assert_eq!((&told["amount"], &told["task_id"]), (&refund["amount"], &refund["task_id"]));
    let refunded = harness.get(&format!("/v1/tasks/{}", refund["task_id"])).await.json;
    assert_eq!((&refunded["status"], &refunded["result"]["refund"]), (&json!("succeeded"), refund));
}

#[tokio::test]
async fn of_two_clicks_both_get_the_form() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.sber.behave(Behaviour::HeldBack);
    let second = async {
        registering(&harness, &id).await;
        let (second, ()) = tokio::join!(harness.confirm(&id), async {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            harness.sber.let_go.notify_one();
        });
        second
    };
    let (first, second) = tokio::join!(harness.confirm(&id), second);
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200), "{}", second.json);
    assert_eq!(first.json, second.json);
    assert_eq!(harness.sber.registered.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_preference_is_said_to_be_applied_only_when_it_was() {
    let harness = Harness::open();
    let id = harness.order().await;
    let path = format!("/v1/orders/{id}/confirm");
    harness.every_provider_behaves(Behaviour::BreakerOpen);
    let reply = harness.act(&path, &[("prefer", "wait=8")]).await;
    assert_eq!((reply.status.as_u16(), reply.headers.get("preference-applied")), (202, None));
    let began = tokio::time::Instant::now();
    let reply = harness.act(&path, &[("prefer", "wait=8")]).await;
    assert_eq!((reply.status.as_u16(), reply.header("preference-applied")), (202, "wait=8"));
    assert_eq!(began.elapsed().as_secs(), 8, "it waits on the task");
    let long = harness.act(&path, &[("prefer", "wait=60")]).await;
    assert_eq!((long.status.as_u16(), long.header("preference-applied")), (202, "wait=10"));
    let task = format!("{}?wait=60s", long.header("location"));
    assert_eq!(harness.get(&task).await.header("preference-applied"), "wait=30", "it was cut");
}
