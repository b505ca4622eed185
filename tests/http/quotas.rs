//! How often one client may ask.

use crate::harness::{Harness, Options, Reply, one_item, request};
use crate::tokens::{SECRET, token};
use axum::extract::ConnectInfo;
use order_service::adapters::inbound::api::auth::{Auth, ExpectedClaims, KeySource, TokensConfig};
use order_service::adapters::observe::traffic::{Priority, ShedReason};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::advance;

/// Two at once, and then one a second.
const SPARSE: Options = Options {
    queueing: true,
    strict: false,
    max_inflight: 64,
    body_timeout: Duration::from_secs(5),
    quota: [1, 2],
    allowed_origin: None,
};

async fn from(harness: &Harness, peer: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = request("GET", path, headers, None);
    request.extensions_mut().insert(ConnectInfo::<SocketAddr>(peer.parse().unwrap()));
    harness.send(request).await
}

fn guarded() -> Harness {
    let keys = KeySource::secret(&SECRET.into()).unwrap();
    let tokens = TokensConfig { keys, expected: ExpectedClaims::default() };
    Harness::guarded(SPARSE, Auth::new(Some(tokens)))
}

#[tokio::test(start_paused = true)]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let harness = Harness::with(Options { quota: [1, 3], ..Options::default() });
    for _ in 0..3 {
        assert_eq!(harness.get("/v1/products/p-1").await.status, 200);
    }
    let calls = harness.catalog.calls.lock().unwrap().len();
    for _ in 0..2 {
        let reply = harness.post("/v1/orders", &one_item()).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (429, "rate_limited"));
        assert_eq!(reply.header("retry-after"), "1");
    }
    assert_eq!(harness.catalog.calls.lock().unwrap().len(), calls, "no work was done");
    assert_eq!(
        *harness.traffic.shed.lock().unwrap(),
        [(Priority::Normal, ShedReason::RateLimit); 2]
    );
    advance(Duration::from_secs(1)).await;
    assert_eq!(harness.post("/v1/orders", &one_item()).await.status, 201);
    assert_eq!(harness.get("/v1/orders").await.status, 429);
}

#[tokio::test(start_paused = true)]
async fn health_documents_and_webhooks_are_never_too_many() {
    let harness = Harness::with(SPARSE);
    while harness.get("/v1/orders").await.status != 429 {}
    for path in ["/health/live", "/health/ready", "/openapi.json", "/docs"] {
        assert_eq!(harness.get(path).await.status, 200, "{path}");
    }
    for path in ["/v1/webhooks/sber", "/v1/webhooks/odnakassa"] {
        assert_ne!(harness.act(path, &[]).await.status, 429, "{path}");
    }
    assert_eq!(harness.get("/v1/orders").await.status, 429);
}

#[tokio::test(start_paused = true)]
async fn an_anonymous_client_is_where_it_connects_from() {
    let harness = Harness::with(SPARSE);
    let ask = async |peer: &str| from(&harness, peer, "/v1/orders", &[]).await.status.as_u16();
    assert_eq!([ask("192.0.2.1:1000").await, ask("192.0.2.1:2000").await], [200, 200]);
    assert_eq!(ask("192.0.2.1:3000").await, 429);
    assert_eq!(ask("[::ffff:192.0.2.1]:1").await, 429);
    assert_eq!(ask("192.0.2.2:1000").await, 200);
    assert_eq!(ask("[2001:db8::1]:1").await, 200);
    assert_eq!(ask("[2001:db8::ffff:2]:1").await, 200);
    assert_eq!(ask("[2001:db8::3]:1").await, 429);
    assert_eq!(ask("[2001:db8:0:1::1]:1").await, 200);
    // Anybody can write that header.
    for claimed in ["203.0.113.1", "203.0.113.2"] {
        let headers = [("x-forwarded-for", claimed), ("forwarded", "for=203.0.113.9")];
        let reply = from(&harness, "192.0.2.1:4000", "/v1/orders", &headers).await;
        assert_eq!(reply.status, 429, "{claimed}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_a_token_is_who_it_says_wherever_it_comes_from() {
    let harness = guarded();
    let ask = async |peer: &str, sub: &str| {
        let bearer = format!("Bearer {}", token(sub, "orders"));
        let reply = from(&harness, peer, "/v1/orders", &[("authorization", &bearer)]).await;
        reply.status.as_u16()
    };
    assert_eq!([ask("192.0.2.1:1", "c-1").await, ask("192.0.2.2:1", "c-1").await], [200, 200]);
    assert_eq!(ask("192.0.2.3:1", "c-1").await, 429);
    assert_eq!(ask("192.0.2.1:1", "c-2").await, 200);
}

#[tokio::test(start_paused = true)]
async fn who_is_refused_spends_what_is_its_addresss_and_nobodys_who_has_a_token() {
    let harness = guarded();
    let peer = "192.0.2.1:1";
    let forged = format!("Bearer {}x", token("c-1", "orders"));
    let reply = from(&harness, peer, "/v1/orders", &[("authorization", &forged)]).await;
    assert_eq!(reply.status, 401);
    assert_eq!(from(&harness, peer, "/v1/orders", &[]).await.status, 401);
    assert_eq!(from(&harness, peer, "/v1/orders", &[]).await.status, 429);
    assert_eq!(from(&harness, "192.0.2.2:1", "/v1/orders", &[]).await.status, 401);
    let good = format!("Bearer {}", token("c-1", "orders"));
    assert_eq!(from(&harness, peer, "/v1/orders", &[("authorization", &good)]).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_how_much_it_has_left() {
    let harness = Harness::with(Options { quota: [2, 3], ..Options::default() });
    for (left, whole_in) in [(2, 1), (1, 1), (0, 2), (0, 1)] {
        let reply = harness.get("/v1/orders").await;
        assert_eq!(reply.header("ratelimit-policy"), "\"default\";q=3;w=2");
        assert_eq!(reply.header("ratelimit"), format!("\"default\";r={left};t={whole_in}"));
        assert_eq!(reply.status.as_u16() == 429, (left, whole_in) == (0, 1));
    }
    assert_eq!(harness.get("/health/live").await.header("ratelimit"), "");
    let unlimited = Harness::open();
    assert_eq!(unlimited.get("/v1/orders").await.header("ratelimit"), "");
}
