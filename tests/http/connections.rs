//! Real sockets: what a connection sees.

use crate::fakes::Behaviour;
use crate::harness::Harness;
use order_service::adapters::inbound::http_kit::serve::serve;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

async fn listen(harness: &Harness) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let end = CancellationToken::new();
    let patience = Duration::from_secs(5);
    let serving = tokio::spawn(serve(listener, harness.router.clone(), end.clone(), patience));
    (address, end, serving)
}

/// Everything until the server closes.
async fn talk(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_client_that_sends_too_much_still_sees_why_it_was_refused() {
    let harness = Harness::open();
    let (address, ..) = listen(&harness).await;
    let head = "POST /v1/orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
        Connection: close\r\n";
    let length = format!("{head}Content-Length: 300000\r\n\r\n{}", "x".repeat(300_000));
    let chunk = format!("{:x}\r\n{}\r\n", 50_000, "x".repeat(50_000));
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(4));
    for request in [length, chunked] {
        let answer = talk(address, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.contains("payload_too_large"), "{answer}");
    }
}

#[tokio::test]
async fn a_head_request_gets_headers_only() {
    let harness = Harness::open();
    let (address, ..) = listen(&harness).await;
    let head = b"HEAD /v1/orders/17 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let answer = talk(address, head).await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn at_the_end_a_request_in_flight_is_answered_and_idle_connections_are_closed() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.sber.behave(Behaviour::Hangs);
    let (address, end, serving) = listen(&harness).await;
    let mut idle = TcpStream::connect(address).await.unwrap();
    let wait = "Prefer: wait=1\r\n";
    let confirm = format!("POST /v1/orders/{id}/confirm HTTP/1.1\r\nHost: x\r\n{wait}\r\n");
    let mut busy = TcpStream::connect(address).await.unwrap();
    busy.write_all(confirm.as_bytes()).await.unwrap();
    while harness.traffic.began.load(std::sync::atomic::Ordering::Relaxed) < 2 {
        tokio::task::yield_now().await;
    }
    end.cancel();
    let mut answer = String::new();
    busy.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    assert_eq!(idle.read(&mut [0; 1]).await.unwrap(), 0);
    serving.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
