//! What waits for a person: found by whatever they have at hand, and closed by their word.

use crate::admin::admin;
use crate::fakes::Behaviour;
use crate::harness::{Harness, Reply, request, send};
use axum::Router;
use order_service::adapters::observe::storage_upkeep::StorageUpkeep;
use order_service::core::domain::ids::TaskId;
use order_service::core::domain::money::Money;
use order_service::core::domain::provider::{Provider, ProviderNumber};
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::payment::OrderAggregate;
use order_service::core::payment::dispute::{Dispute, Side};
use order_service::core::payment::refund::{Refund, RefundKey, RefundOrigin, RefundState};
use order_service::core::payment::registration::{Registration, RegistrationState};
use order_service::core::payment::task::{Task, TaskError, TaskKind, TaskState};
use order_service::core::ports::order_repository::{InboxEntry, OrderRepository};
use serde_json::{Value, json};

const REVIEWED: u128 = 77;

async fn get(router: &Router, path: &str) -> Reply {
    send(router, request("GET", path, &[], None)).await
}

async fn resolve(router: &Router, body: &Value) -> Reply {
    let path = format!("/admin/tasks/{}/resolve", TaskId::new(REVIEWED));
    send(router, request("POST", &path, &[], Some(body))).await
}

fn in_review(aggregate: &mut OrderAggregate, kind: TaskKind, now: Timestamp) {
    let id = TaskId::new(REVIEWED);
    let mut task = Task::queued(id, aggregate.order.id, kind, now, now);
    task.state = TaskState::Review;
    task.error = Some(TaskError::OutcomeUnknown);
    aggregate.tasks.push(task);
}

/// An order whose task of that kind is in review, as the engine leaves it there.
async fn reviewed(harness: &Harness, kind: TaskKind) -> String {
    match kind {
        TaskKind::RegisterPayment => {
            let id = harness.order().await;
            harness
                .change(&id, |aggregate, now| {
                    let (order, total) = (aggregate.order.id, aggregate.order.total);
                    let number = ProviderNumber::new("", order, 1);
                    let mut made = Registration::intent(Provider::Sber, 1, number, total, now);
                    made.state = RegistrationState::Unknown;
                    aggregate.registrations.push(made);
                    in_review(aggregate, TaskKind::RegisterPayment, now);
                })
                .await;
            id
        }
        TaskKind::CancelPayment => {
            let id = harness.order().await;
            assert_eq!(harness.confirm(&id).await.status, 200);
            harness
                .change(&id, |aggregate, now| in_review(aggregate, TaskKind::CancelPayment, now))
                .await;
            id
        }
        TaskKind::RefundPayment => {
            let id = harness.paid_order().await;
            harness
                .change(&id, |aggregate, now| {
                    let task = TaskId::new(REVIEWED);
                    let key = RefundKey::of_task(aggregate.order.id, task);
                    let (about, amount) = ((Provider::Sber, 1), aggregate.order.total);
                    let origin = RefundOrigin::Client;
                    let planned = Refund::planned(key, about, amount, origin, task, now);
                    let state = RefundState::Review;
                    aggregate.refunds.push(Refund { state, sends: 1, ..planned });
                    in_review(aggregate, TaskKind::RefundPayment, now);
                })
                .await;
            id
        }
        TaskKind::SyncPayment => {
            let id = harness.order().await;
            assert_eq!(harness.confirm(&id).await.status, 200);
            harness
                .change(&id, |aggregate, now| {
                    for task in &mut aggregate.tasks {
                        task.state = TaskState::Succeeded;
                    }
                    in_review(aggregate, TaskKind::SyncPayment, now);
                })
                .await;
            id
        }
    }
}

async fn reviews_counted(harness: &Harness) -> u64 {
    let stats = harness.store.task_stats().await.unwrap();
    let review = stats.iter().filter(|stat| stat.state == TaskState::Review);
    review.map(|stat| stat.for_operator).sum()
}

#[tokio::test]
async fn a_review_of_every_kind_is_closed_by_every_finding() {
    for kind in TaskKind::ALL {
        for finding in ["executed", "not_executed", "settled"] {
            let harness = Harness::open();
            let router = admin(&harness, None);
            let id = reviewed(&harness, kind).await;
            assert_eq!(reviews_counted(&harness).await, 1, "{kind:?}");
            let open = get(&router, "/admin/tasks?status=review").await;
            assert_eq!(open.json["items"][0]["kind"], kind.as_str());
            assert!(open.json["items"][0]["settled_by"].is_null());

            let reply = resolve(&router, &json!({"finding": finding, "reason": "looked"})).await;
            assert_eq!(reply.status, 200, "{kind:?} {finding}: {}", reply.json);
            assert_eq!((&reply.json["status"]), &json!("review"), "the answer stays");
            assert_eq!(reply.json["settled_by"], "operator", "{kind:?} {finding}");
            assert!(reply.json["settled_at"].is_string());

            assert_eq!(reviews_counted(&harness).await, 0, "{kind:?} {finding}");
            let open = get(&router, "/admin/tasks?status=review").await;
            assert_eq!(open.json["items"], json!([]), "{kind:?} {finding}");
            let all = get(&router, &format!("/admin/tasks?order_id={id}")).await;
            let mut all = all.json["items"].as_array().unwrap().iter();
            let closed = all.find(|task| task["status"] == "review").unwrap();
            assert_eq!(closed["settled_by"], "operator", "the list says so too");
            let shown = harness.get(&format!("/v1/tasks/{}", TaskId::new(REVIEWED))).await;
            assert!(shown.json.get("settled_by").is_none(), "shops are told nothing of it");
        }
    }
}

#[tokio::test]
async fn a_word_about_another_number_closes_nothing_and_says_why() {
    for kind in TaskKind::ALL {
        let harness = Harness::open();
        let router = admin(&harness, None);
        reviewed(&harness, kind).await;
        let body = json!({"finding": "executed", "number": "OTHER-01", "reason": "looked"});
        let reply = resolve(&router, &body).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (409, "operation_refused"), "{kind:?}");
        assert!(reply.json["detail"].as_str().unwrap().contains("another number"), "{kind:?}");
        assert_eq!(reviews_counted(&harness).await, 1, "{kind:?}");
        let body = json!({"finding": "settled", "reason": "given back in the cabinet"});
        assert_eq!(resolve(&router, &body).await.status, 200, "{kind:?}");
    }
}

#[tokio::test]
async fn an_order_is_found_by_its_number_the_banks_id_or_a_task() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let (id, _) = (harness.order().await, harness.order().await);
    assert_eq!(harness.confirm(&id).await.status, 200);
    let shown = get(&router, &format!("/admin/orders/{id}")).await;
    let made = &shown.json["registrations"][0];
    let tasks = shown.json["tasks"].as_array().unwrap();
    let register = tasks.iter().find(|task| task["kind"] == "register_payment").unwrap();
    assert_eq!(register["status"], "succeeded", "what is over is shown too");
    for name in [made["number"].clone(), made["external_id"].clone(), register["task_id"].clone()] {
        let name = name.as_str().map_or(name.to_string(), str::to_owned);
        let found = get(&router, &format!("/admin/orders/{name}")).await;
        assert_eq!((found.status.as_u16(), &found.json["id"]), (200, &json!(id)), "{name}");
    }
    for nobody in ["ext-", "1", "%27%20OR%201=1", &"x".repeat(129)] {
        let reply = get(&router, &format!("/admin/orders/{nobody}")).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (404, "order_not_found"), "{nobody}");
    }
}

#[tokio::test]
async fn an_order_is_shown_with_its_refunds_callbacks_and_deeds() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let id = harness.paid_order().await;
    let amount = json!({"amount": {"amount": 100, "currency": "RUB"}});
    let key = [("idempotency-key", "k-1")];
    let refunded = harness.post_with(&format!("/v1/orders/{id}/refund"), &amount, &key).await;
    assert_eq!(refunded.status, 200, "{}", refunded.json);
    let path = format!("/admin/orders/{id}");
    let refund = get(&router, &path).await.json["refunds"][0].clone();
    assert_eq!((&refund["state"], &refund["origin"]), (&json!("done"), &json!("client")));
    assert_eq!((&refund["amount"], &refund["sends"]), (&amount["amount"], &json!(1)));
    assert_eq!(refund["told_before"]["amount"], 0, "the sum from before it was sent");

    let number = get(&router, &path).await.json["registrations"][0]["number"].clone();
    assert_eq!(refund["number"], number);
    let entry = InboxEntry {
        provider: Provider::Sber,
        number: ProviderNumber::told(number.as_str().unwrap()),
        event_id: Some("e-1".into()),
        kind: "refunded".into(),
        signed: true,
    };
    harness.store.keep_unknown_callback(entry).await.unwrap();
    harness.every_provider_behaves(Behaviour::BreakerOpen);
    harness.change(&id, |aggregate, now| in_review(aggregate, TaskKind::CancelPayment, now)).await;
    let settled = json!({"finding": "settled", "reason": "seen"});
    assert_eq!(resolve(&router, &settled).await.status, 200);
    let shown = get(&router, &path).await.json;
    let callback = &shown["callbacks"][0];
    assert_eq!((&callback["kind"], &callback["event_id"]), (&json!("refunded"), &json!("e-1")));
    let deed = &shown["audit"][0];
    assert_eq!((&deed["action"], &deed["reason"]), (&json!("resolve_settled"), &json!("seen")));
    assert_eq!(deed["task_id"], json!(TaskId::new(REVIEWED).get()));
}

#[tokio::test]
async fn an_operator_sees_both_sides_of_a_contradiction_and_a_shop_the_sums() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let id = reviewed(&harness, TaskKind::CancelPayment).await;
    harness
        .change(&id, |aggregate, now| {
            let theirs = "number OTHERS-01, amount 100 RUB";
            aggregate.registrations[0].contradiction = Some(theirs.to_owned());
            for task in &mut aggregate.tasks {
                task.state = TaskState::Succeeded;
            }
            let id = TaskId::new(REVIEWED + 1);
            let mut task = Task::queued(id, aggregate.order.id, TaskKind::SyncPayment, now, now);
            task.state = TaskState::Review;
            task.error = Some(TaskError::Mismatch);
            let sum = |kopecks| Some(Money::rub(kopecks).unwrap());
            task.dispute = Some(Dispute {
                theirs: Side { sum: sum(100), record: theirs.to_owned() },
                ours: Side { sum: sum(39_800), record: "number OURS-01".to_owned() },
            });
            aggregate.tasks.push(task);
        })
        .await;
    let path = format!("/v1/tasks/{}", TaskId::new(REVIEWED + 1));
    let shop = harness.get(&path).await;
    let detail = shop.json["error"]["detail"].as_str().unwrap();
    assert!(detail.ends_with("In minor units, 100 RUB there and 39800 RUB here."), "{detail}");
    assert!(!String::from_utf8(shop.bytes).unwrap().contains("-01"), "no number, of anybody");
    let russian = harness.get_with(&path, &[("accept-language", "ru")]).await;
    assert!(russian.json["error"]["detail"].as_str().unwrap().ends_with("39800 RUB у нас."));

    let shown = get(&router, &format!("/admin/orders/{id}")).await.json;
    let both = &shown["registrations"][0]["contradiction"];
    assert_eq!(both["theirs"], "number OTHERS-01, amount 100 RUB");
    let number = shown["registrations"][0]["number"].as_str().unwrap();
    let ours = both["ours"].as_str().unwrap();
    assert!(ours.contains(number) && ours.contains("status live"), "{ours}");
    let mut tasks = shown["tasks"].as_array().unwrap().iter();
    let review = tasks.find(|task| task["error"]["code"] == "mismatch").unwrap();
    assert_eq!(review["contradiction"]["ours"], "number OURS-01");
}
