//! The operators' listener.

use crate::fakes::{Behaviour, CountingEntropy};
use crate::harness::{Harness, Reply, request, send};
use axum::Router;
use order_service::adapters::inbound::admin::{AdminState, Exposition, router};
use order_service::adapters::observe::log_control::{BadFilter, LogControl, LogFilter};
use order_service::adapters::observe::metrics::BuildInfo;
use order_service::adapters::observe::service_mode::ModeWatch;
use order_service::adapters::resilience::breaker::{BreakerMode, BreakerState};
use order_service::core::domain::unavailable::System;
use order_service::core::use_cases::operate_tasks::OperateTasks;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// A log whose every filter but `bad` is one.
#[derive(Debug, Default)]
struct FakeLog(Mutex<Option<(String, Duration)>>);

impl LogControl for FakeLog {
    fn describe(&self) -> LogFilter {
        let (filter, ends_in) = self.0.lock().unwrap().clone().unzip();
        let configured = "info".to_owned();
        LogFilter { filter: filter.unwrap_or_else(|| configured.clone()), configured, ends_in }
    }

    fn set(&self, filter: &str, ttl: Duration) -> Result<(), BadFilter> {
        if filter == "bad" {
            return Err(BadFilter);
        }
        *self.0.lock().unwrap() = Some((filter.to_owned(), ttl));
        Ok(())
    }
}

pub fn admin(harness: &Harness, token: Option<&str>) -> Router {
    router(&Arc::new(AdminState {
        systems: harness.guards.iter().map(|guards| guards.clone() as _).collect(),
        operate_tasks: OperateTasks { engine: harness.engine.clone() },
        detached: TaskTracker::new(),
        metrics: Box::new(|exposition| {
            Box::pin(async move {
                match exposition {
                    Exposition::Text => ("text/plain; version=0.0.4", "up 1\n".to_owned()),
                    Exposition::OpenMetrics => {
                        ("application/openmetrics-text", "# EOF\n".to_owned())
                    }
                }
            })
        }),
        readiness: harness.readiness.clone(),
        entropy: Arc::new(CountingEntropy::default()),
        tokens: token.map(|token| ("operator".to_owned(), token.into())).into_iter().collect(),
        audit: harness.store.clone(),
        records: harness.store.clone(),
        mode: Arc::new(ModeWatch::new(
            harness.store.clone(),
            harness.engine.gateway.hold().clone(),
        )),
        log: Arc::new(FakeLog::default()),
        build: BuildInfo { version: "1", commit: "abc", rustc: "2", built_at: "3" },
        instance: "test-1".to_owned(),
    }))
}

async fn put(router: &Router, path: &str, body: &Value) -> Reply {
    send(router, request("PUT", path, &[], Some(body))).await
}

#[tokio::test]
async fn metrics_and_health_are_open_to_everybody() {
    let harness = Harness::open();
    let router = admin(&harness, Some("s3cret"));
    let metrics = send(&router, request("GET", "/metrics", &[], None)).await;
    assert_eq!((metrics.status.as_u16(), &metrics.bytes[..]), (200, &b"up 1\n"[..]));
    assert_eq!(metrics.header("content-type"), "text/plain; version=0.0.4");
    assert_eq!(metrics.header("vary"), "accept");
    let wish = [("accept", "application/openmetrics-text; version=1.0.0")];
    let metrics = send(&router, request("GET", "/metrics", &wish, None)).await;
    assert_eq!(metrics.header("content-type"), "application/openmetrics-text");
    for path in ["/health/live", "/health/ready"] {
        assert_eq!(send(&router, request("GET", path, &[], None)).await.status, 200);
    }
}

#[tokio::test]
async fn everything_else_asks_for_the_token() {
    let harness = Harness::open();
    let router = admin(&harness, Some("s3cret"));
    for headers in
        [vec![], vec![("authorization", "Bearer wrong")], vec![("authorization", "s3cret")]]
    {
        let reply = send(&router, request("GET", "/admin/systems", &headers, None)).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (401, "unauthenticated"));
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
    let right = [("authorization", "Bearer s3cret")];
    assert_eq!(send(&router, request("GET", "/admin/systems", &right, None)).await.status, 200);
    assert_eq!(send(&router, request("GET", "/admin/nothing", &[], None)).await.status, 404);
}

#[tokio::test]
async fn the_systems_are_shown_as_they_stand() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let reply = send(&router, request("GET", "/admin/systems", &[], None)).await;
    assert_eq!(reply.json.as_array().unwrap().len(), System::ALL.len());
    assert_eq!(
        reply.json[0],
        json!({
            "system": "sber",
            "breaker": {
                "state": "closed",
                "mode": "enforce",
                "mode_ends_in_ms": null,
                "window": {
                    "calls": 4, "failures": 1, "slow": 0, "failure_rate": 0.25, "slow_rate": 0.0,
                },
                "retry_after_ms": 1_500,
            },
            "bulkhead": {"max_concurrent": 20, "in_flight": 2, "waiting": 1, "rejected_total": 3},
            "config": {"CB_MODE": "enforce"},
        })
    );
}

#[tokio::test]
async fn a_forced_mode_without_a_time_limit_gets_one() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let mode = || *harness.guards[0].mode.lock().unwrap();
    let path = "/admin/systems/sber/breaker";
    let reply = put(&router, path, &json!({"mode": "forced_open", "reason": "drill"})).await;
    let breaker = &reply.json["breaker"];
    assert_eq!((reply.status.as_u16(), &breaker["mode"]), (200, &json!("forced_open")));
    assert_eq!(breaker["mode_ends_in_ms"], 900_000);
    assert_eq!(mode(), (BreakerMode::ForcedOpen, Some(Duration::from_secs(900))));
    put(&router, path, &json!({"mode": "dry_run"})).await;
    assert_eq!(mode(), (BreakerMode::DryRun, None));
    put(&router, path, &json!({"mode": "off", "ttl": "1h"})).await;
    assert_eq!(mode(), (BreakerMode::Off, Some(Duration::from_secs(3_600))));
}

#[tokio::test]
async fn a_breaker_is_reset_and_what_is_wrong_is_refused() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    *harness.guards[1].state.lock().unwrap() = BreakerState::Open;
    let reset = "/admin/systems/odnakassa/breaker/reset";
    let reply = send(&router, request("POST", reset, &[], None)).await;
    assert_eq!((reply.status.as_u16(), &reply.json["breaker"]["state"]), (200, &json!("closed")));
    let reply = put(&router, "/admin/systems/sber/breaker", &json!({"mode": "maybe"})).await;
    assert_eq!((reply.status.as_u16(), reply.pointers()), (400, vec!["/mode"]));
    let reply = put(&router, "/admin/systems/paypal/breaker", &json!({"mode": "off"})).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (404, "not_found"));
    let reply = send(&router, request("DELETE", "/admin/systems", &[], None)).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (405, "method_not_allowed"));
}

/// An order whose registration nobody executed, and its task.
async fn stuck(harness: &Harness) -> (String, i64) {
    let id = harness.order().await;
    harness.every_provider_behaves(Behaviour::BreakerOpen);
    let task = harness.confirm(&id).await.json["task_id"].as_i64().unwrap();
    (id, task)
}

#[tokio::test]
async fn tasks_are_listed_newest_first_page_by_page() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let mut tasks = Vec::new();
    for _ in 0..3 {
        tasks.insert(0, stuck(&harness).await.1);
    }
    let get = async |path: String| send(&router, request("GET", &path, &[], None)).await;
    let first = get("/admin/tasks?status=queued&limit=2".to_owned()).await;
    assert_eq!(first.status, 200);
    let cursor = first.json["next_cursor"].as_str().unwrap();
    let second = get(format!("/admin/tasks?status=queued&limit=2&cursor={cursor}")).await;
    assert!(second.json["next_cursor"].is_null());
    let ids = |reply: &Reply| -> Vec<i64> {
        let items = reply.json["items"].as_array().unwrap().iter();
        items.map(|task| task["task_id"].as_i64().unwrap()).collect()
    };
    assert_eq!([ids(&first), ids(&second)].concat(), tasks);
    assert!(ids(&get("/admin/tasks?status=review".to_owned()).await).is_empty());
    for bad in ["status=lost", "limit=0", "cursor=x", "kind=all"] {
        assert_eq!(get(format!("/admin/tasks?{bad}")).await.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn a_task_is_given_up_once_and_a_final_one_not_at_all() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let (id, task) = stuck(&harness).await;
    let path = |verb: &str| format!("/admin/tasks/{task}/{verb}");
    let retried = send(&router, request("POST", &path("retry"), &[], None)).await;
    assert_eq!((retried.status.as_u16(), &retried.json["status"]), (200, &json!("queued")));
    let why = json!({"reason": "the customer called"});
    let given_up = send(&router, request("POST", &path("cancel"), &[], Some(&why))).await;
    assert_eq!((given_up.status.as_u16(), &given_up.json["status"]), (200, &json!("cancelled")));
    assert_eq!(harness.get(&format!("/v1/orders/{id}")).await.json["status"], "new");
    for verb in ["retry", "cancel"] {
        let reply = send(&router, request("POST", &path(verb), &[], None)).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (409, "operation_refused"), "{verb}");
    }
    let actions: Vec<_> =
        harness.store.store.deeds().into_iter().map(|entry| entry.action).collect();
    assert_eq!(actions, ["retry", "cancel"]);
}

#[tokio::test]
async fn an_unknown_outcome_is_resolved_with_a_reason_and_not_without() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let (_, task) = stuck(&harness).await;
    let path = format!("/admin/tasks/{task}/resolve");
    for (body, pointers) in [
        (json!({}), vec!["/finding", "/reason"]),
        (json!({"finding": "maybe", "reason": " "}), vec!["/finding", "/reason"]),
        (json!({"finding": "executed", "reason": "x", "by": "me"}), vec!["/by"]),
    ] {
        let reply = send(&router, request("POST", &path, &[], Some(&body))).await;
        assert_eq!((reply.status.as_u16(), reply.pointers()), (400, pointers), "{body}");
    }
    let body = json!({"finding": "not_executed", "reason": "asked the bank"});
    let reply = send(&router, request("POST", &path, &[], Some(&body))).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (409, "operation_refused"));
    let body = json!({"finding": "executed", "number": "OLD-01", "reason": "asked the bank"});
    let reply = send(&router, request("POST", &path, &[], Some(&body))).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (409, "operation_refused"));
    let body = json!({"finding": "executed", "number": 1, "reason": "asked the bank"});
    let reply = send(&router, request("POST", &path, &[], Some(&body))).await;
    assert_eq!((reply.status.as_u16(), reply.pointers()), (400, vec!["/number"]));
    let reply = send(&router, request("POST", "/admin/tasks/7/retry", &[], None)).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (404, "task_not_found"));
}

#[tokio::test]
async fn an_operator_sees_by_which_numbers_the_payment_systems_know_an_order() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let id = harness.order().await;
    assert_eq!(harness.confirm(&id).await.status, 200);
    let path = format!("/admin/orders/{id}");
    let reply = send(&router, request("GET", &path, &[], None)).await;
    assert_eq!((reply.status.as_u16(), &reply.json["status"]), (200, &json!("awaiting_payment")));
    let made = &reply.json["registrations"][0];
    assert_eq!((&made["provider"], &made["state"]), (&json!("sber"), &json!("live")));
    assert!(made["number"].as_str().unwrap().ends_with("-01"), "{made}");
    assert_eq!(made["amount"], reply.json["total"]);
    assert!(!String::from_utf8(reply.bytes).unwrap().contains("pay.example"), "no payer's address");
    let nobody = "/admin/orders/0193b3c4-5d6e-7f80-91a2-b3c4d5e6f708";
    let reply = send(&router, request("GET", nobody, &[], None)).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (404, "order_not_found"));
}

#[tokio::test]
async fn while_it_is_read_only_nothing_is_placed_and_no_money_moves() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let (order, paid) = (harness.order().await, harness.paid_order().await);
    let wish = json!({"mode": "read_only", "reason": "a restore", "ttl": "1h"});
    let said = put(&router, "/admin/mode", &wish).await;
    assert_eq!((said.status.as_u16(), &said.json["mode"]), (200, &json!("read_only")));
    assert_eq!((&said.json["by"], &said.json["reason"]), (&json!("operator"), &json!("a restore")));
    assert!(said.json["until"].is_string());
    let calls = harness.sber.registered.lock().unwrap().len();
    let key = [("idempotency-key", "k-1")];
    for path in [
        "/v1/orders".to_owned(),
        format!("/v1/orders/{order}/confirm"),
        format!("/v1/orders/{order}/cancel"),
        format!("/v1/orders/{paid}/refund"),
    ] {
        let refused = harness.post_with(&path, &json!({}), &key).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (503, "maintenance"), "{path}");
        assert!(!refused.header("retry-after").is_empty(), "{path}");
    }
    let read = harness.get(&format!("/v1/orders/{order}")).await;
    assert_eq!((read.status.as_u16(), &read.json["status"]), (200, &json!("new")));
    assert_eq!(harness.get("/v1/orders?customer_id=c-1").await.status, 200);
    assert_eq!(harness.sber.registered.lock().unwrap().len(), calls);
    let audit = send(&router, request("GET", "/admin/audit", &[], None)).await;
    let newest = &audit.json["items"][0];
    assert_eq!(
        (&newest["action"], &newest["order_id"]),
        (&json!("service_mode:read_only"), &Value::Null)
    );

    let normal = json!({"mode": "normal", "reason": "restored"});
    assert_eq!(put(&router, "/admin/mode", &normal).await.status, 200);
    assert_eq!(harness.confirm(&order).await.status, 200);
}

/// What was accepted before waits, and goes on afterwards.
#[tokio::test]
async fn a_task_that_would_move_money_waits_for_the_end_of_a_maintenance() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    harness.every_provider_behaves(Behaviour::BreakerOpen);
    let order = harness.order().await;
    assert_eq!(harness.confirm(&order).await.status, 202);
    harness.every_provider_behaves(Behaviour::default());
    put(&router, "/admin/mode", &json!({"mode": "read_only", "reason": "a restore"})).await;
    let calls = harness.sber.registered.lock().unwrap().len();
    harness.work().await;
    assert_eq!(harness.sber.registered.lock().unwrap().len(), calls, "nothing is sent");
    let shown = harness.get(&format!("/v1/orders/{order}")).await;
    assert_eq!(shown.json["status"], "registering");
}

#[tokio::test]
async fn a_mode_needs_a_word_that_is_known_and_a_reason() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    for bad in [
        json!({}),
        json!({"mode": "read_only"}),
        json!({"mode": "read_only", "reason": " "}),
        json!({"mode": "closed", "reason": "x"}),
        json!({"mode": "normal", "reason": "x", "ttl": "soon"}),
        json!({"mode": "normal", "reason": "x", "why": "y"}),
    ] {
        let refused = put(&router, "/admin/mode", &bad).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (400, "invalid_request"), "{bad}");
    }
    let shown = send(&router, request("GET", "/admin/mode", &[], None)).await;
    assert_eq!((shown.status.as_u16(), &shown.json["mode"]), (200, &json!("normal")));
}

#[tokio::test]
async fn the_log_tells_more_for_a_while() {
    let harness = Harness::open();
    let router = admin(&harness, None);
    let changed = put(&router, "/admin/log", &json!({"filter": "debug"})).await;
    let expected = json!({"filter": "debug", "configured": "info", "ttl_ms": 900_000});
    assert_eq!((changed.status.as_u16(), &changed.json), (200, &expected));
    let wish = json!({"filter": "trace", "ttl": "30s", "reason": "a hunt"});
    assert_eq!(put(&router, "/admin/log", &wish).await.json["ttl_ms"], 30_000);
    for bad in [json!({}), json!({"filter": "bad"}), json!({"filter": "debug", "ttl": 5})] {
        assert_eq!(put(&router, "/admin/log", &bad).await.status, 400, "{bad}");
    }
    let shown = send(&router, request("GET", "/admin/log", &[], None)).await;
    assert_eq!(shown.json["filter"], "trace");
}

#[tokio::test]
async fn what_runs_here_is_told() {
    let harness = Harness::open();
    let told = send(&admin(&harness, None), request("GET", "/info", &[], None)).await;
    let expected = json!({"version": "1", "commit": "abc", "rustc": "2", "built_at": "3", "instance": "test-1"});
    assert_eq!((told.status.as_u16(), told.json), (200, expected));
}
