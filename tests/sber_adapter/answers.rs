//! The meaning of each answer: what the core hears, whether the alarm rings, and
//! whether the breaker blames the bank.

use crate::payment_partner::calls::{EXTERNAL_ID, Method, call, order, payment, unknown};
use crate::payment_partner::port::Alarm::{Rings, Still};
use crate::payment_partner::port::Blame::{Nobody, Partner};
use crate::payment_partner::port::{Row, rejected};
use crate::payment_partner::{Answer, json};
use crate::{code, known, rig};
use order_service::adapters::outbound::sber::Protocol;
use order_service::core::domain::money::Money;
use order_service::core::domain::unavailable::Unknown;
use order_service::core::payment::registration::Ending;
use order_service::core::ports::payment::Concern::{Account, Order};
use order_service::core::ports::payment::{
    Finding, PaymentError, PaymentPort, PaymentReport, ReportedStatus,
};
use serde_json::{Value, json};

#[tokio::test]
async fn a_refusal_by_status_counts_where_it_has_a_code_of_the_banks_own() {
    for method in Method::ALL {
        let rows = vec![
            Row(json(400, &json!({})), unknown(Unknown::Unreadable), Still, Partner),
            Row(json(400, &json!({"errorCode": 0})), unknown(Unknown::Unreadable), Still, Partner),
        ];
        rig(Protocol::Classic).await.check(method, rows).await;
    }
    let refused = json(400, &json!({"errorCode": 4, "errorMessage": "secret"}));
    let rows = vec![Row(refused, rejected("sber_4", Order), Still, Nobody)];
    rig(Protocol::Classic).await.check(Method::Register, rows).await;
}

#[tokio::test]
async fn each_code_of_a_classic_registration_has_its_meaning() {
    let mut rows = vec![
        Row(code(1), PaymentError::Duplicate, Still, Nobody),
        Row(code(5), rejected("sber_5", Account), Rings, Nobody),
        Row(code(7), unknown(Unknown::PartnerFailed), Still, Partner),
        Row(code(13), rejected("sber_13", Account), Rings, Nobody),
    ];
    for refused in [2, 3, 4, 6, 8, 12, 14] {
        let error = rejected(&format!("sber_{refused}"), Order);
        rows.push(Row(code(refused), error, Still, Nobody));
    }
    for undocumented in [9, 15, 99, -1] {
        let error = unknown(Unknown::Unreadable);
        rows.push(Row(code(undocumented), error, Still, Partner));
    }
    rig(Protocol::Classic).await.check(Method::Register, rows).await;
}

#[tokio::test]
async fn each_code_of_a_json_registration_has_its_meaning() {
    let mut rows = vec![
        Row(code(1), PaymentError::Duplicate, Still, Nobody),
        Row(code(7), unknown(Unknown::PartnerFailed), Still, Partner),
    ];
    for refused in [2, 3, 4, 6, 8, 9, 14, 15] {
        let error = rejected(&format!("sber_{refused}"), Order);
        rows.push(Row(code(refused), error, Still, Nobody));
    }
    for undocumented in [12, 13, 99] {
        let error = unknown(Unknown::Unreadable);
        rows.push(Row(code(undocumented), error, Still, Partner));
    }
    rig(Protocol::Json).await.check(Method::Register, rows).await;
}

#[tokio::test]
async fn a_success_without_its_payload_is_no_success() {
    let mut rows = vec![];
    for body in [
        json!({}),
        json!({"errorCode": "0"}),
        json!({"errorCode": 0, "orderId": EXTERNAL_ID}),
        json!({"errorCode": 0, "formUrl": "https://bank.example/"}),
        json!({"orderId": 1, "formUrl": 2}),
        json!({"orderId": EXTERNAL_ID, "formUrl": "not a page"}),
    ] {
        let error = unknown(Unknown::Unreadable);
        rows.push(Row(json(200, &body), error, Still, Partner));
    }
    rig(Protocol::Classic).await.check(Method::Register, rows).await;
}

#[tokio::test]
async fn the_json_refusal_that_may_hide_an_order_is_looked_behind_once() {
    let rig = rig(Protocol::Json).await;
    for (look, error) in [
        (json(200, &known(0)), PaymentError::Duplicate),
        (code(6), rejected("sber_5", Order)),
        (code(5), rejected("sber_5", Account)),
        (code(7), unknown(Unknown::PartnerFailed)),
        (Answer::Status(429), unknown(Unknown::Unreadable)),
        (Answer::Reset, unknown(Unknown::Broken)),
    ] {
        let told = format!("{look:?}");
        rig.stub.then(code(5)).then(look);
        assert_eq!(rig.adapter.register(&order(), &call()).await, Err(error), "{told}");
        assert_eq!(rig.stub.asked().len(), 2, "{told}");
    }
    assert_eq!(rig.alarms.rung(), 1);
}

#[tokio::test]
async fn each_code_of_a_query_has_its_meaning() {
    let indeterminate = || unknown(Unknown::Unreadable);
    let failing = || unknown(Unknown::PartnerFailed);
    let classic = vec![
        Row(code(5), rejected("sber_5", Account), Rings, Nobody),
        Row(code(7), failing(), Still, Partner),
        Row(code(1), indeterminate(), Still, Nobody),
    ];
    rig(Protocol::Classic).await.check(Method::PaymentStatus, classic).await;
    let json_rows = vec![
        Row(code(5), indeterminate(), Still, Nobody),
        Row(code(9), indeterminate(), Still, Nobody),
        Row(code(7), failing(), Still, Partner),
    ];
    rig(Protocol::Json).await.check(Method::PaymentStatus, json_rows).await;
    for protocol in [Protocol::Classic, Protocol::Json] {
        let rig = rig(protocol).await;
        rig.stub.then(code(6));
        let found = rig.adapter.payment_status(&payment(None), &call()).await;
        assert_eq!(found, Ok(Finding::NotFound));
    }
}

#[tokio::test]
async fn a_report_carries_what_the_core_compares() {
    let rig = rig(Protocol::Classic).await;
    rig.stub.then(json(200, &known(4)));
    let found = rig.adapter.payment_status(&payment(None), &call()).await;
    let report = PaymentReport {
        number: order().number,
        external_id: Some(EXTERNAL_ID.to_owned()),
        amount: Some(Money::rub(19_900).unwrap()),
        status: ReportedStatus::Paid,
        refunded: Some(Money::rub(5_000).unwrap()),
        form_url: None,
        expires_at: None,
    };
    assert_eq!(found, Ok(Finding::Found(report)));

    let mut expired = known(6);
    expired["actionCode"] = json!(-2007);
    expired["amount"] = json!("many");
    rig.stub.then(json(200, &expired));
    let Ok(Finding::Found(report)) = rig.adapter.payment_status(&payment(None), &call()).await
    else {
        panic!("a report")
    };
    assert_eq!(report.status, ReportedStatus::Over(Ending::Expired));
    assert_eq!(report.amount, None, "nonsense is a mismatch, never 0");
}

#[tokio::test]
async fn a_report_without_number_or_state_is_unreadable() {
    let mut rows = vec![];
    for missing in ["orderNumber", "orderStatus"] {
        let mut body = known(2);
        body[missing] = Value::Null;
        let error = unknown(Unknown::Unreadable);
        rows.push(Row(json(200, &body), error, Still, Partner));
    }
    rig(Protocol::Classic).await.check(Method::PaymentStatus, rows).await;
}

#[tokio::test]
async fn each_code_of_a_change_has_its_meaning() {
    let forbidden = || unknown(Unknown::PartnerFailed);
    for method in [Method::Cancel, Method::Refund] {
        let classic = vec![
            Row(code(5), rejected("sber_5", Account), Rings, Nobody),
            Row(code(6), rejected("sber_6", Order), Still, Nobody),
            Row(code(7), forbidden(), Still, Nobody),
            Row(code(99), unknown(Unknown::Unreadable), Still, Partner),
        ];
        rig(Protocol::Classic).await.check(method, classic).await;
        let json_rows = vec![
            Row(code(5), rejected("sber_5", Order), Still, Nobody),
            Row(code(7), forbidden(), Still, Nobody),
        ];
        rig(Protocol::Json).await.check(method, json_rows).await;
    }
}
