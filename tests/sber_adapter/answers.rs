//! The meaning of each answer: what the core hears, whether the alarm rings, and
//! whether the breaker blames the bank.

use crate::payment_partner::calls::{
    EXTERNAL_ID, Method, call, cancellation, order, payment, unknown,
};
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

/// A no and an order in one breath: whether it is alive only the status tells.
#[tokio::test]
async fn a_refusal_that_names_an_order_is_unknown() {
    for protocol in [Protocol::Classic, Protocol::Json] {
        let named = |order_id: Value| {
            [1, 3, 5, 7, 13, 99].map(|code| {
                let body = json!({"errorCode": code, "orderId": order_id, "formUrl": "https://x.example/"});
                Row(json(200, &body), unknown(Unknown::Unreadable), Still, Nobody)
            })
        };
        let rig = rig(protocol).await;
        rig.check(Method::Register, named(json!(EXTERNAL_ID)).into()).await;
        rig.check(Method::Register, named(json!(7)).into()).await;
        let unnamed = json!({"errorCode": 3, "orderId": "", "formUrl": null});
        let refused = Row(json(200, &unnamed), rejected("sber_3", Order), Still, Nobody);
        rig.check(Method::Register, vec![refused]).await;
    }
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
        taken: None,
        decline: None,
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

/// The status of an order that is told so.
async fn told(change: impl FnOnce(&mut Value)) -> PaymentReport {
    let rig = rig(Protocol::Json).await;
    let mut body = known(2);
    change(&mut body);
    rig.stub.then(json(200, &body));
    match rig.adapter.payment_status(&payment(None), &call()).await {
        Ok(Finding::Found(report)) => report,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_part_of_the_money_is_told_as_a_part() {
    let report = told(|body| body["paymentAmountInfo"] = json!({"depositedAmount": 10_000})).await;
    assert_eq!(report.amount, Some(order().amount));
    assert_eq!(report.taken, Some(Money::rub(10_000).unwrap()));
}

#[tokio::test]
async fn what_the_bank_does_not_know_is_strange() {
    for in_doubt in [json!(1018), json!(1019), json!("1018"), json!(151_019), json!(-99)] {
        let report = told(|body| {
            body["orderStatus"] = json!(6);
            body["actionCode"] = in_doubt.clone();
        });
        assert_eq!(report.await.status, ReportedStatus::Strange, "{in_doubt}");
    }
    for word in [7, 9, -1] {
        let report = told(|body| body["orderStatus"] = json!(word)).await;
        assert_eq!(report.status, ReportedStatus::Strange, "{word}");
    }
}

#[tokio::test]
async fn a_number_that_is_not_ours_is_told_as_it_may_be_shown() {
    let number = format!("A\0\u{1b}{}", "x".repeat(10_000));
    let report = told(|body| body["orderNumber"] = json!(number)).await;
    assert!(report.number.as_str().starts_with("A\u{fffd}\u{fffd}xxx"));
    assert!(report.number.as_str().chars().count() <= 64);
}

#[tokio::test]
async fn a_hold_is_reversed_where_a_decline_is_forbidden() {
    for (protocol, forbidden) in [(Protocol::Classic, 7), (Protocol::Json, 5)] {
        let rig = rig(protocol).await;
        rig.stub.then(code(forbidden)).then(json(200, &known(1))).then(code(0));
        let cancelled = rig.adapter.cancel(&cancellation(None), &call()).await;
        assert_eq!(cancelled, Ok(()), "{protocol:?}");
        let asked = rig.stub.asked();
        assert_eq!(asked[2].target(), "/payment/rest/reverse.do");
        assert!(asked[2].body.contains(EXTERNAL_ID), "{}", asked[2].body);
    }
}

#[tokio::test]
async fn nothing_but_our_own_hold_is_reversed() {
    let mut foreign = known(1);
    foreign["orderNumber"] = json!("another");
    for (held, id) in [(known(2), None), (known(0), None), (foreign, None), (known(1), Some("x"))] {
        let rig = rig(Protocol::Classic).await;
        rig.stub.then(code(7)).then(json(200, &held));
        let refused = rig.adapter.cancel(&cancellation(id), &call()).await;
        assert_eq!(refused, Err(unknown(Unknown::PartnerFailed)), "{held}");
        assert_eq!(rig.stub.asked().len(), 2, "{held}");
    }
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
