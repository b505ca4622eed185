//! Sber in both generations.

use order_service::sandbox::PartnerName::Sber;
use order_service::sandbox::{Deed, State};
use serde_json::{Value, json};

use crate::shop::{
    classic, classic_json, client, code, json_generation, json_of, json_registration, order_status,
    register, registration, sandbox,
};

#[tokio::test]
async fn a_classic_registration_answers_with_id_and_form_and_without_a_code() {
    let sandbox = sandbox().await;
    let response = classic(&sandbox, "register.do", &registration("A-01")).await.expect("a reply");
    assert_eq!(response.headers()["content-type"], "text/plain;charset=UTF-8");
    let reply = json_of(response).await;
    assert_eq!(code(&reply), "absent");
    let id = reply["orderId"].as_str().expect("an id");
    assert_eq!(id.len(), 36);
    assert_eq!(reply["formUrl"], format!("{}/pay/sber/{id}", sandbox.public_url()));
}

#[tokio::test]
async fn a_number_is_taken_once_whatever_became_of_its_order() {
    let sandbox = sandbox().await;
    register(&sandbox, "A-01").await;
    for deed in [Deed::FailAttempt, Deed::Expire] {
        sandbox.act(Sber, "A-01", deed).expect("open");
        let again = register(&sandbox, "A-01").await;
        assert_eq!(code(&again), "1");
        assert!(again["orderId"].is_null());
    }
    assert_eq!(sandbox.orders(Sber).len(), 1);
    assert_eq!(sandbox.calls_of(Sber, "A-01").by_operation["register.do"], 3);
}

#[tokio::test]
async fn a_status_by_number_tells_the_bank_s_id() {
    let sandbox = sandbox().await;
    let registered = register(&sandbox, "A-01").await;
    let status = order_status(&sandbox, "A-01").await;
    assert_eq!(status["orderStatus"], 0);
    assert_eq!(status["actionCode"], -100);
    assert_eq!((&status["amount"], &status["currency"]), (&json!(19900), &json!("643")));
    assert_eq!(status["attributes"], json!([{"name": "mdOrder", "value": registered["orderId"]}]));
    let id = registered["orderId"].as_str().expect("id");
    let by_id = classic_json(&sandbox, "getOrderStatusExtended.do", &[("orderId", id)]).await;
    assert_eq!(by_id["orderNumber"], "A-01");
}

#[tokio::test]
async fn an_unknown_order_is_code_6_without_a_status() {
    let sandbox = sandbox().await;
    let classic = order_status(&sandbox, "NONE").await;
    assert_eq!((code(&classic), &classic["attributes"]), ("6", &json!([])));
    assert!(classic.get("orderStatus").is_none());
    let json =
        json_generation(&sandbox, "getOrderStatusExtended.do", json!({"orderNumber": "NONE"}))
            .await;
    assert_eq!(code(&json), "6");
}

#[tokio::test]
async fn a_wrong_password_is_code_5_and_a_missing_one_is_4() {
    let sandbox = sandbox().await;
    let ask = |login: &'static str| {
        let url = format!(
            "{}register.do?{login}&orderNumber=A-01&amount=1&returnUrl=/",
            sandbox.base_url(Sber)
        );
        async move { json_of(client().get(url).send().await.expect("a reply")).await }
    };
    assert_eq!(code(&ask("userName=sandbox-api&password=wrong").await), "5");
    assert_eq!(code(&ask("userName=sandbox-api").await), "4");
    assert_eq!(code(&ask("token=wrong").await), "5");
    assert_eq!(code(&ask("token=sandbox-token&userName=sandbox-api&password=sandbox").await), "5");
    assert_eq!(code(&ask("token=sandbox-token").await), "absent");
}

#[tokio::test]
async fn bad_parameters_have_their_documented_codes() {
    let sandbox = sandbox().await;
    let cases = [
        ("orderNumber=&amount=1&returnUrl=/", "4"),
        ("orderNumber=A-01&amount=1", "4"),
        ("orderNumber=A-01&returnUrl=/", "4"),
        ("orderNumber=A-01&amount=1.5&returnUrl=/", "5"),
        ("orderNumber=A-01&amount=0&returnUrl=/", "5"),
        ("orderNumber=A-01&amount=1&returnUrl=/&currency=840", "3"),
        ("orderNumber=A-01&amount=1&returnUrl=/&language=eng", "5"),
        ("orderNumber=A-01&amount=1&returnUrl=/&jsonParams=no", "5"),
        ("orderNumber=A-01&amount=1&returnUrl=/&features=NONE", "14"),
        ("orderNumber=A-01&amount=1&returnUrl=/&features=VERIFY", "13"),
        ("orderNumber=123456789012345678901234567890123&amount=1&returnUrl=/", "1"),
        (
            "orderNumber=A-01&amount=2&returnUrl=/&orderBundle={\"cartItems\":{\"items\":[{\"itemAmount\":1}]}}",
            "8",
        ),
    ];
    for (query, expected) in cases {
        let pairs: Vec<_> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        assert_eq!(code(&classic_json(&sandbox, "register.do", &pairs).await), expected, "{query}");
    }
    assert!(sandbox.orders(Sber).is_empty());
}

#[tokio::test]
async fn the_json_generation_speaks_in_types() {
    let sandbox = sandbox().await;
    let registered = json_generation(&sandbox, "register.do", json_registration("B-01")).await;
    assert_eq!(code(&registered), "0");
    assert!(registered["formUrl"].is_string());
    let mut amount_as_text = json_registration("B-02");
    amount_as_text["amount"] = json!("19900");
    assert_eq!(code(&json_generation(&sandbox, "register.do", amount_as_text).await), "5");
    let mut nested = json_registration("B-03");
    nested["jsonParams"] = json!({"a": {"b": 1}});
    assert_eq!(code(&json_generation(&sandbox, "register.do", nested).await), "5");
    let both = json!({"orderNumber": "B-01", "orderId": registered["orderId"]});
    assert_eq!(code(&json_generation(&sandbox, "getOrderStatusExtended.do", both).await), "5");
}

#[tokio::test]
async fn both_generations_see_one_ledger() {
    let sandbox = sandbox().await;
    json_generation(&sandbox, "register.do", json_registration("B-01")).await;
    assert_eq!(order_status(&sandbox, "B-01").await["orderStatus"], 0);
    assert_eq!(code(&register(&sandbox, "B-01").await), "1");
}

#[tokio::test]
async fn wrong_paths_and_methods_get_an_empty_page() {
    let sandbox = sandbox().await;
    let lost = classic(&sandbox, "nothing.do", &[]).await.expect("a reply");
    assert_eq!(
        (lost.status().as_u16(), lost.headers()["content-type"].as_bytes()),
        (404, b"text/html".as_slice())
    );
    assert!(lost.bytes().await.expect("a body").is_empty());
    let get = client()
        .get(format!("{}register.do", sandbox.sber_json_base_url()))
        .send()
        .await
        .expect("a reply");
    assert_eq!(get.status(), 405);
}

#[tokio::test]
async fn an_order_expires_by_the_sandbox_s_clock() {
    let sandbox = sandbox().await;
    let [number, amount, url] = registration("A-01");
    classic_json(&sandbox, "register.do", &[number, amount, url, ("sessionTimeoutSecs", "600")])
        .await;
    sandbox.advance(std::time::Duration::from_secs(599));
    assert_eq!(order_status(&sandbox, "A-01").await["orderStatus"], 0);
    sandbox.advance(std::time::Duration::from_secs(2));
    let status = order_status(&sandbox, "A-01").await;
    assert_eq!((&status["orderStatus"], &status["actionCode"]), (&json!(6), &json!(-2007)));
}

#[tokio::test]
async fn three_failed_attempts_decline_an_order_and_two_do_not() {
    let sandbox = sandbox().await;
    register(&sandbox, "A-01").await;
    let statuses: Vec<_> =
        (0..3).map(|_| sandbox.act(Sber, "A-01", Deed::FailAttempt).expect("open").state).collect();
    assert_eq!(statuses, [State::Created, State::Created, State::Declined]);
    assert_eq!(order_status(&sandbox, "A-01").await["actionCode"], -2013);
}

#[tokio::test]
async fn refunds_are_partial_repeatable_and_exhaustible() {
    let sandbox = sandbox().await;
    let id = register(&sandbox, "A-01").await["orderId"].as_str().expect("id").to_owned();
    let refund =
        |amount: &'static str| classic_json_owned(&sandbox, "refund.do", id.clone(), amount);
    assert_eq!(code(&refund("100").await), "7");
    sandbox.act(Sber, "A-01", Deed::Pay).expect("open");
    // The manual's sample shows a number here.
    assert_eq!(refund("9900").await["errorCode"], 0);
    assert_eq!(refund("9900").await["errorCode"], 0);
    assert_eq!(code(&refund("9900").await), "5");
    let status = order_status(&sandbox, "A-01").await;
    assert_eq!(
        (&status["orderStatus"], &status["paymentAmountInfo"]["refundedAmount"]),
        (&json!(4), &json!(19800))
    );
}

async fn classic_json_owned(
    sandbox: &order_service::sandbox::Sandbox,
    method: &str,
    id: String,
    amount: &str,
) -> Value {
    classic_json(sandbox, method, &[("orderId", &id), ("amount", amount)]).await
}

#[tokio::test]
async fn an_external_refund_id_replays() {
    let sandbox = sandbox().await;
    let id = json_generation(&sandbox, "register.do", json_registration("B-01")).await["orderId"]
        .clone();
    sandbox.act(Sber, "B-01", Deed::Pay).expect("open");
    let refund = |amount: i64| json!({"orderId": id, "amount": amount, "jsonParams": {"externalRefundId": "r-1"}});
    assert_eq!(code(&json_generation(&sandbox, "refund.do", refund(100)).await), "0");
    assert_eq!(code(&json_generation(&sandbox, "refund.do", refund(100)).await), "0");
    assert_eq!(code(&json_generation(&sandbox, "refund.do", refund(200)).await), "5");
    assert_eq!(sandbox.order(Sber, "B-01").expect("known").order.refunded, 100);
}

#[tokio::test]
async fn a_reversal_has_one_shot_and_one_day() {
    let sandbox = sandbox().await;
    for number in ["A-01", "A-02"] {
        register(&sandbox, number).await;
    }
    let reverse = |number: &'static str| async {
        let id = sandbox.order(Sber, number).expect("known").order.id;
        classic_json(&sandbox, "reverse.do", &[("orderId", &id)]).await
    };
    assert_eq!(code(&reverse("A-01").await), "7");
    sandbox.act(Sber, "A-01", Deed::Pay).expect("open");
    assert_eq!(code(&reverse("A-01").await), "7", "a reversal that failed is never tried again");
    sandbox.act(Sber, "A-02", Deed::Pay).expect("open");
    sandbox.advance(std::time::Duration::from_secs(24 * 3600));
    assert_eq!(code(&reverse("A-02").await), "7", "another day");
}

#[tokio::test]
async fn a_two_stage_order_is_held_then_captured_or_reversed() {
    let sandbox = sandbox().await;
    let mut ids = Vec::new();
    for number in ["A-01", "A-02"] {
        let reply = classic_json(&sandbox, "registerPreAuth.do", &registration(number)).await;
        ids.push(reply["orderId"].as_str().expect("id").to_owned());
        sandbox.act(Sber, number, Deed::Pay).expect("open");
    }
    assert_eq!(order_status(&sandbox, "A-01").await["orderStatus"], 1);
    let deposit =
        classic_json(&sandbox, "deposit.do", &[("orderId", &ids[0]), ("amount", "0")]).await;
    assert_eq!(deposit["errorCode"], 0);
    assert_eq!(order_status(&sandbox, "A-01").await["orderStatus"], 2);
    assert_eq!(code(&classic_json(&sandbox, "reverse.do", &[("orderId", &ids[1])]).await), "0");
    assert_eq!(order_status(&sandbox, "A-02").await["orderStatus"], 3);
}

#[tokio::test]
async fn decline_ends_an_open_order_and_not_a_paid_one() {
    let sandbox = sandbox().await;
    for number in ["A-01", "A-02"] {
        register(&sandbox, number).await;
    }
    sandbox.act(Sber, "A-02", Deed::Pay).expect("open");
    assert_eq!(code(&classic_json(&sandbox, "decline.do", &[("orderNumber", "A-01")]).await), "0");
    assert_eq!(order_status(&sandbox, "A-01").await["orderStatus"], 6);
    assert_eq!(code(&classic_json(&sandbox, "decline.do", &[("orderNumber", "A-02")]).await), "7");
    assert_eq!(code(&classic_json(&sandbox, "decline.do", &[("orderNumber", "NONE")]).await), "6");
}
