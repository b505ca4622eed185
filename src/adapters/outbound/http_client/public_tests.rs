//! The client for strangers' addresses, against names that lie.

use super::destination::DestinationRules;
use super::public::{EXCERPT_BYTES, PublicClient, PublicReply, built};
use super::resolver::PublicResolver;
use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted};
use crate::core::domain::webhook::attempt::{AttemptError, ForbiddenDestination};
use http::HeaderMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const NOT_PUBLIC: AttemptError = AttemptError::Forbidden(ForbiddenDestination::NotPublic);

/// TLS is not what is tested here, so that its roots are not wanted.
fn client(
    rules: &Arc<DestinationRules>,
    lookup: fn(&str) -> io::Result<Vec<SocketAddr>>,
) -> PublicClient {
    let resolver = PublicResolver::looking_up(Arc::clone(rules), lookup);
    built(resolver, Duration::from_secs(5), |builder| builder.tls_certs_only([])).unwrap()
}

fn rules(allowed: &[&str]) -> Arc<DestinationRules> {
    Arc::new(DestinationRules::new(allowed.iter().map(|host| (*host).to_owned())))
}

fn loopback(_: &str) -> io::Result<Vec<SocketAddr>> {
    Ok(vec!["127.0.0.1:0".parse().unwrap(), "[::ffff:10.0.0.1]:0".parse().unwrap()])
}

async fn post(
    rules: &Arc<DestinationRules>,
    lookup: fn(&str) -> io::Result<Vec<SocketAddr>>,
    url: &str,
) -> Result<PublicReply, AttemptError> {
    let to = rules.destination(url).unwrap();
    client(rules, lookup).post(&to, HeaderMap::new(), b"{}".to_vec()).await
}

/// Answers one connection.
async fn serve_once(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _length = stream.read(&mut [0; 4096]).await.unwrap();
        stream.write_all(&answer).await.unwrap();
    });
    address
}

#[tokio::test]
async fn a_name_that_leads_inside_is_never_connected_to() {
    let inside = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://shop.example:{}/hooks", inside.local_addr().unwrap().port());
    assert_eq!(post(&rules(&[]), loopback, &url).await.unwrap_err(), NOT_PUBLIC);
    let connected = tokio::time::timeout(Duration::from_millis(50), inside.accept()).await;
    assert!(connected.is_err(), "somebody came: {connected:?}");
}

#[tokio::test]
async fn an_allowed_name_may_lead_inside_and_another_beside_it_may_not() {
    let rules = rules(&["shop.internal"]);
    let answer = b"HTTP/1.1 204 Thanks\r\nRetry-After: 7\r\n\r\n".to_vec();
    let port = serve_once(answer).await.port();
    let reply = post(&rules, loopback, &format!("http://Shop.Internal:{port}/")).await.unwrap();
    assert_eq!(
        (reply.answer.status, reply.answer.retry_after),
        (204, Some(Duration::from_secs(7)))
    );
    let other = format!("https://a.shop.internal:{port}/");
    assert_eq!(post(&rules, loopback, &other).await.unwrap_err(), NOT_PUBLIC);
}

#[tokio::test]
async fn of_a_mixed_answer_only_the_public_addresses_are_left() {
    let mixed = |_: &str| {
        let answer =
            ["10.0.0.1:0", "192.0.0.8:0", "93.184.216.34:0", "[::1]:0", "[2606:4700::1]:0"];
        Ok(answer.map(|address| address.parse().unwrap()).to_vec())
    };
    let found =
        PublicResolver::looking_up(rules(&[]), mixed).addresses("shop.example".into()).await;
    let public = ["93.184.216.34:0", "[2606:4700::1]:0"].map(|address| address.parse().unwrap());
    assert_eq!(found.unwrap(), public);
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_unreachable_and_not_forbidden() {
    let unknown = |_: &str| Err(io::Error::other("no such name"));
    let error = post(&rules(&[]), unknown, "https://shop.example/").await.unwrap_err();
    let unreachable = Cause::NotExecuted(NotExecuted::Unreachable);
    assert_eq!(error, AttemptError::NoAnswer(NoAnswer::new(unreachable)));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let answer = b"HTTP/1.1 307 There\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n";
    let port = serve_once(answer.to_vec()).await.port();
    let url = format!("http://shop.internal:{port}/");
    let reply = post(&rules(&["shop.internal"]), loopback, &url).await.unwrap();
    assert_eq!(reply.answer.status, 307);
}

#[tokio::test]
async fn of_a_body_only_the_beginning_is_kept_and_only_as_text() {
    let excerpt_of = async |body: &[u8]| {
        let head = b"HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\n".as_slice();
        let port = serve_once([head, body].concat()).await.port();
        let url = format!("http://shop.internal:{port}/");
        post(&rules(&["shop.internal"]), loopback, &url).await.unwrap().excerpt().await
    };
    assert_eq!(excerpt_of(&[b'x'; 50_000]).await, "x".repeat(EXCERPT_BYTES));
    assert_eq!(excerpt_of(b"broke off").await, "broke off");
    assert_eq!(excerpt_of(b"\0\xff").await, "\u{fffd}\u{fffd}");
}
