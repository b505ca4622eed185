//! Looking at a task, and waiting for its end.

use crate::fakes::Behaviour;
use crate::harness::Harness;
use order_service::core::payment::registration::RegistrationState;
use order_service::core::payment::task::{Reason, TaskState};
use order_service::core::ports::task_queue::{TaskQuery, TaskQueue};
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// An order that hangs at the bank, and its task.
async fn hanging(harness: &Harness) -> (String, String) {
    let id = harness.order().await;
    harness.sber.behave(Behaviour::Hangs);
    let path = format!("/v1/orders/{id}/confirm");
    let reply = harness.act(&path, &[("prefer", "wait=0")]).await;
    assert_eq!(reply.status, 202);
    (id, reply.header("location").to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_task_tells_how_far_it_has_come() {
    let harness = Harness::open();
    let (id, path) = hanging(&harness).await;
    let reply = harness.get(&path).await;
    assert_eq!(reply.status, 200);
    let task = &reply.json;
    assert_eq!(
        *task,
        json!({
            "task_id": task["task_id"],
            "kind": "register_payment",
            "order_id": id,
            "status": "running",
            "reason": null,
            "attempts": task["attempts"],
            "created_at": task["created_at"],
            "updated_at": task["updated_at"],
            "next_attempt_at": null,
            "result": null,
            "error": null,
        })
    );
    assert_eq!(reply.header("retry-after"), "1");
    assert_eq!(reply.header("cache-control"), "no-store");
    let known = [("if-none-match", reply.header("etag"))];
    assert_eq!(harness.get_with(&path, &known).await.status, 304);
}

#[tokio::test]
async fn a_queued_task_says_why_it_waits_and_until_when() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.every_provider_behaves(Behaviour::BreakerOpen);
    let reply = harness.confirm(&id).await;
    let task = harness.get(reply.header("location")).await;
    assert_eq!(
        (&task.json["status"], &task.json["reason"]),
        (&json!("queued"), &json!("breaker_open"))
    );
    assert!(task.json["next_attempt_at"].is_string());
    let wait: u64 = task.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
}

#[tokio::test]
async fn a_final_task_shows_its_result_or_its_error_and_no_retry_after() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.sber.behave(Behaviour::Refuses);
    harness.confirm(&id).await;
    let tasks = TaskQuery { limit: 1, ..TaskQuery::default() };
    let failed = harness.store.tasks(&tasks).await.unwrap()[0].id;
    let reply =
        harness.get_with(&format!("/v1/tasks/{failed}"), &[("accept-language", "ru")]).await;
    assert_eq!(reply.json["status"], "failed");
    assert_eq!(
        reply.json["error"],
        json!({"code": "payment_rejected", "detail": "Платёжная система отклонила заказ."})
    );
    assert_eq!(reply.header("retry-after"), "");
    assert_eq!(reply.header("vary"), "accept-language");
}

#[tokio::test(start_paused = true)]
async fn a_long_poll_waits_as_long_as_asked_and_at_most_30_seconds() {
    let harness = Harness::open();
    let (_, path) = hanging(&harness).await;
    let took = async |query: &str, headers: &[(&str, &str)]| {
        let began = Instant::now();
        let reply = harness.get_with(&format!("{path}{query}"), headers).await;
        assert_eq!(reply.status, 200);
        (began.elapsed().as_millis(), reply.header("preference-applied").to_owned())
    };
    let applied = |text: &str| text.to_owned();
    assert_eq!(took("?wait=250ms", &[]).await, (250, applied("")));
    assert_eq!(took("?wait=2", &[]).await, (2_000, applied("")));
    assert_eq!(took("", &[("prefer", "wait=3")]).await, (3_000, applied("wait=3")));
    assert_eq!(took("?wait=1s", &[("prefer", "wait=9")]).await, (1_000, applied("")));
    let deadline = [("request-timeout", "500")];
    assert_eq!(took("?wait=9s", &deadline).await, (450, applied("")));
    // Longer than REQUEST_TIMEOUT, which does not bind it, and cut to 30 s.
    let harness = Harness::open();
    let (_, path) = hanging(&harness).await;
    let began = Instant::now();
    harness.get(&format!("{path}?wait=10m")).await;
    assert!(began.elapsed() <= Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_long_poll_ends_when_the_service_stops() {
    let harness = Harness::open();
    let (_, path) = hanging(&harness).await;
    let path = format!("{path}?wait=30s");
    let poll = harness.get(&path);
    tokio::pin!(poll);
    assert!(timeout(Duration::from_secs(1), poll.as_mut()).await.is_err());
    harness.lifecycle.stop();
    let reply = timeout(Duration::from_millis(1), poll).await.unwrap();
    assert_eq!((reply.status.as_u16(), &reply.json["status"]), (200, &json!("running")));
}

#[tokio::test]
async fn what_is_not_a_task_does_not_exist_and_a_malformed_wait_is_refused() {
    let harness = Harness::open();
    for id in ["1", "0", "-1", "x", "9007199254740993", "1.0", "01"] {
        let reply = harness.get(&format!("/v1/tasks/{id}")).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (404, "task_not_found"), "{id}");
    }
    for query in ["wait=soon", "wait=", "wait=-1", "wait=1&wait=2", "await=1"] {
        let reply = harness.get(&format!("/v1/tasks/1?{query}")).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (400, "invalid_request"), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_has_an_unknown_outcome_asked_about_sooner() {
    let harness = Harness::open();
    let (id, path) = hanging(&harness).await;
    harness
        .change(&id, |aggregate, now| {
            aggregate.registrations[0].state = RegistrationState::Unknown;
            let task = &mut aggregate.tasks[0];
            (task.state, task.reason, task.lease) =
                (TaskState::Queued, Some(Reason::OutcomeUnknown), None);
            task.run_at = now + Duration::from_secs(60);
        })
        .await;
    let planned = async || harness.get(&path).await.json["next_attempt_at"].clone();
    let at_first = planned().await;
    harness.get(&format!("{path}?wait=1s")).await;
    assert_eq!(planned().await, at_first, "it was asked about a moment ago");
    harness.clock.advance(Duration::from_secs(5));
    assert_eq!(planned().await, at_first, "who only looks hastens nothing");
    harness.get(&format!("{path}?wait=1s")).await;
    assert_ne!(planned().await, at_first);
}
