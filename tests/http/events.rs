//! What happened, for those who ask.

use crate::harness::{Harness, one_item};
use serde_json::{Value, json};

fn kinds(events: &Value) -> Vec<&str> {
    events["items"].as_array().unwrap().iter().map(|e| e["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_order_tells_its_story() {
    let harness = Harness::open();
    let id = harness.order().await;
    assert_eq!(harness.confirm(&id).await.status, 200);
    let shown = harness.get(&format!("/v1/orders/{id}")).await.json;
    let told = harness.get(&format!("/v1/orders/{id}/events")).await;
    assert_eq!(
        (told.status.as_u16(), kinds(&told.json)),
        (200, vec!["order.placed", "payment.registered"])
    );
    let [placed, registered] = [0, 1].map(|at| &told.json["items"][at]);
    assert_eq!(placed["data"]["order"]["status"], "new");
    assert_eq!(placed["sequence"], 1);
    assert_eq!((&registered["order_id"], &registered["sequence"]), (&json!(id), &json!(2)));
    // the order as the API shows it
    assert_eq!(registered["data"]["order"], shown);
    let members: Vec<_> = registered.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["data", "id", "order_id", "sequence", "time", "type"]);
    for after in ["1", placed["id"].as_str().unwrap()] {
        let rest = harness.get(&format!("/v1/orders/{id}/events?after={after}")).await.json;
        assert_eq!(rest["items"], json!([registered]));
    }
    let unknown = harness.get("/v1/orders/01a23170-da47-7625-b599-3aaf317c7d05/events").await;
    assert_eq!((unknown.status.as_u16(), unknown.code()), (404, "order_not_found"));
}

#[tokio::test]
async fn all_events_are_read_page_by_page_and_on_from_there() {
    let harness = Harness::open();
    let (first, second) = (harness.order().await, harness.order().await);
    let page = harness.get("/v1/events?limit=1").await.json;
    assert_eq!(page["items"][0]["order_id"], json!(first));
    let cursor = page["next_cursor"].as_str().unwrap().to_owned();
    let page = harness.get(&format!("/v1/events?after={cursor}")).await.json;
    assert_eq!(page["items"][0]["order_id"], json!(second));
    let id = page["items"][0]["id"].as_str().unwrap().to_owned();
    for after in [page["next_cursor"].as_str().unwrap(), &id] {
        let rest = harness.get(&format!("/v1/events?after={after}")).await.json;
        assert_eq!((&rest["items"], &rest["next_cursor"]), (&json!([]), &json!(after)));
    }
    harness.post("/v1/orders", &one_item()).await;
    assert_eq!(kinds(&harness.get(&format!("/v1/events?after={id}")).await.json), ["order.placed"]);
    for bad in ["x", "-1", "01a23170-da47-7625-b599-3aaf317c7d05_1", &format!("{first}_9")] {
        let refused = harness.get(&format!("/v1/events?after={bad}")).await;
        assert_eq!((refused.status.as_u16(), refused.pointers()), (400, vec!["/after"]), "{bad}");
    }
}
