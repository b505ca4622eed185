//! Faults that only make sense at a bank: what becomes of orders, and how codes are written.

use order_service::sandbox::PartnerName::Sber;
use order_service::sandbox::{Mood, State};
use serde_json::json;

use crate::shop::{classic, code, order_status, register, registration, sandbox, script};

#[tokio::test]
async fn an_error_code_comes_in_every_shape_after_the_commit() {
    let sandbox = sandbox().await;
    let cases = [
        ("string", json!("7"), "/errorCode"),
        ("number", json!(7), "/errorCode"),
        ("capitalised", json!("7"), "/ErrorCode"),
        ("nested", json!(7), "/error/code"),
    ];
    for (number, (shape, code, place)) in ["A-01", "A-02", "A-03", "A-04"].into_iter().zip(cases) {
        let then = json!({"answer": {"error_code": 7}, "error_code_as": shape});
        script(&sandbox, Sber, json!({"when": {"number": number}, "then": then}));
        assert_eq!(register(&sandbox, number).await.pointer(place), Some(&code), "{shape}");
        assert!(sandbox.order(Sber, number).is_some());
    }
    script(
        &sandbox,
        Sber,
        json!({"when": {"number": "A-05"}, "then": {"error_code_as": "absent"}}),
    );
    assert!(register(&sandbox, "A-05").await["orderId"].is_string());
    assert!(order_status(&sandbox, "A-05").await.get("errorCode").is_none());
}

#[tokio::test]
async fn a_committed_order_can_be_invisible_then_in_progress() {
    let sandbox = sandbox().await;
    script(&sandbox, Sber, json!({"then": {"order": {"read_lag": 2, "acs_polls": 1}}}));
    register(&sandbox, "A-01").await;
    assert_eq!(code(&order_status(&sandbox, "A-01").await), "6");
    assert_eq!(code(&order_status(&sandbox, "A-01").await), "6");
    assert_eq!(order_status(&sandbox, "A-01").await["orderStatus"], 5);
    assert_eq!(order_status(&sandbox, "A-01").await["orderStatus"], 0);
}

#[tokio::test]
async fn an_amount_can_be_committed_wrong_and_a_number_be_another_system_s() {
    let sandbox = sandbox().await;
    script(
        &sandbox,
        Sber,
        json!({"when": {"number": "A-01"}, "then": {"order": {"amount_delta": -1}}}),
    );
    script(
        &sandbox,
        Sber,
        json!({"when": {"number": "A-02"}, "then": {"order": {"collide": true}}}),
    );
    register(&sandbox, "A-01").await;
    assert_eq!(order_status(&sandbox, "A-01").await["amount"], 19899);
    assert_eq!(code(&register(&sandbox, "A-02").await), "1");
    assert_eq!(order_status(&sandbox, "A-02").await["amount"], 20000);
    assert!(sandbox.order(Sber, "A-02").expect("known").order.foreign);
}

#[tokio::test]
async fn an_order_is_paid_by_itself_after_a_while() {
    let sandbox = sandbox().await;
    script(&sandbox, Sber, json!({"then": {"answer": "drop", "order": {"pay_after_ms": 60_000}}}));
    assert!(classic(&sandbox, "register.do", &registration("A-01")).await.is_err());
    sandbox.advance(std::time::Duration::from_secs(61));
    assert_eq!(sandbox.order(Sber, "A-01").expect("known").order.state, State::Paid);
}

#[tokio::test]
async fn rejecting_refuses_new_orders_only() {
    let sandbox = sandbox().await;
    register(&sandbox, "A-01").await;
    sandbox.set_mode(Sber, Mood::Reject).await;
    assert_eq!(code(&register(&sandbox, "A-02").await), "3");
    assert_eq!(order_status(&sandbox, "A-01").await["orderStatus"], 0);
}

#[tokio::test]
async fn a_throttled_call_is_429_with_a_wait_and_not_executed() {
    let sandbox = sandbox().await;
    sandbox.set_mode(Sber, Mood::Throttle).await;
    let response = classic(&sandbox, "register.do", &registration("A-01")).await.expect("a reply");
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"1".parse().expect("a header"))
    );
    assert!(sandbox.order(Sber, "A-01").is_none());
}
