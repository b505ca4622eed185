//! The control API and the payment pages, over HTTP as people and other processes use them.

use order_service::sandbox::PartnerName::{OdnaKassa, Sber};
use order_service::sandbox::{Sandbox, State};
use reqwest::Method;
use serde_json::{Value, json};

use crate::shop::{Shop, client, json_of, kassa, order_status, payment, register, sandbox};

async fn control(sandbox: &Sandbox, method: Method, path: &str, body: Value) -> (u16, Value) {
    let request = client().request(method, format!("{}/control{path}", sandbox.control_url()));
    let response = request.body(body.to_string()).send().await.expect("a reply");
    let status = response.status().as_u16();
    let body = response.bytes().await.expect("a body");
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn a_mode_is_one_word_and_visible() {
    let sandbox = sandbox().await;
    let (status, mode) =
        control(&sandbox, Method::PUT, "/sber/mode", json!({"mode": "down"})).await;
    assert_eq!((status, &mode["mode"]), (200, &json!("down")));
    assert_eq!(
        control(&sandbox, Method::GET, "", json!({})).await.1["partners"]["sber"]["mode"]["mode"],
        "down"
    );
    assert_eq!(control(&sandbox, Method::PUT, "/sber/mode", json!({"mode": "odd"})).await.0, 400);
    assert_eq!(control(&sandbox, Method::POST, "/reset", json!({})).await.0, 204);
    assert_eq!(order_status(&sandbox, "NONE").await["errorCode"], "6");
}

#[tokio::test]
async fn faults_are_added_listed_and_taken_back() {
    let sandbox = sandbox().await;
    let fault = json!({"when": {"operation": "register.do", "times": 1}, "then": {"answer": {"error_code": 7}}});
    let (status, added) = control(&sandbox, Method::POST, "/sber/faults", fault.clone()).await;
    assert_eq!(status, 201);
    assert_eq!(register(&sandbox, "A-01").await["errorCode"], "7");
    let listed = control(&sandbox, Method::GET, "/sber/faults", json!({})).await.1;
    assert_eq!(
        (&listed["items"][0]["fired"], &listed["items"][0]["when"]["times"]),
        (&json!(1), &json!(1))
    );
    let path = format!("/sber/faults/{}", added["id"]);
    assert_eq!(control(&sandbox, Method::DELETE, &path, json!({})).await.0, 204);
    assert_eq!(control(&sandbox, Method::DELETE, &path, json!({})).await.0, 404);
    assert_eq!(control(&sandbox, Method::POST, "/sber/faults", json!({"them": {}})).await.0, 400);
}

#[tokio::test]
async fn the_ledger_tells_orders_calls_and_history() {
    let sandbox = sandbox().await;
    register(&sandbox, "A-01").await;
    register(&sandbox, "A-01").await;
    kassa(&sandbox, "", "k-1", &payment("A-02")).await.expect("a reply");
    assert_eq!(control(&sandbox, Method::POST, "/sber/orders/A-01/pay", json!({})).await.0, 200);
    assert_eq!(control(&sandbox, Method::POST, "/sber/orders/A-01/expire", json!({})).await.0, 409);
    let ledger = control(&sandbox, Method::GET, "/ledger", json!({})).await.1;
    let order = &ledger["sber"]["orders"][0];
    assert_eq!(
        (&order["number"], &order["amount"], &order["state"]),
        (&json!("A-01"), &json!(19900), &json!("paid"))
    );
    assert_eq!(order["calls"]["by_operation"]["register.do"], 2);
    assert_eq!(order["history"][1]["cause"], "paid");
    assert_eq!(ledger["odnakassa"]["orders"][0]["number"], "A-02");
    let one = control(&sandbox, Method::GET, "/sber/orders/A-01", json!({})).await.1;
    assert_eq!(&one, order);
    let calls = control(&sandbox, Method::GET, "/sber/calls?number=A-01", json!({})).await.1;
    assert_eq!(
        (&calls["items"][0]["said"], &calls["items"][1]["said"]),
        (&json!("ok"), &json!("errorCode 1"))
    );
    assert_eq!(
        control(&sandbox, Method::GET, "/catalog/ledger", json!({})).await.1["calls"]["calls"],
        0
    );
}

#[tokio::test]
async fn the_clock_is_advanced_in_words() {
    let sandbox = sandbox().await;
    register(&sandbox, "A-01").await;
    let (status, clock) =
        control(&sandbox, Method::POST, "/clock", json!({"advance": "21m"})).await;
    assert_eq!((status, &clock["ahead_ms"]), (200, &json!(21 * 60 * 1000)));
    assert_eq!(sandbox.order(Sber, "A-01").expect("known").order.state, State::Expired);
}

#[tokio::test]
async fn callbacks_are_held_and_released_in_reverse() {
    let sandbox = sandbox().await;
    let mut shop = Shop::open(&sandbox, &[]).await;
    assert_eq!(
        control(&sandbox, Method::PUT, "/sber/callbacks", json!({"hold": true})).await.0,
        200
    );
    register(&sandbox, "A-01").await;
    for deed in ["fail_attempt", "pay"] {
        control(&sandbox, Method::POST, &format!("/sber/orders/A-01/{deed}"), json!({})).await;
    }
    assert!(shop.has_none());
    let released =
        control(&sandbox, Method::POST, "/sber/callbacks/release", json!({"order": "reversed"}))
            .await
            .1;
    assert_eq!(released["released"], 2);
    let statuses = [shop.next().await.parameter("status"), shop.next().await.parameter("status")];
    assert_eq!(statuses, [Some("1".into()), Some("0".into())]);
}

#[tokio::test]
async fn callbacks_go_missing_or_repeat_the_one_before() {
    let sandbox = sandbox().await;
    let mut shop = Shop::open(&sandbox, &[]).await;
    for number in ["A-01", "A-02", "A-03"] {
        register(&sandbox, number).await;
    }
    control(&sandbox, Method::PUT, "/sber/callbacks", json!({"send": false})).await;
    control(&sandbox, Method::POST, "/sber/orders/A-01/pay", json!({})).await;
    control(&sandbox, Method::PUT, "/sber/callbacks", json!({"repeat_previous": true})).await;
    control(&sandbox, Method::POST, "/sber/orders/A-02/pay", json!({})).await;
    let mut numbers =
        [shop.next().await.parameter("orderNumber"), shop.next().await.parameter("orderNumber")];
    numbers.sort();
    assert_eq!(
        numbers,
        [Some("A-01".into()), Some("A-02".into())],
        "the missing one comes late, by the repeat"
    );
}

#[tokio::test]
async fn a_callback_of_any_content_can_be_sent_about_any_order() {
    let sandbox = sandbox().await;
    let mut shop = Shop::open(&sandbox, &[]).await;
    let foreign = json!({"number": "X-01", "amount": 5});
    assert_eq!(control(&sandbox, Method::POST, "/sber/orders", foreign.clone()).await.0, 201);
    assert_eq!(control(&sandbox, Method::POST, "/sber/orders", foreign).await.0, 409);
    let lie = json!({"kind": "deposited", "policy": {"bad_signature": true}});
    assert_eq!(control(&sandbox, Method::POST, "/sber/orders/X-01/callback", lie).await.0, 204);
    assert_eq!(shop.next().await.parameter("orderNumber").as_deref(), Some("X-01"));
    assert_eq!(sandbox.order(Sber, "X-01").expect("known").order.state, State::Created);
}

#[tokio::test]
async fn the_payer_pays_on_a_page_without_scripts() {
    let sandbox = sandbox().await;
    let form_url = register(&sandbox, "A-01").await["formUrl"].as_str().expect("a form").to_owned();
    let page = client().get(&form_url).send().await.expect("a page").text().await.expect("a body");
    assert!(
        page.contains(r#"<form method="post">"#)
            && page.contains("199,00 ₽")
            && !page.contains("<script")
    );
    for _twice in 0..2 {
        let pressed = press(&form_url, "pay").await;
        let id = form_url.rsplit('/').next().expect("an id");
        assert_eq!(pressed, (303, format!("https://shop.example/return?orderId={id}")));
    }
    assert_eq!(sandbox.order(Sber, "A-01").expect("known").order.state, State::Paid);
}

#[tokio::test]
async fn a_declined_payer_returns_and_a_failed_attempt_stays() {
    let sandbox = sandbox().await;
    let form_url = register(&sandbox, "A-01").await["formUrl"].as_str().expect("a form").to_owned();
    assert_eq!(press(&form_url, "fail_attempt").await, (303, String::new()));
    assert_eq!(press(&form_url, "refund").await.0, 400);
    assert_eq!(press(&form_url, "decline").await.0, 303);
    assert_eq!(sandbox.order(Sber, "A-01").expect("known").order.state, State::Declined);
    let created =
        json_of(kassa(&sandbox, "", "k-1", &payment("B-01")).await.expect("a reply")).await;
    let url = created["confirmation"]["confirmation_url"].as_str().expect("a form");
    assert_eq!(press(url, "pay").await, (303, "https://shop.example/return".into()));
    assert_eq!(sandbox.order(OdnaKassa, "B-01").expect("known").order.state, State::Paid);
}

async fn press(form_url: &str, action: &str) -> (u16, String) {
    let request =
        client().post(form_url).header("content-type", "application/x-www-form-urlencoded");
    let response = request.body(format!("action={action}")).send().await.expect("a reply");
    let location = response
        .headers()
        .get("location")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    (response.status().as_u16(), location.to_owned())
}
