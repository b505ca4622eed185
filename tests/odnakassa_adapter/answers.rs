//! The meaning of each answer: what the core hears, whether the alarm rings, and
//! whether the breaker blames the partner.

use crate::payment_partner::calls::{EXTERNAL_ID, Method, call, order, payment, unknown};
use crate::payment_partner::port::Alarm::{Rings, Still};
use crate::payment_partner::port::Blame::{Nobody, Partner};
use crate::payment_partner::port::{Row, rejected};
use crate::payment_partner::{Answer, json};
use crate::{listed, payment_object, problem, rig};
use order_service::core::domain::money::Money;
use order_service::core::domain::timestamp::Timestamp;
use order_service::core::domain::unavailable::Unknown;
use order_service::core::ports::payment::Concern::{Account, Order};
use order_service::core::ports::payment::{
    Finding, PaymentError, PaymentPort, PaymentReport, ReportedStatus,
};
use serde_json::{Value, json};

#[tokio::test]
async fn a_refused_key_concerns_our_account_and_an_unknown_word_nobody() {
    for method in Method::ALL {
        let key_refused = [401, 403].map(|code| {
            let refused = rejected(&format!("http_{code}"), Account);
            Row(problem(code, "unauthorized"), refused, Rings, Nobody)
        });
        rig().await.check(method, key_refused.into()).await;
        let news = Row(problem(400, "news"), unknown(Unknown::Unreadable), Still, Partner);
        rig().await.check(method, vec![news]).await;
    }
}

#[tokio::test]
async fn each_refusal_of_a_registration_has_its_meaning() {
    let rows = vec![
        Row(problem(400, "invalid_request"), rejected("invalid_request", Order), Still, Nobody),
        Row(problem(409, "request_in_progress"), unknown(Unknown::PartnerFailed), Still, Nobody),
        Row(problem(409, "order_id_conflict"), PaymentError::Duplicate, Still, Nobody),
        Row(problem(422, "idempotency_mismatch"), PaymentError::Duplicate, Rings, Nobody),
        Row(problem(409, "news"), unknown(Unknown::Unreadable), Still, Partner),
        Row(Answer::Status(409), unknown(Unknown::Unreadable), Still, Partner),
        Row(Answer::Status(422), unknown(Unknown::Unreadable), Still, Partner),
    ];
    rig().await.check(Method::Register, rows).await;
}

#[tokio::test]
async fn each_refusal_of_a_change_has_its_meaning() {
    for method in [Method::Cancel, Method::Refund] {
        let rows = vec![
            Row(problem(409, "invalid_state"), rejected("invalid_state", Order), Still, Nobody),
            Row(problem(422, "amount_exceeded"), rejected("amount_exceeded", Order), Still, Nobody),
            Row(
                problem(409, "request_in_progress"),
                unknown(Unknown::PartnerFailed),
                Still,
                Nobody,
            ),
            Row(problem(422, "idempotency_mismatch"), unknown(Unknown::Unreadable), Rings, Nobody),
        ];
        rig().await.check(method, rows).await;
    }
}

#[tokio::test]
async fn a_payment_that_is_not_what_we_asked_for_is_asked_for_again() {
    let told = |member: &str, value: Value| {
        let mut body = payment_object("pending");
        body[member] = value;
        json(200, &body)
    };
    let ask = || PaymentError::Duplicate;
    let unreadable = || unknown(Unknown::Unreadable);
    let rows = vec![
        Row(told("status", json!("succeeded")), ask(), Still, Nobody),
        Row(told("status", json!("paused")), ask(), Still, Nobody),
        Row(told("status", json!("authorized")), ask(), Still, Nobody),
        Row(told("amount", json!({"value": "1.00", "currency": "RUB"})), ask(), Still, Nobody),
        Row(told("amount", Value::Null), ask(), Still, Nobody),
        Row(told("amount", json!(199.0)), ask(), Still, Nobody),
        Row(told("order_id", json!("another")), unreadable(), Still, Partner),
        Row(told("confirmation", Value::Null), unreadable(), Still, Partner),
        Row(told("id", json!("../x")), unreadable(), Still, Partner),
        Row(told("confirmation", json!("https://kassa.example/")), unreadable(), Still, Partner),
        Row(told("status", json!(1)), unreadable(), Still, Partner),
    ];
    rig().await.check(Method::Register, rows).await;
}

#[tokio::test]
async fn a_payment_that_is_over_at_its_creation_is_a_refusal() {
    let mut body = payment_object("canceled");
    body["canceled"] = json!({"reason": "declined"});
    let over = Row(json(201, &body), rejected("canceled", Order), Still, Nobody);
    body["amount"]["value"] = json!("1.00");
    let another = Row(json(201, &body), PaymentError::Duplicate, Still, Nobody);
    rig().await.check(Method::Register, vec![over, another]).await;
}

/// A no and a payment in one breath: whether it is alive only a question tells.
#[tokio::test]
async fn a_refusal_that_names_a_payment_is_unknown() {
    let refusals = [(400, "invalid_request"), (401, "unauthorized"), (409, "invalid_state")];
    let in_error = |code| json!({"error": {"code": code, "payment_id": "pay_1"}});
    let beside = |code| json!({"error": {"code": code}, "id": "pay_1"});
    let mut rows = vec![];
    for (status, code) in refusals {
        for body in [in_error(code), beside(code)] {
            rows.push(Row(json(status, &body), unknown(Unknown::Unreadable), Still, Nobody));
        }
    }
    let conflict = json(409, &in_error("order_id_conflict"));
    rows.push(Row(conflict, PaymentError::Duplicate, Still, Nobody));
    rig().await.check(Method::Register, rows).await;
}

#[tokio::test]
async fn a_status_that_is_not_known_is_strange_and_a_hold_a_hold() {
    for (word, status) in
        [("paused", ReportedStatus::Strange), ("authorized", ReportedStatus::Held)]
    {
        let rig = rig().await;
        rig.stub.then(listed(word));
        let found = rig.adapter.payment_status(&payment(None), &call()).await;
        let Ok(Finding::Found(report)) = found else { panic!("{found:?}") };
        assert_eq!(report.status, status, "{word}");
    }
}

#[tokio::test]
async fn a_report_carries_what_the_core_compares() {
    let rig = rig().await;
    rig.stub.then(listed("succeeded"));
    let found = rig.adapter.payment_status(&payment(None), &call()).await;
    let report = PaymentReport {
        number: order().number,
        external_id: Some(EXTERNAL_ID.to_owned()),
        amount: Some(Money::rub(19_900).unwrap()),
        taken: None,
        decline: None,
        status: ReportedStatus::Paid,
        refunded: Some(Money::rub(5_000).unwrap()),
        form_url: Some("https://kassa.example/pay/1".to_owned()),
        expires_at: Timestamp::parse_rfc3339("2025-11-30T11:13:20Z"),
    };
    assert_eq!(found, Ok(Finding::Found(report)));

    rig.stub.then(json(200, &json!({"items": []})));
    let found = rig.adapter.payment_status(&payment(None), &call()).await;
    assert_eq!(found, Ok(Finding::NotFound));
}
