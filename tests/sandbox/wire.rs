//! What happens to connections.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use order_service::sandbox::PartnerName::Sber;
use order_service::sandbox::{CallEnd, Mood};
use serde_json::json;

use crate::shop::{classic, client, order_status, register, registration, sandbox, script};

fn sber_address(sandbox: &order_service::sandbox::Sandbox) -> String {
    sandbox.base_url(Sber).split('/').nth(2).expect("host and port").to_owned()
}

#[tokio::test]
async fn a_partner_that_is_down_refuses_connections_and_comes_back_on_its_port() {
    let sandbox = sandbox().await;
    for _ in 0..3 {
        sandbox.set_mode(Sber, Mood::Down).await;
        let refused = TcpStream::connect(sber_address(&sandbox)).expect_err("refused");
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        sandbox.set_mode(Sber, Mood::Ok).await;
        assert_eq!(order_status(&sandbox, "NONE").await["errorCode"], "6");
    }
    sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn going_down_cuts_the_connections_that_are_open() {
    let sandbox = sandbox().await;
    let mut idle = TcpStream::connect(sber_address(&sandbox)).expect("open");
    idle.write_all(b"GET /health HTTP/1.1\r\nhost: sber\r\n\r\n").expect("sent");
    let mut head = [0; 12];
    idle.read_exact(&mut head).expect("a reply");
    assert_eq!(&head, b"HTTP/1.1 200");
    sandbox.set_mode(Sber, Mood::Down).await;
    idle.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
    match idle.read_to_end(&mut Vec::new()) {
        Ok(_rest) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

#[tokio::test]
async fn a_stalled_entrance_takes_the_connection_and_says_nothing() {
    let sandbox = sandbox().await;
    sandbox.set_mode(Sber, Mood::Stall).await;
    let mut stream = TcpStream::connect(sber_address(&sandbox)).expect("accepted");
    stream.write_all(b"\x16\x03\x01").expect("the beginning of a TLS handshake");
    stream.set_read_timeout(Some(Duration::from_millis(50))).expect("set");
    let silence = stream.read(&mut [0; 1]).expect_err("nothing to read");
    assert!(matches!(silence.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
    assert_eq!(sandbox.call_totals(Sber).calls, 0);
}

#[tokio::test]
async fn a_reset_entrance_ends_every_connection() {
    let sandbox = sandbox().await;
    sandbox.set_mode(Sber, Mood::Reset).await;
    assert!(classic(&sandbox, "register.do", &registration("A-01")).await.is_err());
    assert_eq!(sandbox.call_totals(Sber).calls, 0);
}

#[tokio::test]
async fn a_dropped_reply_leaves_a_committed_order() {
    let sandbox = sandbox().await;
    script(
        &sandbox,
        Sber,
        json!({"when": {"operation": "register.do"}, "then": {"answer": "drop"}}),
    );
    assert!(classic(&sandbox, "register.do", &registration("A-01")).await.is_err());
    let order = sandbox.order(Sber, "A-01").expect("committed");
    assert!(order.order.live);
    let call = &sandbox.calls(Sber)[0];
    assert_eq!((call.outcome, call.committed), (CallEnd::Dropped, true));
}

#[tokio::test]
async fn a_drop_before_the_commit_leaves_nothing() {
    let sandbox = sandbox().await;
    script(&sandbox, Sber, json!({"then": {"commit": false, "answer": "drop"}}));
    assert!(classic(&sandbox, "register.do", &registration("A-01")).await.is_err());
    assert!(sandbox.order(Sber, "A-01").is_none());
    assert_eq!(sandbox.calls_of(Sber, "A-01").by_operation["register.do"], 1);
}

#[tokio::test]
async fn a_connection_can_end_in_the_middle_of_the_body() {
    let sandbox = sandbox().await;
    script(&sandbox, Sber, json!({"then": {"answer": "drop_mid_body"}}));
    let response =
        classic(&sandbox, "register.do", &registration("A-01")).await.expect("the head arrives");
    assert_eq!(response.status(), 200);
    assert!(response.bytes().await.is_err());
    assert!(sandbox.order(Sber, "A-01").is_some());
}

#[tokio::test]
async fn a_hung_call_ends_with_its_caller() {
    let sandbox = sandbox().await;
    sandbox.set_mode(Sber, Mood::HangAfterCommit).await;
    let impatient = client().get(format!(
        "{}register.do?userName=sandbox-api&password=sandbox&orderNumber=A-01&amount=1&returnUrl=/",
        sandbox.base_url(Sber)
    ));
    assert!(
        impatient
            .timeout(Duration::from_millis(100))
            .send()
            .await
            .expect_err("no answer")
            .is_timeout()
    );
    assert!(sandbox.order(Sber, "A-01").is_some());
    while sandbox.call_totals(Sber).in_flight > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(sandbox.calls(Sber)[0].outcome, CallEnd::Hung);
}

#[tokio::test]
async fn a_delayed_call_is_committed_after_its_caller_has_left() {
    let sandbox = sandbox().await;
    script(
        &sandbox,
        Sber,
        json!({"when": {"operation": "register.do"}, "then": {"delay_before_ms": 150}}),
    );
    let url = format!(
        "{}register.do?userName=sandbox-api&password=sandbox&orderNumber=A-01&amount=1&returnUrl=/",
        sandbox.base_url(Sber)
    );
    assert!(client().get(url).timeout(Duration::from_millis(50)).send().await.is_err());
    assert!(sandbox.order(Sber, "A-01").is_none());
    while sandbox.order(Sber, "A-01").is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(register(&sandbox, "A-01").await["errorCode"], "1");
}

#[tokio::test]
async fn a_slow_body_arrives_whole_in_the_end() {
    let sandbox = sandbox().await;
    script(
        &sandbox,
        Sber,
        json!({"then": {"answer": {"drip": {"chunk_bytes": 16, "interval_ms": 1}}}}),
    );
    assert!(register(&sandbox, "A-01").await["orderId"].is_string());
}

#[tokio::test]
async fn a_huge_body_is_as_long_as_asked() {
    let sandbox = sandbox().await;
    script(&sandbox, Sber, json!({"then": {"answer": {"huge": {"bytes": 1_000_000}}}}));
    let response = classic(&sandbox, "register.do", &registration("A-01")).await.expect("a reply");
    assert!(response.bytes().await.expect("all of it").len() >= 1_000_000);
}

#[tokio::test]
async fn health_follows_the_mood_and_can_be_switched_alone() {
    let sandbox = sandbox().await;
    let health = || async {
        client()
            .get(format!("http://{}/health", sber_address(&sandbox)))
            .send()
            .await
            .expect("a reply")
            .status()
    };
    assert_eq!(health().await, 200);
    sandbox.set_mode(Sber, Mood::Error500).await;
    assert_eq!(health().await, 500);
    sandbox.set_mode(Sber, Mood::Ok).await;
    script(
        &sandbox,
        Sber,
        json!({"when": {"operation": "health"}, "then": {"commit": false, "answer": {"http": {"status": 503}}}}),
    );
    assert_eq!(health().await, 503);
    assert!(register(&sandbox, "A-01").await["orderId"].is_string());
}
