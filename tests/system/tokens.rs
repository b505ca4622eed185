use crate::harness::{Harness, PATIENCE};
use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::json;
use tokio::time::{Instant, sleep};

/// Two secrets of 32 bytes, as a JWK set has them and as they are.
const KEYS: [(&str, &str, &str); 2] = [
    ("k-1", "Zmlyc3QtZmlyc3QtZmlyc3QtZmlyc3QtZmlyc3QtMTI", "first-first-first-first-first-12"),
    ("k-2", "c2Vjb25kLXNlY29uZC1zZWNvbmQtc2Vjb25kLTEyMzQ", "second-second-second-second-1234"),
];

fn set(keys: &[usize]) -> String {
    let keys = keys.iter().map(|i| json!({"kty": "oct", "kid": KEYS[*i].0, "k": KEYS[*i].1}));
    json!({"keys": keys.collect::<Vec<_>>()}).to_string()
}

/// Good until the year 2100.
fn token(key: usize, sub: &str, aud: &str) -> String {
    let (kid, _, secret) = KEYS[key];
    let header = Header { kid: Some(kid.to_owned()), ..Header::default() };
    let claims = json!({"sub": sub, "scope": "orders", "exp": 4_102_444_800_i64, "aud": aud});
    encode(&header, &claims, &EncodingKey::from_secret(secret.as_bytes()).unwrap()).unwrap()
}

async fn get(harness: &Harness, path: &str, token: &str) -> u16 {
    let request = harness.http.get(format!("{}{path}", harness.api)).bearer_auth(token);
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn keys_are_changed_under_a_running_service() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jwks.json");
    std::fs::write(&file, set(&[0])).unwrap();
    let mut harness = Harness::without_instance().await;
    harness.set("AUTH_MODE", "jwt");
    harness.set("AUTH_JWKS_FILE", file.to_str().unwrap());
    harness.set("AUTH_JWT_AUDIENCE", "orders-api");
    harness.start(&[]).await;

    let (old, new) = (token(0, "c-1", "orders-api"), token(1, "c-1", "orders-api"));
    assert_eq!(harness.get("/v1/orders").await.status, 401);
    assert_eq!(get(&harness, "/v1/orders", &token(0, "c-1", "another")).await, 401);
    assert_eq!(get(&harness, "/v1/orders", &old).await, 200);
    assert_eq!(get(&harness, "/v1/orders", &new).await, 401);
    assert_eq!(get(&harness, "/v1/customers/c-1/recommendations", &old).await, 200);
    assert_eq!(get(&harness, "/v1/customers/c-2/recommendations", &old).await, 403);

    std::fs::write(&file, set(&[1])).unwrap();
    let end = Instant::now() + PATIENCE;
    while get(&harness, "/v1/orders", &new).await != 200 {
        assert!(Instant::now() < end, "the new key is not in force: {}", harness.log());
        sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(get(&harness, "/v1/orders", &old).await, 401);
    let signs_are_enough = harness.post("/v1/webhooks/odnakassa", json!({})).await;
    assert_eq!(signs_are_enough.body["code"], "signature_invalid");
    assert_eq!(harness.stop().await, Some(0));
}
