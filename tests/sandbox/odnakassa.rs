//! OdnaKassa, protocol version 1.

use std::time::Duration;

use order_service::sandbox::PartnerName::OdnaKassa;
use order_service::sandbox::{Deed, Mood};
use serde_json::{Value, json};

use crate::shop::{Shop, client, json_of, kassa, kassa_get, payment, sandbox, script};

async fn create(
    sandbox: &order_service::sandbox::Sandbox,
    key: &str,
    body: &Value,
) -> (u16, Value) {
    let response = kassa(sandbox, "", key, body).await.expect("a reply");
    (response.status().as_u16(), json_of(response).await)
}

#[tokio::test]
async fn a_payment_is_created_once_per_key_and_replayed() {
    let sandbox = sandbox().await;
    let (status, first) = create(&sandbox, "k-1", &payment("A-01")).await;
    assert_eq!((status, &first["status"], &first["version"]), (201, &json!("pending"), &json!(1)));
    let id = first["id"].as_str().expect("an id");
    assert_eq!((id.len(), &id[..4]), (30, "pay_"));
    assert_eq!(
        first["confirmation"]["confirmation_url"],
        format!("{}/pay/odnakassa/{id}", sandbox.public_url())
    );
    sandbox.act(OdnaKassa, "A-01", Deed::Pay).expect("open");
    let replay = kassa(&sandbox, "", "k-1", &payment("A-01")).await.expect("a reply");
    assert_eq!(
        (replay.status().as_u16(), replay.headers()["idempotent-replayed"].as_bytes()),
        (200, b"true".as_slice())
    );
    let replay = json_of(replay).await;
    assert_eq!(
        (&replay["id"], &replay["status"]),
        (&first["id"], &json!("succeeded")),
        "the current status"
    );
    assert!(replay.get("confirmation").is_none());
}

#[tokio::test]
async fn a_key_with_another_body_is_a_mismatch_and_an_order_id_with_another_key_a_conflict() {
    let sandbox = sandbox().await;
    let (_, first) = create(&sandbox, "k-1", &payment("A-01")).await;
    let mut dearer = payment("A-01");
    dearer["amount"]["value"] = json!("200.00");
    let (status, reply) = create(&sandbox, "k-1", &dearer).await;
    assert_eq!((status, &reply["error"]["code"]), (422, &json!("idempotency_mismatch")));
    let (status, reply) = create(&sandbox, "k-2", &payment("A-01")).await;
    assert_eq!((status, &reply["error"]["code"]), (409, &json!("order_id_conflict")));
    assert_eq!(reply["error"]["payment_id"], first["id"]);
    assert_eq!(sandbox.orders(OdnaKassa).len(), 1);
}

#[tokio::test]
async fn a_key_is_kept_for_a_day() {
    let sandbox = sandbox().await;
    create(&sandbox, "k-1", &payment("A-01")).await;
    sandbox.advance(Duration::from_secs(24 * 3600 + 1));
    assert_eq!(create(&sandbox, "k-1", &payment("A-01")).await.0, 409);
    assert_eq!(create(&sandbox, "k-1", &payment("A-02")).await.0, 201);
}

#[tokio::test]
async fn the_same_key_at_work_is_in_progress() {
    let sandbox = sandbox().await;
    let slow = json!({"when": {"times": 1}, "then": {"delay_before_ms": 200}});
    script(&sandbox, OdnaKassa, slow);
    let body = payment("A-01");
    let first = kassa(&sandbox, "", "k-1", &body);
    let second = async {
        while sandbox.call_totals(OdnaKassa).in_flight == 0 {
            tokio::task::yield_now().await;
        }
        kassa(&sandbox, "", "k-1", &body).await.expect("a reply")
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(
        (second.status().as_u16(), second.headers().contains_key("retry-after")),
        (409, true)
    );
    assert_eq!(json_of(second).await["error"]["code"], "request_in_progress");
    assert_eq!(first.expect("a reply").status(), 201);
}

#[tokio::test]
async fn a_refused_call_uses_up_no_key() {
    let sandbox = sandbox().await;
    let bad_gateway = json!({"http": {"status": 502}});
    script(
        &sandbox,
        OdnaKassa,
        json!({"when": {"times": 1}, "then": {"commit": false, "answer": bad_gateway}}),
    );
    assert_eq!(kassa(&sandbox, "", "k-1", &payment("A-01")).await.expect("a reply").status(), 502);
    assert_eq!(create(&sandbox, "k-1", &payment("A-01")).await.0, 201);
}

#[tokio::test]
async fn bad_requests_name_their_fault() {
    let sandbox = sandbox().await;
    let changes = [
        ("order_id", json!("with space")),
        ("amount", json!({"value": "1", "currency": "RUB"})),
        ("amount", json!({"value": "0.00", "currency": "RUB"})),
        ("amount", json!({"value": "1.00", "currency": "USD"})),
        ("return_url", json!("ftp://x")),
        ("expires_at", json!("2020-01-01T00:00:00Z")),
        ("metadata", json!({"a": 1})),
        ("capture", json!("yes")),
    ];
    for (member, value) in changes {
        let mut body = payment("A-01");
        body[member] = value.clone();
        let (status, reply) = create(&sandbox, "k-1", &body).await;
        assert_eq!(
            (status, &reply["error"]["code"]),
            (400, &json!("invalid_request")),
            "{member} {value}"
        );
    }
    assert_eq!(create(&sandbox, "not a key", &payment("A-01")).await.0, 400);
    assert!(sandbox.orders(OdnaKassa).is_empty());
}

#[tokio::test]
async fn an_unknown_api_key_is_401() {
    let sandbox = sandbox().await;
    let url = format!("{}/v1/payments?order_id=A-01", sandbox.base_url(OdnaKassa));
    let response = client()
        .get(url)
        .bearer_auth("wrong")
        .header("x-request-id", "r-1")
        .send()
        .await
        .expect("a reply");
    assert_eq!(
        (response.status().as_u16(), response.headers()["x-request-id"].as_bytes()),
        (401, b"r-1".as_slice())
    );
    assert_eq!(json_of(response).await["error"]["request_id"], "r-1");
}

#[tokio::test]
async fn a_payment_is_found_by_id_and_by_order_id() {
    let sandbox = sandbox().await;
    let (_, created) = create(&sandbox, "k-1", &payment("A-01")).await;
    let by_id = kassa_get(&sandbox, &format!("/{}", created["id"].as_str().expect("id"))).await;
    assert_eq!(json_of(by_id).await, created);
    assert_eq!(
        json_of(kassa_get(&sandbox, "?order_id=A-01").await).await["items"],
        json!([created])
    );
    assert_eq!(json_of(kassa_get(&sandbox, "?order_id=NONE").await).await["items"], json!([]));
    assert_eq!(kassa_get(&sandbox, "/pay_none").await.status(), 404);
}

#[tokio::test]
async fn holds_are_captured_or_cancelled_and_payments_refunded() {
    let sandbox = sandbox().await;
    let mut body = payment("A-01");
    body["capture"] = json!(false);
    let id = create(&sandbox, "k-1", &body).await.1["id"].as_str().expect("id").to_owned();
    let act = async |path: &str, key: &str, body: Value| {
        let response =
            kassa(&sandbox, &format!("/{id}/{path}"), key, &body).await.expect("a reply");
        (response.status().as_u16(), json_of(response).await)
    };
    assert_eq!(act("capture", "k-2", json!({})).await.1["error"]["code"], "invalid_state");
    sandbox.act(OdnaKassa, "A-01", Deed::Pay).expect("open");
    assert_eq!(act("capture", "k-2", json!({})).await.1["status"], "succeeded");
    assert_eq!(act("cancel", "k-3", json!({})).await.1["error"]["code"], "invalid_state");
    let refund =
        |value: &str| json!({"refund_id": "r-1", "amount": {"value": value, "currency": "RUB"}});
    let (status, refunded) = act("refunds", "k-4", refund("100.00")).await;
    assert_eq!((status, &refunded["refunded"]["value"]), (201, &json!("100.00")));
    assert_eq!(act("refunds", "k-4", refund("100.00")).await.0, 200);
    assert_eq!(
        act("refunds", "k-5", refund("99.00")).await.1["error"]["code"],
        "refund_id_conflict"
    );
    assert_eq!(sandbox.order(OdnaKassa, "A-01").expect("known").order.refunded, 10_000);
}

#[tokio::test]
async fn an_expired_payment_says_so() {
    let sandbox = sandbox().await;
    create(&sandbox, "k-1", &payment("A-01")).await;
    sandbox.advance(Duration::from_secs(20 * 60 + 1));
    let items = json_of(kassa_get(&sandbox, "?order_id=A-01").await).await;
    assert_eq!(items["items"][0]["canceled"], json!({"reason": "expired"}));
}

#[tokio::test]
async fn a_webhook_carries_a_signature_and_the_object() {
    let sandbox = sandbox().await;
    let mut shop = Shop::open(&sandbox, &[500]).await;
    create(&sandbox, "k-1", &payment("A-01")).await;
    sandbox.act(OdnaKassa, "A-01", Deed::Pay).expect("open");
    let (failed, repeated) = (shop.next().await, shop.next().await);
    assert_eq!((failed.method.as_str(), failed.uri.path()), ("POST", "/v1/webhooks/odnakassa"));
    assert!(failed.headers["odnakassa-signature"].to_str().expect("text").starts_with("t="));
    let event = repeated.json();
    assert_eq!(event["id"], failed.json()["id"], "a repeat is the same event");
    assert_eq!(
        (&event["type"], &event["data"]["version"]),
        (&json!("payment.succeeded"), &json!(2))
    );
}

#[tokio::test]
async fn rejecting_is_400_and_reads_go_on() {
    let sandbox = sandbox().await;
    create(&sandbox, "k-1", &payment("A-01")).await;
    sandbox.set_mode(OdnaKassa, Mood::Reject).await;
    let (status, reply) = create(&sandbox, "k-2", &payment("A-02")).await;
    assert_eq!((status, &reply["error"]["code"]), (400, &json!("invalid_request")));
    assert_eq!(kassa_get(&sandbox, "?order_id=A-01").await.status(), 200);
}

#[tokio::test]
async fn an_expiry_is_as_far_ahead_as_the_caller_meant_it() {
    let sandbox = sandbox().await;
    sandbox.advance(Duration::from_secs(3600));
    let soon = time::OffsetDateTime::now_utc() + Duration::from_secs(20 * 60);
    let mut body = payment("A-01");
    body["expires_at"] =
        json!(soon.format(&time::format_description::well_known::Rfc3339).expect("a time"));
    assert_eq!(create(&sandbox, "k-1", &body).await.0, 201);
    sandbox.advance(Duration::from_secs(19 * 60));
    assert!(sandbox.order(OdnaKassa, "A-01").expect("known").order.live);
    sandbox.advance(Duration::from_secs(2 * 60));
    assert!(!sandbox.order(OdnaKassa, "A-01").expect("known").order.live);
}
