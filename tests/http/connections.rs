//! Real sockets: what a connection sees.

use crate::fakes::Behaviour;
use crate::harness::{Harness, Options};
use order_service::adapters::inbound::http_kit::connections::{ConnectionLimits, HttpServer};
use order_service::adapters::observe::traffic::{
    ConnectionEvent, RefusedConnection, TimedOutConnection,
};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(200);
const USUAL: ConnectionLimits =
    ConnectionLimits { max: 100, per_address: 100, idle: LONG, write: LONG };

async fn listen(harness: &Harness) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
    listen_within(harness, USUAL).await
}

async fn listen_within(
    harness: &Harness,
    limits: ConnectionLimits,
) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let end = CancellationToken::new();
    let server = HttpServer {
        router: harness.router.clone(),
        limits,
        lifecycle: harness.lifecycle.clone(),
        traffic: harness.traffic.clone(),
        end: end.clone(),
        patience: Duration::from_secs(5),
    };
    (address, end, tokio::spawn(server.serve(listener)))
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
    let head = "POST /v1/orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
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
    let head = b"HEAD /v1/orders/17 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
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
    let confirm = format!("POST /v1/orders/{id}/confirm HTTP/1.1\r\nHost: localhost\r\n{wait}\r\n");
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

/// What an HTTP/2 client says first: the preface, and settings under which no reply may be sent.
fn http2_hello() -> Vec<u8> {
    let mut hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    hello.extend([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
    hello
}

/// `GET /openapi.json` on a stream.
fn http2_get(stream: u8) -> Vec<u8> {
    let path = b"/openapi.json";
    let mut block = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    block.extend(path);
    let mut frame = vec![0, 0, u8::try_from(block.len()).unwrap(), 1, 5, 0, 0, 0, stream];
    frame.extend(block);
    frame
}

fn timed_out(harness: &Harness, reason: TimedOutConnection) -> usize {
    let events = harness.traffic.connections.lock().unwrap();
    events.iter().filter(|event| **event == ConnectionEvent::TimedOut(reason)).count()
}

#[tokio::test]
async fn silence_ends_a_connection_whatever_was_said_before() {
    let harness = Harness::open();
    let limits = ConnectionLimits { idle: SHORT, ..USUAL };
    let (address, ..) = listen_within(&harness, limits).await;
    let said: [&[u8]; 5] = [
        b"",
        b"PRI * HT",
        &http2_hello(),
        b"GET / HTTP/1.1\r\nHo",
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ];
    for words in said {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(words).await.unwrap();
        let mut answer = Vec::new();
        let closing = stream.read_to_end(&mut answer);
        let closed = tokio::time::timeout(Duration::from_secs(10), closing).await;
        assert!(closed.is_ok(), "still open after {:?}", String::from_utf8_lossy(words));
    }
    assert_eq!(timed_out(&harness, TimedOutConnection::Idle), said.len());
}

#[tokio::test]
async fn a_reply_that_nobody_takes_ends_its_connection() {
    let harness = Harness::open();
    let limits = ConnectionLimits { write: SHORT, ..USUAL };
    let (address, ..) = listen_within(&harness, limits).await;
    let mut http2 = TcpStream::connect(address).await.unwrap();
    http2.write_all(&[http2_hello(), http2_get(1), http2_get(3)].concat()).await.unwrap();
    let mut http1 = TcpStream::connect(address).await.unwrap();
    let get = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    http1.write_all(&get.repeat(500)).await.unwrap();
    let all_closed = async {
        let closed = |events: &[ConnectionEvent]| {
            events.iter().filter(|event| **event == ConnectionEvent::Closed).count()
        };
        while closed(&harness.traffic.connections.lock().unwrap()) < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), all_closed).await.expect("still open");
}

#[tokio::test]
async fn who_finds_every_seat_taken_may_still_ask_for_health() {
    let harness = Harness::open();
    let limits = ConnectionLimits { per_address: 2, ..USUAL };
    let (address, ..) = listen_within(&harness, limits).await;
    let seats = [TcpStream::connect(address).await, TcpStream::connect(address).await];
    let refused = talk(address, b"GET /v1/orders HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert!(refused.contains("connection: close") && refused.contains("overloaded"), "{refused}");
    let health = talk(address, b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(health.starts_with("HTTP/1.1 200 "), "{health}");
    let told = ConnectionEvent::Refused(RefusedConnection::Address);
    assert!(harness.traffic.connections.lock().unwrap().contains(&told));
    drop(seats);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_a_408_and_keeps_nobody_outside() {
    let harness =
        Harness::with(Options { max_inflight: 1, body_timeout: SHORT * 3, ..Options::default() });
    let (address, ..) = listen(&harness).await;
    let begun = |path: &str, more: &str| {
        format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: 100\r\n\r\n{{")
    };
    let mut waiting = Vec::new();
    for path in ["/v1/orders", "/v1/orders", "/v1/webhooks/sber", "/v1/webhooks/sber"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(begun(path, "").as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    let shown =
        talk(address, b"GET /v1/orders HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .await;
    assert!(shown.starts_with("HTTP/1.1 200 "), "{shown}");
    for mut stream in waiting {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(answer.contains("request_timeout"), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
    }
}

#[tokio::test]
async fn a_callback_without_its_signature_is_refused_before_its_body() {
    let harness = Harness::open();
    let (address, ..) = listen(&harness).await;
    let unsigned = b"POST /v1/webhooks/odnakassa HTTP/1.1\r\nHost: localhost\r\n\
        Content-Length: 100\r\nConnection: close\r\n\r\n{";
    let answer = talk(address, unsigned).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

#[tokio::test]
async fn from_the_signal_on_every_reply_says_that_the_connection_closes() {
    let harness = Harness::open();
    let (address, ..) = listen(&harness).await;
    let mut http2 = TcpStream::connect(address).await.unwrap();
    http2.write_all(&[http2_hello(), http2_get(1)].concat()).await.unwrap();
    let mut kept = TcpStream::connect(address).await.unwrap();
    let get = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n";
    kept.write_all(get).await.unwrap();
    let mut before = [0; 1_000];
    let read = kept.read(&mut before).await.unwrap();
    assert!(!String::from_utf8_lossy(&before[..read]).contains("connection: close"));
    harness.lifecycle.stop();
    kept.write_all(get).await.unwrap();
    let mut answer = String::new();
    kept.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.contains("connection: close"),
        "{answer}"
    );
    let (mut heard, goaway) = (Vec::new(), [7, 0, 0, 0, 0, 0]);
    while !heard.windows(goaway.len()).any(|bytes| bytes == goaway) {
        assert_ne!(http2.read_buf(&mut heard).await.unwrap(), 0, "closed without GOAWAY");
    }
}
