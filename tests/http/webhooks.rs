//! Callbacks go to their provider's adapter as they came.

use crate::harness::{Harness, request};
use axum::body::Body;
use http::{Method, Request};
use order_service::core::domain::provider::Provider;

/// A callback with everything that one can have.
fn callback(provider: Provider, method: Method) -> Request<Body> {
    let uri = format!("/v1/webhooks/{provider}?mdOrder=a%20b&checksum=AB");
    let callback = Request::builder().method(method).uri(uri);
    let signed = callback
        .header("Foreign-Signature", "x")
        .header(provider.profile().webhook.signature.unwrap_or("X-Nothing"), "t=1,v1=ab");
    signed.body(Body::from(vec![0, 255, b'{'])).unwrap()
}

#[tokio::test]
async fn a_callback_arrives_at_every_adapter_byte_for_byte() {
    let harness = Harness::open();
    for fake in &harness.providers {
        let webhook = fake.provider.profile().webhook;
        let methods = [Some(Method::POST), webhook.by_get.then_some(Method::GET)];
        for method in methods.into_iter().flatten() {
            let post = method == Method::POST;
            let got = harness.send(callback(fake.provider, method)).await;
            assert_eq!((got.status.as_u16(), &*got.bytes), (200, webhook.receipt.as_bytes()));
            let seen = fake.callbacks.lock().unwrap().pop().unwrap();
            let signature = webhook.signature.map(|_| "t=1,v1=ab".to_owned());
            let query = "mdOrder=a%20b&checksum=AB".to_owned();
            assert_eq!(seen, (post, query, signature, vec![0, 255, b'{']), "{}", fake.provider);
        }
    }
}

#[tokio::test]
async fn a_slash_at_the_end_costs_no_news_and_head_is_taken_where_get_is() {
    let harness = Harness::open();
    for fake in &harness.providers {
        let by_get = fake.provider.profile().webhook.by_get;
        let path = format!("/v1/webhooks/{}", fake.provider);
        for (method, taken) in [("POST", true), ("GET", by_get), ("HEAD", by_get)] {
            for path in [path.clone(), format!("{path}/")] {
                let send = async |query: &str| {
                    harness.send(request(method, &format!("{path}?{query}"), &[], None)).await
                };
                let status = if taken { [200, 401] } else { [405, 405] };
                assert_eq!(send("").await.status, status[0], "{method} {path}");
                assert_eq!(send("forged").await.status, status[1], "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn a_form_is_known_by_its_type() {
    let harness = Harness::open();
    for (content_type, form) in [
        ("application/x-www-form-urlencoded", true),
        ("Application/X-WWW-Form-urlencoded; charset=UTF-8", true),
        ("application/json", false),
    ] {
        let sent = request("POST", "/v1/webhooks/sber", &[("content-type", content_type)], None);
        assert_eq!(harness.send(sent).await.status, 200);
        assert_eq!(harness.sber.forms.lock().unwrap().pop(), Some(form), "{content_type}");
    }
}

#[tokio::test]
async fn what_is_signed_and_about_nothing_of_ours_is_taken() {
    let harness = Harness::open();
    for provider in Provider::ALL {
        let reply = harness.act(&format!("/v1/webhooks/{provider}?notours"), &[]).await;
        assert_eq!(reply.status, 200);
    }
    assert!(harness.store.store.inbox().is_empty());
}

#[tokio::test]
async fn a_forged_callback_is_a_401_and_nonsense_a_400() {
    let harness = Harness::open();
    for provider in Provider::ALL {
        let webhook = format!("/v1/webhooks/{provider}");
        let header = provider.profile().webhook.signature.unwrap_or("x-nothing");
        let signed = [(header, "t=1,v1=ab")];
        let reply = harness.act(&format!("{webhook}?forged"), &signed).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (401, "signature_invalid"));
        let reply = harness.act(&format!("{webhook}?nonsense"), &signed).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (400, "invalid_request"));
        let large = request("POST", &webhook, &signed, Some(&"x".repeat(5_000).into()));
        assert_eq!(harness.send(large).await.status, 413);
    }
}
