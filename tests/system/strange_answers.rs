//! An answer that is not about what we registered, from the bank's wire to the person who closes it.

use crate::harness::{Harness, PATIENCE, Reply};
use crate::metrics_page::Scrape;
use order_service::sandbox::{Fault, OrderEffects, PartnerName, Then, When};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What the alert `TasksInReview` looks at.
const IN_REVIEW: &str = r#"tasks{kind="sync_payment",status="review"}"#;

async fn admin(harness: &Harness, path: &str, body: Option<Value>) -> Reply {
    let url = format!("{}{path}", harness.admin);
    let request = match body {
        None => harness.http.get(url),
        Some(body) => {
            let typed = harness.http.post(url).header("content-type", "application/json");
            typed.body(body.to_string())
        }
    };
    let reply = request.send().await.unwrap();
    let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
    let body = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
    Reply { status, headers, body }
}

/// The page, once the gauge of reviews stands there.
async fn until_in_review(harness: &Harness, wanted: f64) -> Scrape {
    let end = Instant::now() + PATIENCE;
    loop {
        let page = harness.http.get(format!("{}/metrics", harness.admin)).send().await.unwrap();
        let scrape = Scrape::read(&page.text().await.unwrap());
        if scrape.value(IN_REVIEW) == wanted {
            return scrape;
        }
        assert!(Instant::now() < end, "not {wanted}: {}", harness.log());
        sleep(Duration::from_millis(100)).await;
    }
}

fn log_line(harness: &Harness, message: &str) -> Value {
    let log = harness.log();
    let line = log.lines().find(|line| line.contains(message)).expect("the log tells");
    serde_json::from_str(line).unwrap()
}

/// The first text of that name, however deep.
fn member<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    let object = value.as_object()?;
    let own = object.get(name).and_then(Value::as_str);
    own.or_else(|| object.values().find_map(|inner| member(inner, name)))
}

#[tokio::test]
async fn another_amount_at_the_bank_is_alarmed_shown_from_both_sides_and_closed_by_a_person() {
    let harness = Harness::new().await;
    let order = OrderEffects { amount_delta: 100, ..OrderEffects::default() };
    let when =
        When { operation: Some("register.do".to_owned()), times: Some(1), ..When::default() };
    let then = Then { order, ..Then::default() };
    harness.partners.add_fault(PartnerName::Sber, Fault { when, then });
    let order = harness.place().await;
    assert_eq!(harness.confirm(&order).await.status, 200);

    let scrape = until_in_review(&harness, 1.0).await;
    for (series, count) in [
        (r#"payments_reconciled_total{finding="mismatch",system="sber"}"#, 1.0),
        (r#"task_reviews_total{kind="sync_payment"}"#, 1.0),
        (r#"tasks_for_operator{kind="sync_payment",waits_for="review"}"#, 1.0),
    ] {
        assert_eq!(scrape.value(series), count, "{series}");
    }

    let shown = admin(&harness, &format!("/admin/orders/{order}"), None).await.body;
    let made = &shown["registrations"][0];
    let ours = made["amount"]["amount"].as_i64().unwrap();
    let sides = &made["contradiction"];
    let (number, id) = (made["number"].as_str().unwrap(), made["external_id"].as_str().unwrap());
    for (side, amount) in [("theirs", ours + 100), ("ours", ours)] {
        let record = sides[side].as_str().unwrap();
        for part in [number, id, &format!("amount {amount} RUB"), "status ", "refunded 0"] {
            assert!(record.contains(part), "{side}: {part} in {record}");
        }
    }
    let tasks = shown["tasks"].as_array().unwrap();
    let reviewed = tasks.iter().find(|task| task["status"] == "review").unwrap();
    assert_eq!(reviewed["error"]["code"], "mismatch", "{reviewed}");
    assert_eq!(&reviewed["contradiction"], sides);
    let line = log_line(&harness, "the provider's record contradicts ours");
    assert_eq!(member(&line, "theirs"), sides["theirs"].as_str(), "{line}");
    assert_eq!(member(&line, "ours"), sides["ours"].as_str(), "{line}");
    assert_eq!(member(&line, "order_id"), Some(order.as_str()), "{line}");

    let path = format!("/admin/tasks/{}/resolve", reviewed["task_id"]);
    let word = json!({"finding": "settled", "reason": "the bank corrects it"});
    let closed = admin(&harness, &path, Some(word)).await;
    assert_eq!((closed.status, &closed.body["settled_by"]), (200, &json!("operator")));
    let scrape = until_in_review(&harness, 0.0).await;
    let told = scrape.value(r#"payments_reconciled_total{finding="mismatch",system="sber"}"#);
    assert_eq!(told, 1.0, "what a person was told of is told once");
    let open = admin(&harness, "/admin/tasks?status=review", None).await;
    assert_eq!(open.body["items"], json!([]));
    let audit = admin(&harness, "/admin/audit", None).await.body;
    assert_eq!(audit["items"][0]["reason"], "the bank corrects it", "{audit}");
}
