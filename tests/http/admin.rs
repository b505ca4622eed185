//! The operator's door.

use crate::fakes::Counting;
use crate::shop::{Reply, Shop, request, send};
use axum::Router;
use order_service::adapters::r#in::admin::{Desk, router};
use order_service::core::ports::systems::{BreakerMode, BreakerState};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

fn admin(shop: &Shop, token: Option<&str>) -> Router {
    router(&Arc::new(Desk {
        systems: shop.guards.iter().map(|guards| guards.clone() as _).collect(),
        metrics: Box::new(|| {
            Box::pin(async { ("text/plain; version=0.0.4", "up 1\n".to_owned()) })
        }),
        readiness: shop.readiness.clone(),
        entropy: Arc::new(Counting::default()),
        token: token.map(Into::into),
    }))
}

async fn put(router: &Router, path: &str, body: &Value) -> Reply {
    send(router, request("PUT", path, &[], Some(body))).await
}

#[tokio::test]
async fn metrics_and_health_are_open_to_everybody() {
    let shop = Shop::open();
    let router = admin(&shop, Some("s3cret"));
    let metrics = send(&router, request("GET", "/metrics", &[], None)).await;
    assert_eq!((metrics.status.as_u16(), &metrics.bytes[..]), (200, &b"up 1\n"[..]));
    assert_eq!(metrics.header("content-type"), "text/plain; version=0.0.4");
    for path in ["/health/live", "/health/ready"] {
        assert_eq!(send(&router, request("GET", path, &[], None)).await.status, 200);
    }
}

#[tokio::test]
async fn everything_else_asks_for_the_token() {
    let shop = Shop::open();
    let router = admin(&shop, Some("s3cret"));
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
    let shop = Shop::open();
    let router = admin(&shop, None);
    let reply = send(&router, request("GET", "/admin/systems", &[], None)).await;
    assert_eq!(reply.json.as_array().unwrap().len(), 4);
    assert_eq!(
        reply.json[0],
        json!({
            "system": "sber",
            "breaker": {
                "state": "closed",
                "mode": "enforce",
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
    let shop = Shop::open();
    let router = admin(&shop, None);
    let mode = || *shop.guards[0].mode.lock().unwrap();
    let path = "/admin/systems/sber/breaker";
    let reply = put(&router, path, &json!({"mode": "forced_open", "reason": "drill"})).await;
    assert_eq!(
        (reply.status.as_u16(), &reply.json["breaker"]["mode"]),
        (200, &json!("forced_open"))
    );
    assert_eq!(mode(), (BreakerMode::ForcedOpen, Some(Duration::from_secs(900))));
    put(&router, path, &json!({"mode": "dry_run"})).await;
    assert_eq!(mode(), (BreakerMode::DryRun, None));
    put(&router, path, &json!({"mode": "off", "ttl": "1h"})).await;
    assert_eq!(mode(), (BreakerMode::Off, Some(Duration::from_secs(3_600))));
}

#[tokio::test]
async fn a_breaker_is_reset_and_what_is_wrong_is_refused() {
    let shop = Shop::open();
    let router = admin(&shop, None);
    *shop.guards[1].state.lock().unwrap() = BreakerState::Open;
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
