//! A callback arrives as the provider's row says, names our number, and is no more than a hint.

use crate::calls::order;
use crate::subject::{Subject, all};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::any;
use http::{HeaderMap, Method, Uri};
use order_service::core::ports::payment::{Callback, CallbackError, RawCallback, ReportedStatus};
use order_service::sandbox::{CallbackPolicy, Deed};
use std::time::Duration;
use tokio::sync::mpsc;

type Arrived = (Method, Uri, HeaderMap, Bytes);

/// Takes whatever is sent to it.
async fn inbox(subject: &Subject) -> mpsc::UnboundedReceiver<Arrived> {
    let (sender, arrived) = mpsc::unbounded_channel();
    let take = async |State(sender): State<mpsc::UnboundedSender<Arrived>>,
                      method: Method,
                      uri: Uri,
                      headers: HeaderMap,
                      body: Bytes| {
        sender.send((method, uri, headers, body)).unwrap();
    };
    let router = Router::new().fallback(any(take)).with_state(sender);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    subject.sandbox.set_callback_url(Some(&url));
    arrived
}

async fn next(arrived: &mut mpsc::UnboundedReceiver<Arrived>) -> Arrived {
    let next = tokio::time::timeout(Duration::from_secs(10), arrived.recv());
    next.await.expect("a callback in time").unwrap()
}

fn read(
    subject: &Subject,
    (method, uri, headers, body): &Arrived,
) -> Result<Callback, CallbackError> {
    let webhook = subject.provider.profile().webhook;
    let signature = webhook.signature.map(|name| headers[name].to_str().unwrap());
    let raw = RawCallback {
        post: *method == Method::POST,
        form: false,
        query: uri.query().unwrap_or_default(),
        signature,
        body,
    };
    subject.port().read_callback(&raw)
}

#[tokio::test]
async fn a_callback_comes_as_the_row_says_and_names_our_number() {
    for subject in all().await {
        let mut arrived = inbox(&subject).await;
        subject.register().await;
        subject.act(Deed::Pay);
        let told = next(&mut arrived).await;
        assert_eq!(told.1.path(), format!("/v1/webhooks/{}", subject.provider));
        let by_get = subject.provider.profile().webhook.by_get;
        assert!(told.0 == Method::POST || (by_get && told.0 == Method::GET), "{subject}");
        let callback = read(&subject, &told).unwrap();
        assert_eq!(callback.number, order().number, "{subject}");
        assert!(!callback.kind.is_empty(), "{subject}");
    }
}

#[tokio::test]
async fn a_forged_callback_is_refused_or_said_to_be_unsigned() {
    for subject in all().await {
        let mut arrived = inbox(&subject).await;
        subject.set_callback_policy(CallbackPolicy { bad_signature: true, ..Default::default() });
        subject.register().await;
        subject.act(Deed::Pay);
        match read(&subject, &next(&mut arrived).await) {
            Ok(callback) => assert!(!callback.signed, "{subject}"),
            Err(error) => assert_eq!(error, CallbackError::SignatureInvalid, "{subject}"),
        }
    }
}

#[tokio::test]
async fn a_callback_that_lies_changes_nothing() {
    for subject in all().await {
        let mut arrived = inbox(&subject).await;
        subject.register().await;
        let control = format!("{}/control/{}", subject.sandbox.control_url(), subject.provider);
        let url = format!("{control}/orders/{}/callback", order().number);
        let lie = r#"{"kind": "deposited"}"#;
        let http = reqwest::Client::builder().timeout(Duration::from_secs(10)).build().unwrap();
        http.post(url).body(lie).send().await.unwrap();
        let lie = read(&subject, &next(&mut arrived).await).unwrap();
        assert_eq!(lie.number, order().number);
        assert_eq!(subject.report().await.status, ReportedStatus::Pending, "{subject}");
    }
}

#[tokio::test]
async fn nonsense_is_no_callback() {
    for subject in all().await {
        for (post, body) in [(true, &b""[..]), (true, b"[]"), (true, b"\xff"), (false, b"")] {
            let raw = RawCallback { post, form: false, query: "", signature: None, body };
            let read = subject.port().read_callback(&raw);
            assert!(read.is_err(), "{subject} {post} {body:?}: {read:?}");
        }
    }
}
