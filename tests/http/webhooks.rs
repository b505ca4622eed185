//! Callbacks go to their provider's adapter as they came.

use crate::harness::{Harness, request};
use axum::body::Body;
use http::Request;

#[tokio::test]
async fn a_callback_arrives_at_the_adapter_byte_for_byte() {
    let harness = Harness::open();
    let got = harness.get("/v1/webhooks/sber?mdOrder=a%20b&checksum=AB").await;
    assert_eq!((got.status.as_u16(), got.bytes.len()), (200, 0));
    let form = Request::post("/v1/webhooks/sber?x=1").body(Body::from("a=1&b=%20")).unwrap();
    assert_eq!(harness.send(form).await.status, 200);
    let signed = Request::post("/v1/webhooks/odnakassa").header("OdnaKassa-Signature", "t=1,v1=ab");
    let signed = signed.body(Body::from(vec![0, 255, b'{'])).unwrap();
    assert_eq!(harness.send(signed).await.status, 200);

    let sber = harness.sber.callbacks.lock().unwrap().clone();
    assert_eq!(sber[0], (false, "mdOrder=a%20b&checksum=AB".to_owned(), None, vec![]));
    assert_eq!(sber[1], (true, "x=1".to_owned(), None, b"a=1&b=%20".to_vec()));
    let odnakassa = harness.odnakassa.callbacks.lock().unwrap().clone();
    assert_eq!(
        odnakassa[0],
        (true, String::new(), Some("t=1,v1=ab".to_owned()), vec![0, 255, b'{'])
    );
}

#[tokio::test]
async fn a_forged_callback_is_a_401_and_nonsense_a_400() {
    let harness = Harness::open();
    let reply = harness.get("/v1/webhooks/sber?forged").await;
    assert_eq!((reply.status.as_u16(), reply.code()), (401, "signature_invalid"));
    let reply = harness.act("/v1/webhooks/odnakassa?nonsense", &[]).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (400, "invalid_request"));
    let large = request("POST", "/v1/webhooks/sber", &[], Some(&"x".repeat(5_000).into()));
    assert_eq!(harness.send(large).await.status, 413);
}
