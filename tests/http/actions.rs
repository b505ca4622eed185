//! Confirm, cancel, refund.

use crate::fakes::Behaviour;
use crate::harness::{Harness, Options, one_item};
use axum::body::Body;
use http::Request;
use order_service::core::domain::ids::OrderId;
use order_service::core::domain::order::OrderStatus;
use order_service::core::payment::registration::{CONTRADICTED, RegistrationState};
use order_service::core::payment::task::TaskState;
use order_service::core::ports::order_repository::{OrderRepository, Scope};
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[tokio::test]
async fn a_confirmed_order_can_be_paid_and_says_where() {
    let harness = Harness::open();
    let id = harness.order().await;
    let reply = harness.confirm(&id).await;
    assert_eq!(reply.status, 200);
    let form_url = reply.json["form_url"].as_str().unwrap();
    assert_eq!(
        reply.json,
        json!({
            "status": "registered", "order_id": id, "provider": "sber", "form_url": form_url,
            "return_url": "https://shop.example/paid",
        })
    );
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    assert_eq!(order["status"], "awaiting_payment");
    // The registration is polled until its end: nobody has to wait for that.
    assert_eq!(order["task_id"], json!(null));
    let payment = &order["payment"];
    assert_eq!(
        *payment,
        json!({
            "provider": "sber",
            "status": "registered",
            "form_url": form_url,
            "registered_at": payment["registered_at"],
            "paid_at": null,
            "refunded": {"amount": 0, "currency": "RUB"},
            "number": payment["number"],
            "expires_at": null,
            "decline_code": null,
            "attempts": [{
                "number": payment["number"],
                "provider": "sber",
                "status": "registered",
                "decline_code": null,
                "registered_at": payment["registered_at"],
            }],
        })
    );
    assert!(payment["registered_at"].is_string() && payment["number"].is_string());
    // Asked again: the same form, no second registration.
    assert_eq!(harness.confirm(&id).await.json, reply.json);
    assert_eq!(harness.sber.registered.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn when_nobody_executes_it_the_order_is_queued() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.every_provider_behaves(Behaviour::BreakerOpen);
    let reply = harness.confirm(&id).await;
    assert_eq!(reply.status, 202, "{}", reply.json);
    let task = reply.json["task_id"].as_i64().unwrap();
    assert_eq!(reply.json, json!({"status": "queued", "order_id": id, "task_id": task}));
    assert_eq!(reply.header("location"), format!("/v1/tasks/{task}"));
    let wait: u64 = reply.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    assert_eq!((&order["status"], &order["task_id"]), (&json!("registering"), &json!(task)));
    // Asked again: the same task.
    let again = harness.confirm(&id).await;
    assert_eq!((again.status.as_u16(), &again.json["task_id"]), (202, &json!(task)));
}

#[tokio::test]
async fn what_the_first_provider_did_not_execute_the_second_does() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.sber.behave(Behaviour::BreakerOpen);
    let reply = harness.confirm(&id).await;
    assert_eq!((reply.status.as_u16(), &reply.json["provider"]), (200, &json!("odnakassa")));
}

#[tokio::test]
async fn an_outage_costs_one_decision_where_orders_are_queued_and_none_where_they_are_not() {
    for (queueing, status, decisions) in [(true, 202, 1), (false, 503, 0)] {
        let harness = Harness::with(Options { queueing, ..Options::default() });
        let id = harness.order().await;
        harness.every_provider_behaves(Behaviour::BreakerOpen);
        assert_eq!(harness.confirm(&id).await.status, status);
        assert_eq!(harness.store.changes.load(Ordering::Relaxed), decisions);
        let stored = harness.store.aggregate(OrderId::parse(&id).unwrap(), &Scope::Anyone).await;
        let aggregate = stored.unwrap().unwrap();
        assert_eq!(aggregate.registrations, [], "nothing was sent, so nothing is written of it");
        assert_eq!(aggregate.tasks.len(), decisions);
    }
}

#[tokio::test]
async fn a_form_that_was_given_out_is_told_of_during_an_outage_too() {
    let harness = Harness::with(Options { queueing: false, ..Options::default() });
    let id = harness.order().await;
    let given = harness.confirm(&id).await;
    assert_eq!(given.status, 200);
    harness.every_provider_behaves(Behaviour::BreakerOpen);
    let again = harness.confirm(&id).await;
    assert_eq!((again.status.as_u16(), again.json), (200, given.json));
    let nobody = harness.confirm("0193b3c4-5d6e-7f80-91a2-b3c4d5e6f708").await;
    assert_eq!((nobody.status.as_u16(), nobody.code()), (404, "order_not_found"));
}

#[tokio::test]
async fn who_asks_again_in_an_outage_costs_the_storage_nothing() {
    let harness = Harness::with(Options { queueing: false, ..Options::default() });
    let id = harness.order().await;
    harness.every_provider_behaves(Behaviour::BreakerOpen);
    let refused = harness.confirm(&id).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (503, "payment_system_unavailable"));
    harness.store.down.store(true, Ordering::Relaxed);
    for _ in 0..3 {
        assert_eq!(harness.confirm(&id).await.code(), "payment_system_unavailable");
    }
    harness.store.down.store(false, Ordering::Relaxed);
    harness.every_provider_behaves(Behaviour::Answers);
    let given = harness.confirm(&id).await;
    assert_eq!(given.status, 200, "and is served as soon as somebody can be asked");
    harness.every_provider_behaves(Behaviour::BreakerOpen);
    assert_eq!(harness.confirm(&id).await.json, given.json);
}

#[tokio::test]
async fn a_refused_payment_is_a_422_and_may_be_tried_again() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.sber.behave(Behaviour::Refuses);
    let reply = harness.confirm(&id).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (422, "payment_rejected"));
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    assert_eq!((&order["status"], &order["payment"]), (&json!("payment_failed"), &json!(null)));
    harness.sber.behave(Behaviour::Answers);
    assert_eq!(harness.confirm(&id).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_client_waits_as_long_as_it_prefers_and_the_call_goes_on() {
    for (headers, seconds, applied) in [
        (vec![], 10.0, ""),
        (vec![("prefer", "wait=2")], 2.0, "wait=2"),
        (vec![("prefer", "respond-async, wait=3")], 3.0, "respond-async,wait=3"),
        (vec![("prefer", "respond-async")], 0.0, "respond-async"),
        (vec![("request-timeout", "1500")], 1.48, ""),
    ] {
        let harness = Harness::open();
        let id = harness.order().await;
        harness.sber.behave(Behaviour::Hangs);
        let began = tokio::time::Instant::now();
        let reply = harness.act(&format!("/v1/orders/{id}/confirm"), &headers).await;
        assert_eq!(reply.status, 202, "{headers:?} {}", reply.json);
        let took = began.elapsed().as_secs_f64();
        assert!((took - seconds).abs() < 0.05, "{headers:?} took {took}");
        let all: Vec<_> = reply.headers.get_all("preference-applied").iter().collect();
        let all: Vec<_> = all.iter().map(|value| value.to_str().unwrap()).collect();
        assert_eq!(all.join(","), applied);
        assert!(harness.odnakassa.registered.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn too_little_time_to_start_changes_nothing() {
    let harness = Harness::open();
    let id = harness.order().await;
    let path = format!("/v1/orders/{id}/confirm");
    let reply = harness.act(&path, &[("request-timeout", "50")]).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (504, "deadline_exceeded"));
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    assert_eq!(order["status"], "new");
    assert!(harness.sber.registered.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_payer_comes_back_only_to_an_allowed_address() {
    let harness = Harness::open();
    let id = harness.order().await;
    let path = format!("/v1/orders/{id}/confirm");
    for bad in [
        json!("https://evil.example/"),
        json!("http://shop.example/"),
        json!("https://a@shop.example/"),
        json!(""),
        json!(7),
        json!(null),
    ] {
        let reply = harness.post(&path, &json!({"return_url": bad})).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (400, "invalid_request"), "{bad}");
        assert_eq!(reply.pointers(), ["/return_url"]);
    }
    let reply =
        harness.post(&path, &json!({"return_url": "https://shop.example/back?o={order_id}"})).await;
    assert_eq!(reply.status, 200);
    let sent = harness.sber.registered.lock().unwrap()[0].0.checkout.return_url.clone();
    assert_eq!(sent, format!("https://shop.example/back?o={id}"));
}

#[tokio::test]
async fn a_confirmation_needs_no_body_whatever_type_it_claims() {
    let harness = Harness::open();
    for content_type in [None, Some("application/json"), Some("text/plain")] {
        let id = harness.order().await;
        let mut request = Request::post(format!("/v1/orders/{id}/confirm"));
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        let reply = harness.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(reply.status, 200, "{content_type:?}");
    }
    let id = harness.order().await;
    let path = format!("/v1/orders/{id}/confirm");
    assert_eq!(harness.post(&path, &json!({"return": 1})).await.pointers(), ["/return"]);
    assert_eq!(harness.post(&path, &json!([])).await.pointers(), [""]);
    let typed = Request::post(&path).header("content-type", "text/plain");
    assert_eq!(harness.send(typed.body(Body::from("{}")).unwrap()).await.status, 415);
    assert_eq!(harness.post(&path, &json!({})).await.status, 200);
}

#[tokio::test]
async fn a_new_order_is_cancelled_at_once_and_then_cannot_be_confirmed() {
    let harness = Harness::open();
    let id = harness.order().await;
    let reply = harness.act(&format!("/v1/orders/{id}/cancel"), &[]).await;
    assert_eq!((reply.status.as_u16(), &reply.json["status"]), (200, &json!("cancelled")));
    let reply = harness.confirm(&id).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (409, "order_not_confirmable"));
    assert_eq!(reply.json["order_status"], "cancelled");
}

#[tokio::test]
async fn a_registered_order_is_taken_back_at_the_provider_first() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.confirm(&id).await;
    let reply = harness.act(&format!("/v1/orders/{id}/cancel"), &[]).await;
    assert_eq!((reply.status.as_u16(), &reply.json["status"]), (200, &json!("cancelled")));
    assert_eq!(reply.json["payment"]["status"], "cancelled");
    assert_eq!(reply.json["payment"]["form_url"], json!(null));
}

#[tokio::test]
async fn what_cannot_be_taken_back_now_is_queued() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.confirm(&id).await;
    harness.sber.behave(Behaviour::BreakerOpen);
    let reply = harness.act(&format!("/v1/orders/{id}/cancel"), &[]).await;
    assert_eq!(reply.status, 202, "{}", reply.json);
    assert!(reply.header("location").starts_with("/v1/tasks/"));
}

#[tokio::test]
async fn a_paid_order_is_not_cancelled_but_refunded() {
    let harness = Harness::open();
    let id = harness.paid_order().await;
    let reply = harness.act(&format!("/v1/orders/{id}/cancel"), &[]).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (409, "order_not_cancellable"));
    let path = format!("/v1/orders/{id}/refund");
    let part = json!({"amount": {"amount": 5_000, "currency": "RUB"}});
    let reply = harness.post_with(&path, &part, &[("idempotency-key", "r-1")]).await;
    assert_eq!(reply.status, 200, "{}", reply.json);
    assert_eq!(reply.json["payment"]["refunded"], part["amount"]);
    assert_eq!(
        (&reply.json["status"], &reply.json["payment"]["status"]),
        (&json!("paid"), &json!("paid"))
    );
    let much = json!({"amount": {"amount": 15_001, "currency": "RUB"}});
    let reply = harness.post_with(&path, &much, &[("idempotency-key", "r-2")]).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (422, "refund_exceeds_payment"));
    let dollars = json!({"amount": {"amount": 1, "currency": "USD"}});
    let reply = harness.post_with(&path, &dollars, &[("idempotency-key", "r-4")]).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (422, "currency_not_supported"));
    let reply = harness.act(&path, &[("idempotency-key", "r-3")]).await;
    assert_eq!(reply.status, 200, "{}", reply.json);
    assert_eq!(reply.json["task_id"], json!(null), "it is done");
    assert_eq!(
        (&reply.json["status"], &reply.json["payment"]["status"]),
        (&json!("refunded"), &json!("refunded"))
    );
}

#[tokio::test]
async fn while_a_person_looks_a_confirm_names_the_task_that_laid_it_before_them() {
    let harness = Harness::open();
    let unresolved = harness.order().await;
    assert_eq!(harness.confirm(&unresolved).await.status, 200);
    harness
        .change(&unresolved, |aggregate, _| {
            aggregate.order.status = OrderStatus::Registering;
            aggregate.registrations[0].state = RegistrationState::Unknown;
            aggregate.tasks[0].state = TaskState::Review;
        })
        .await;
    let contradicted = harness.order().await;
    assert_eq!(harness.confirm(&contradicted).await.status, 200);
    harness
        .change(&contradicted, |aggregate, _| {
            CONTRADICTED.clone_into(&mut aggregate.registrations[0].evidence);
            aggregate.tasks[0].state = TaskState::Review;
        })
        .await;
    for id in [unresolved, contradicted] {
        let reply = harness.confirm(&id).await;
        assert_eq!((reply.status.as_u16(), &reply.json["status"]), (202, &json!("queued")));
        let task = harness.get(reply.header("location")).await.json;
        assert_eq!((&task["status"], &task["order_id"]), (&json!("review"), &json!(id)));
        let order = harness.get(&format!("/v1/orders/{id}")).await.json;
        assert!(order["payment"]["form_url"].is_null(), "{order}");
    }
}

#[tokio::test]
async fn a_refund_is_read_strictly() {
    let harness = Harness::open();
    let id = harness.order().await;
    let path = format!("/v1/orders/{id}/refund");
    for (body, pointers) in [
        (json!({"amount": 5}), vec!["/amount"]),
        (json!({"amount": {"amount": 0, "currency": "RUB"}}), vec!["/amount/amount"]),
        (json!({"amount": {"amount": 1.5}}), vec!["/amount/amount", "/amount/currency"]),
        (json!({"amount": {"amount": 1, "currency": "rub"}}), vec!["/amount/currency"]),
        (json!({"sum": 1}), vec!["/sum"]),
    ] {
        let reply = harness.post_with(&path, &body, &[("idempotency-key", "r-1")]).await;
        assert_eq!((reply.status.as_u16(), reply.pointers()), (400, pointers), "{body}");
    }
    let reply = harness.act(&path, &[("idempotency-key", "r-1")]).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (409, "order_not_refundable"));
    let reply = harness.act(&path, &[]).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (400, "idempotency_key_required"));
}

#[tokio::test]
async fn nothing_can_be_done_with_an_order_that_does_not_exist() {
    let harness = Harness::with(Options::default());
    for id in ["0193b3c4-5d6e-7f80-91a2-b3c4d5e6f708", "17"] {
        for verb in ["confirm", "cancel", "refund"] {
            let key = [("idempotency-key", "k")];
            let reply = harness.act(&format!("/v1/orders/{id}/{verb}"), &key).await;
            assert_eq!((reply.status.as_u16(), reply.code()), (404, "order_not_found"), "{verb}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_hangs_up_leaves_the_registration_to_its_end() {
    let harness = Harness::open();
    let id = harness.order().await;
    let path = format!("/v1/orders/{id}/confirm");
    let _ = tokio::time::timeout(Duration::ZERO, harness.act(&path, &[])).await;
    harness.app.services.detached.close();
    harness.app.services.detached.wait().await;
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    assert_eq!(order["status"], "awaiting_payment");
}

#[tokio::test]
async fn a_form_lives_as_long_as_wished_and_says_where_it_leads_back() {
    let harness = Harness::open();
    let mut said = one_item();
    said["external_id"] = json!("A/1");
    let placed = harness.post("/v1/orders", &said).await;
    let path = format!("{}/confirm", placed.header("location"));
    for bad in [json!(299), json!(604_801), json!("600"), json!(1.5)] {
        let reply = harness.post(&path, &json!({"form_lifetime": bad})).await;
        assert_eq!(
            (reply.status.as_u16(), reply.pointers()),
            (400, vec!["/form_lifetime"]),
            "{bad}"
        );
    }
    let wish = json!({"form_lifetime": 600, "return_url": "https://shop.example/{external_id}"});
    let first = harness.post(&path, &wish).await;
    assert_eq!(first.json["return_url"], "https://shop.example/A%2F1");
    let sent = harness.sber.registered.lock().unwrap()[0].0.checkout.clone();
    assert_eq!(sent.lifetime, Some(Duration::from_secs(600)));
    let order = harness.get(placed.header("location")).await;
    assert_eq!(order.json["payment"]["expires_at"], json!(sent.expires_at.unwrap().to_rfc3339()));
    // Whoever confirms again is told which one holds.
    let other = json!({"return_url": "https://shop.example/other"});
    assert_eq!(harness.post(&path, &other).await.bytes, first.bytes);
}
