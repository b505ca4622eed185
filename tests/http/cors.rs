//! Which pages of other sites may call from a browser.

use crate::harness::{Harness, Options, one_item};
use axum::body::Body;
use http::Request;

const SHOP: &str = "https://shop.example";
const HOST: (&str, &str) = ("host", "localhost:8080");

fn harness(allowed_origin: Option<&'static str>) -> Harness {
    Harness::with(Options { allowed_origin, ..Options::default() })
}

fn preflight(origin: &str) -> Request<Body> {
    Request::options("/v1/orders")
        .header("host", "localhost:8080")
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,idempotency-key")
        .body(Body::empty())
        .unwrap()
}

#[tokio::test]
async fn no_page_is_let_in_unless_it_is_named() {
    let closed = harness(None);
    let reply = closed.send(preflight(SHOP)).await;
    assert_eq!(reply.header("access-control-allow-origin"), "");
    let open = harness(Some(SHOP));
    let reply = open.send(preflight(SHOP)).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("access-control-allow-origin"), SHOP);
    let allowed = reply.header("access-control-allow-headers");
    assert!(allowed.contains("idempotency-key") && allowed.contains("authorization"), "{allowed}");
    let reply = open.send(preflight("https://evil.example")).await;
    assert_eq!(reply.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn a_named_page_may_order_and_read_the_answer_and_the_refusals() {
    let open = harness(Some(SHOP));
    for (origin, status) in [(SHOP, 201), ("https://evil.example", 403)] {
        let headers = [HOST, ("origin", origin), ("sec-fetch-site", "cross-site")];
        let reply = open.post_with("/v1/orders", &one_item(), &headers).await;
        assert_eq!(reply.status.as_u16(), status, "{origin}");
    }
    let reply = open.get_with("/v1/orders/x", &[HOST, ("origin", SHOP)]).await;
    assert_eq!(reply.status, 404);
    assert_eq!(reply.header("access-control-allow-origin"), SHOP);
    assert!(reply.header("access-control-expose-headers").contains("retry-after"));
    // Cookies are never asked for.
    assert_eq!(reply.header("access-control-allow-credentials"), "");
}

#[tokio::test]
async fn everybody_is_no_name() {
    let reading = harness(Some("*"));
    let reply = reading.get_with("/v1/orders", &[HOST, ("origin", SHOP)]).await;
    assert_eq!(reply.header("access-control-allow-origin"), "*");
    // Where nobody is asked for a token, only a page that is named may change anything.
    let headers = [HOST, ("origin", SHOP)];
    assert_eq!(reading.post_with("/v1/orders", &one_item(), &headers).await.status, 403);
}
