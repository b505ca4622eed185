//! The guards before every call.

use crate::payment_partner::port::{
    Method, call, call_within, not_executed, order, payment, quick_retry, unknown,
};
use crate::payment_partner::{Answer, status};
use crate::{listed, rig, rig_with};
use order_service::adapters::outbound::http_client::base_url;
use order_service::core::domain::provider::Provider;
use order_service::core::domain::unavailable::{NotExecuted, Unknown};
use order_service::core::ports::payment::PaymentPort;
use std::time::Duration;

#[tokio::test]
async fn an_open_breaker_sends_nothing_through_any_method() {
    rig().await.an_open_breaker_sends_nothing().await;
}

#[tokio::test]
async fn a_full_bulkhead_sends_nothing_through_any_method() {
    rig().await.a_full_bulkhead_sends_nothing().await;
}

#[tokio::test]
async fn a_partner_that_refuses_connections_was_never_asked() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let rig = rig_with(|config| config.base_url = base_url(&url).unwrap()).await;
    for method in Method::ALL {
        let refused = method.call(&rig.adapter, &call()).await;
        assert_eq!(refused, Err(not_executed(Provider::OdnaKassa, NotExecuted::Unreachable)));
    }
    assert_eq!(rig.adapter.breaker().snapshot().window.failures, 4);
}

#[tokio::test]
async fn a_callers_deadline_blames_nobody() {
    let rig = rig_with(|config| {
        config.guards.timeouts.read = Duration::from_secs(5);
        config.guards.timeouts.call = Duration::from_secs(9);
    })
    .await;
    rig.stub.will(Answer::Hang);
    let cut = rig.adapter.register(&order(), &call_within(Duration::from_millis(500))).await;
    assert_eq!(cut, Err(unknown(Unknown::DeadlinePassed)));
    assert_eq!(rig.adapter.breaker().snapshot().window.calls, 0);
}

#[tokio::test]
async fn only_queries_are_tried_again() {
    let rig = rig_with(|config| config.guards.retry = quick_retry()).await;
    rig.stub.will(status(500)).will(Answer::Cut).will(listed("pending"));
    assert!(rig.adapter.payment_status(&payment(None), &call()).await.is_ok());
    assert_eq!(rig.stub.asked().len(), 3);
    for method in [Method::Register, Method::Cancel, Method::Refund] {
        rig.stub.will(status(500));
        assert!(method.call(&rig.adapter, &call()).await.is_err());
        assert_eq!(rig.stub.asked().len(), 1);
    }
}

#[tokio::test]
async fn good_polls_of_the_workers_do_not_dilute_the_window() {
    let rig = rig().await;
    rig.stub.will(listed("pending")).will(status(500));
    let poll = call().in_background();
    rig.adapter.payment_status(&payment(None), &poll).await.unwrap();
    assert_eq!(rig.adapter.breaker().snapshot().window.calls, 0);
    rig.adapter.payment_status(&payment(None), &poll).await.unwrap_err();
    assert_eq!(rig.adapter.breaker().snapshot().window.failures, 1);
}
