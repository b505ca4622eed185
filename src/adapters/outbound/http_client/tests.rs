//! The client against servers that answer, lie and break off.

use super::*;
use crate::adapters::observe::adapter_events::{AdapterEvent, Untold};
use crate::core::domain::unavailable::{Cause, NotExecuted, Unknown};
use crate::core::ports::trace::TraceParent;
use http::StatusCode;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn client() -> PartnerClient {
    client_heard_by(Arc::new(Untold))
}

fn client_heard_by(events: Arc<dyn AdapterEvents>) -> PartnerClient {
    build(&config("http://127.0.0.1"), events).unwrap()
}

fn config(url: &str) -> HttpConfig {
    HttpConfig {
        base_url: base_url(url).unwrap(),
        connect_timeout: Duration::from_secs(5),
        read_timeout: Duration::from_secs(5),
        max_concurrent: 2,
        transport: Transport::default(),
    }
}

/// Answers its first connection with `answer` and closes it; returns what it was asked.
async fn serve_once(answer: Vec<u8>) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = vec![0; 4096];
        let length = stream.read(&mut heard).await.unwrap();
        stream.write_all(&answer).await.unwrap();
        String::from_utf8_lossy(&heard[..length]).into_owned()
    });
    (url, asked)
}

async fn get(url: &str) -> Result<PartnerReply, Cause> {
    client().send(client().get(url), None).await
}

async fn body_of(answer: Vec<u8>) -> Result<Vec<u8>, Cause> {
    let (url, _) = serve_once(answer).await;
    get(&url).await?.body().await
}

#[test]
fn a_base_url_is_read_as_people_write_it() {
    for text in ["https://bank.example/payment/rest", "https://bank.example/payment/rest/"] {
        let url = base_url(text).unwrap();
        assert_eq!(
            url.join("register.do").unwrap().as_str(),
            "https://bank.example/payment/rest/register.do"
        );
    }
    for bad in ["", "bank.example", "ftp://a/", "https://me:pw@a/", "https://a/?b", "https:/#c"] {
        assert!(base_url(bad).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn a_connection_that_was_never_made_is_harmless() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    drop(listener);
    assert_eq!(get(&url).await.unwrap_err(), Cause::NotExecuted(NotExecuted::Unreachable));
}

/// Whatever goes wrong before TLS is up, not a byte of the request has left.
#[tokio::test]
async fn a_handshake_that_stalls_or_fails_is_harmless() {
    let mut config = config("https://127.0.0.1");
    config.connect_timeout = Duration::from_millis(100);
    config.transport.ca_file = Some(
        concat!(env!("CARGO_MANIFEST_DIR"), "/src/adapters/outbound/signature/certificate.pem")
            .into(),
    );
    let client = build(&config, Arc::new(Untold)).unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stalled = format!("https://{}/x", silent.local_addr().unwrap());
    let (plain, _) = serve_once(b"HTTP/1.1 400 Speak plainly\r\n\r\n".to_vec()).await;
    for url in [stalled, plain.replace("http:", "https:")] {
        let failed = client.send(client.get(url), None).await;
        assert_eq!(failed.unwrap_err(), Cause::NotExecuted(NotExecuted::Unreachable));
    }
}

#[test]
fn a_ca_file_that_is_none_is_named() {
    let mut config = config("https://127.0.0.1");
    for file in ["no/such/file.pem", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")] {
        config.transport.ca_file = Some(file.into());
        let refused = build(&config, Arc::new(Untold)).unwrap_err().to_string();
        assert!(refused.contains(file), "{refused}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_request_is_not_harmless() {
    assert_eq!(body_of(Vec::new()).await, Err(Cause::Unknown(Unknown::Broken)));
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec();
    assert_eq!(body_of(cut).await, Err(Cause::Unknown(Unknown::Broken)));
}

#[tokio::test]
async fn silence_ends_with_the_read_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    let mut config = config(&url);
    config.read_timeout = Duration::from_millis(100);
    let client = build(&config, Arc::new(Untold)).unwrap();
    assert_eq!(
        client.send(client.get(url), None).await.unwrap_err(),
        Cause::Unknown(Unknown::TimedOut)
    );
}

#[tokio::test]
async fn a_huge_answer_is_not_read_to_its_end() {
    let mut huge = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    huge.resize(MAX_BODY_BYTES + 4096, b'x');
    assert_eq!(body_of(huge).await, Err(Cause::Unknown(Unknown::Unreadable)));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let (url, _) =
        serve_once(b"HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n".to_vec())
            .await;
    let reply = client().send(client().post(url), None).await.unwrap();
    assert_eq!(reply.status, StatusCode::FOUND);
}

#[tokio::test]
async fn an_attempt_names_itself_in_the_callers_trace() {
    let caller = TraceParent::new(7, 8);
    let answer = b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n".to_vec();
    let (url, asked) = serve_once(answer).await;
    let reply = client().send(client().get(url), Some(&caller)).await.unwrap();
    assert_eq!(reply.retry_after, Some(Duration::from_secs(7)));

    let asked = asked.await.unwrap();
    let sent = asked.lines().find_map(|line| line.strip_prefix("traceparent: ")).unwrap();
    let sent = TraceParent::parse(sent).unwrap();
    assert_eq!(sent.trace_id(), caller.trace_id());
    assert_ne!(sent, caller);
}

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<(Option<u16>, Option<&'static str>)>>);

impl AdapterEvents for Heard {
    fn tell(&self, event: &AdapterEvent) {
        if let AdapterEvent::Exchanged { method: "GET", status, failure, .. } = event {
            self.0.lock().unwrap().push((*status, *failure));
        }
    }
}

#[tokio::test]
async fn each_exchange_is_told_once_however_it_ends() {
    let heard = Arc::new(Heard::default());
    let client = client_heard_by(heard.clone());
    let (url, _) = serve_once(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_vec()).await;
    drop(client.send(client.get(url), None).await);
    let (url, _) = serve_once(Vec::new()).await;
    drop(client.send(client.get(url), None).await);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    let moment = Duration::from_millis(20);
    drop(tokio::time::timeout(moment, client.send(client.get(url), None)).await);
    let expected = [(Some(503), None), (None, Some("broken")), (None, Some("cancelled"))];
    assert_eq!(*heard.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_partner_is_called_through_the_proxy_that_was_asked_for_and_through_no_other() {
    let (proxy, asked) = serve_once(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()).await;
    let mut config = config("http://bank.example/");
    config.transport.proxy = ProxyUrl::parse(proxy.trim_end_matches("/x"));
    let client = build(&config, Arc::new(Untold)).unwrap();
    let request = client.get("http://bank.example/pay");
    assert_eq!(client.send(request, None).await.unwrap().status, 204);
    let heard = asked.await.unwrap();
    assert!(heard.starts_with("GET http://bank.example/pay HTTP/1.1\r\n"), "{heard}");
}

/// Runs in a process of its own, whose environment the next test makes.
#[tokio::test]
#[ignore = "the next test runs it"]
async fn where_the_environment_names_a_proxy_the_partner_is_called_itself() {
    let (partner, asked) = serve_once(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()).await;
    let client = build(&config(&partner), Arc::new(Untold)).unwrap();
    assert_eq!(client.send(client.get(&partner), None).await.unwrap().status, 204);
    assert!(asked.await.unwrap().starts_with("GET /x "));
}

/// What a shell says of proxies is not said to us.
#[test]
fn the_proxies_of_the_environment_are_not_obeyed() {
    let room = "adapters::outbound::http_client::tests";
    let test = "where_the_environment_names_a_proxy_the_partner_is_called_itself";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("{room}::{test}"), "--ignored"]).env_remove("NO_PROXY");
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(variable, "http://127.0.0.1:9");
    }
    let ended = child.output().unwrap();
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && told.contains("1 passed"), "{told}");
}
