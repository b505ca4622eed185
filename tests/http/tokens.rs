//! Who is let in when tokens are asked for, and what each then may see. The tokens of other
//! algorithms were made once by their private keys, which nobody has kept: `tests/tokens`.

use crate::harness::{Harness, Options, Reply, one_item, request};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use order_service::adapters::inbound::api::auth::{Auth, ExpectedClaims, KeySource, TokensConfig};
use order_service::adapters::inbound::api::openapi_json;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub const SECRET: &str = "a secret that is 32 bytes or more";
/// When the clock stands.
const NOW: i64 = 1_764_500_000;

fn harness_with(keys: KeySource, expected: ExpectedClaims) -> Harness {
    Harness::guarded(Options::default(), Auth::new(Some(TokensConfig { keys, expected })))
}

pub fn guarded() -> Harness {
    harness_with(KeySource::secret(&SECRET.into()).unwrap(), ExpectedClaims::default())
}

fn signed(header: &Header, secret: &str, claims: &Value) -> String {
    encode(header, claims, &EncodingKey::from_secret(secret.as_bytes()).unwrap()).unwrap()
}

pub fn token(sub: &str, scope: &str) -> String {
    let claims = json!({"sub": sub, "scope": scope, "exp": NOW + 60});
    signed(&Header::default(), SECRET, &claims)
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tokens").join(name)
}

fn kept_token(algorithm: &str) -> String {
    std::fs::read_to_string(fixture(&format!("{algorithm}.jwt"))).unwrap().trim().to_owned()
}

async fn get(harness: &Harness, path: &str, token: &str) -> Reply {
    harness.get_with(path, &[("authorization", &format!("Bearer {token}"))]).await
}

async fn post(harness: &Harness, path: &str, token: &str, body: &Value) -> Reply {
    harness.post_with(path, body, &[("authorization", &format!("Bearer {token}"))]).await
}

/// The id of an order that its customer has placed.
async fn order_of(harness: &Harness, customer: &str) -> String {
    let mut body = one_item();
    body["customer_id"] = json!(customer);
    let placed = post(harness, "/v1/orders", &token(customer, "orders"), &body).await;
    assert_eq!(placed.status, 201, "{}", placed.json);
    placed.json["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_whole_api_asks_for_a_token_and_what_is_signed_or_public_does_not() {
    let harness = guarded();
    let document: Value = serde_json::from_str(&openapi_json()).unwrap();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let path = path.replace(['{', '}'], "");
            let reply = harness.send(request(&method.to_uppercase(), &path, &[], None)).await;
            let asks = reply.status == 401 && reply.code() == "unauthenticated";
            assert_eq!(asks, operation.get("security").is_some(), "{method} {path}");
            let api = path.starts_with("/v1/") && !path.starts_with("/v1/webhooks/");
            assert_eq!(asks, api, "{method} {path}");
            assert_eq!(reply.header("www-authenticate"), if api { "Bearer" } else { "" });
        }
    }
    for public in ["/openapi.json", "/docs", "/docs/page.js", "/health/live", "/health/ready"] {
        assert_eq!(harness.get(public).await.status, 200, "{public}");
    }
}

#[tokio::test]
async fn a_token_that_does_not_count_is_named_as_the_reason() {
    let harness = guarded();
    let good = token("c-1", "orders");
    assert_eq!(get(&harness, "/v1/orders", &good).await.status, 200);
    let (head, signature) = good.rsplit_once('.').unwrap();
    let other_claims = token("c-2", "orders");
    let (other_head, _) = other_claims.rsplit_once('.').unwrap();
    let expired = json!({"sub": "c-1", "scope": "orders", "exp": NOW - 5});
    let endless = json!({"sub": "c-1", "scope": "orders"});
    let early = json!({"sub": "c-1", "scope": "orders", "exp": NOW + 60, "nbf": NOW + 30});
    let nobody = json!({"scope": "orders", "exp": NOW + 60});
    let header = Header::default();
    for bad in [
        String::new(),
        "x".to_owned(),
        "a.b.c".to_owned(),
        head.to_owned(),
        format!("{head}."),
        format!("{good}.x"),
        format!("{other_head}.{signature}"),
        format!("{good}{}", "=".repeat(8 * 1024)),
        signed(&header, "another secret, just as long as it", &expired),
        signed(&header, SECRET, &expired),
        signed(&header, SECRET, &endless),
        signed(&header, SECRET, &early),
        signed(&header, SECRET, &nobody),
        signed(&Header::new(Algorithm::HS512), SECRET, &json!({"sub": "c-1", "exp": NOW + 60})),
    ] {
        let reply = get(&harness, "/v1/orders", &bad).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (401, "unauthenticated"), "{bad}");
        assert_eq!(reply.header("www-authenticate"), r#"Bearer error="invalid_token""#, "{bad}");
    }
}

#[tokio::test]
async fn only_one_bearer_header_is_read() {
    let harness = guarded();
    let good = token("c-1", "orders");
    let lower = format!("bearer  {good} ");
    assert_eq!(harness.get_with("/v1/orders", &[("authorization", &lower)]).await.status, 200);
    let bearer = format!("Bearer {good}");
    let twice = [("authorization", bearer.as_str()), ("authorization", bearer.as_str())];
    let reply = harness.get_with("/v1/orders", &twice).await;
    assert_eq!(reply.header("www-authenticate"), r#"Bearer error="invalid_token""#);
    for other in ["Basic Yzpk", &good] {
        let reply = harness.get_with("/v1/orders", &[("authorization", other)]).await;
        assert_eq!((reply.status.as_u16(), reply.header("www-authenticate")), (401, "Bearer"));
    }
}

#[tokio::test]
async fn the_algorithm_is_the_keys_and_never_the_tokens() {
    let unsigned = {
        // {"alg":"none"} and the claims of a good token
        let good = token("c-1", "orders");
        format!("eyJhbGciOiJub25lIn0.{}.", good.split('.').nth(1).unwrap())
    };
    let by_secret = guarded();
    assert_eq!(get(&by_secret, "/v1/orders", &unsigned).await.status, 401);
    let pem = fixture("rs256.pem");
    let by_key = harness_with(KeySource::pem_file(&pem).unwrap(), ExpectedClaims::default());
    assert_eq!(get(&by_key, "/v1/orders", &unsigned).await.status, 401);
    // The public key is known to everybody, also to whoever uses it as a secret.
    let claims = json!({"sub": "c-1", "scope": "orders", "exp": NOW + 60});
    let public = std::fs::read_to_string(pem).unwrap();
    for secret in [public.as_str(), public.trim()] {
        let confused = signed(&Header::default(), secret, &claims);
        assert_eq!(get(&by_key, "/v1/orders", &confused).await.status, 401);
    }
    assert_eq!(get(&by_key, "/v1/orders", &kept_token("rs256")).await.status, 200);
}

#[tokio::test]
async fn each_kind_of_public_key_opens_its_own_tokens_only() {
    let kinds = ["rs256", "es256", "es384", "eddsa"];
    for kind in kinds {
        let pem = KeySource::pem_file(&fixture(&format!("{kind}.pem"))).unwrap();
        let harness = harness_with(pem, ExpectedClaims::default());
        for other in kinds {
            let reply = get(&harness, "/v1/orders", &kept_token(other)).await;
            assert_eq!(reply.status == 200, kind == other, "{other} by {kind}");
        }
    }
}

#[tokio::test]
async fn of_a_set_the_token_names_its_key() {
    let jwks = KeySource::jwks_file(&fixture("jwks.json")).unwrap();
    let harness = harness_with(jwks, ExpectedClaims::default());
    for kind in ["rs256", "es256", "es384", "eddsa"] {
        assert_eq!(get(&harness, "/v1/orders", &kept_token(kind)).await.status, 200, "{kind}");
    }
    let claims = json!({"sub": "c-1", "scope": "orders", "exp": NOW + 60});
    let named = |kid: &str| {
        signed(&Header { kid: Some(kid.to_owned()), ..Header::default() }, SECRET, &claims)
    };
    for kid in ["rsa-1", "enc-1", "nobody", ""] {
        assert_eq!(get(&harness, "/v1/orders", &named(kid)).await.status, 401, "{kid}");
    }
}

/// A set of secrets, as base64url, under their names.
fn secrets(keys: &[(&str, &str)]) -> String {
    let keys = keys.iter().map(|(kid, k)| json!({"kty": "oct", "kid": kid, "k": k}));
    json!({"keys": keys.collect::<Vec<_>>()}).to_string()
}

#[tokio::test]
async fn a_changed_set_is_in_force_and_an_unusable_one_changes_nothing() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let write = |text: &str| std::fs::write(file.path(), text).unwrap();
    // "first…" and "second…" in base64url, 32 bytes each
    let (one, two) = (
        ("k-1", "Zmlyc3QtZmlyc3QtZmlyc3QtZmlyc3QtZmlyc3QtMTI"),
        ("k-2", "c2Vjb25kLXNlY29uZC1zZWNvbmQtc2Vjb25kLTEyMzQ"),
    );
    write(&secrets(&[one]));
    let keys = KeySource::jwks_file(file.path()).unwrap();
    let harness = harness_with(keys, ExpectedClaims::default());
    let claims = json!({"sub": "c-1", "scope": "orders", "exp": NOW + 60});
    let by = |kid: Option<&str>, secret: &str| {
        signed(&Header { kid: kid.map(str::to_owned), ..Header::default() }, secret, &claims)
    };
    let first = by(Some("k-1"), "first-first-first-first-first-12");
    let second = by(Some("k-2"), "second-second-second-second-1234");
    let unnamed = by(None, "second-second-second-second-1234");
    let open = async || {
        let usable = harness.app.services.auth.key_file().unwrap().refresh().is_ok();
        let mut open = Vec::new();
        for token in [&first, &second, &unnamed] {
            open.push(get(&harness, "/v1/orders", token).await.status == 200);
        }
        (usable, open)
    };
    assert_eq!(open().await, (true, vec![true, false, false]));
    // Which of two is meant by a token without a name is not guessed.
    write(&secrets(&[one, two]));
    assert_eq!(open().await, (true, vec![true, true, false]));
    write(&secrets(&[two]));
    assert_eq!(open().await, (true, vec![false, true, true]));
    for broken in ["", "{", "{}", r#"{"keys":[]}"#, r#"{"keys":[{"kty":"oct"}]}"#] {
        write(broken);
        assert_eq!(open().await, (false, vec![false, true, true]), "{broken}");
        assert_eq!(open().await, (true, vec![false, true, true]), "told once: {broken}");
    }
    std::fs::remove_file(file.path()).unwrap();
    assert_eq!(open().await, (false, vec![false, true, true]));
    write(&secrets(&[one]));
    assert_eq!(open().await, (true, vec![true, false, false]));
}

#[tokio::test]
async fn issuer_and_audience_must_be_the_expected_ones() {
    let expected = ExpectedClaims {
        issuer: Some("https://id.example".into()),
        audience: Some("orders-api".into()),
    };
    let harness = harness_with(KeySource::secret(&SECRET.into()).unwrap(), expected);
    for (iss, aud, status) in [
        (json!("https://id.example"), json!(["shop", "orders-api"]), 200),
        (json!("https://id.example"), json!("shop"), 401),
        (json!("https://evil.example"), json!("orders-api"), 401),
        (json!(null), json!(null), 401),
    ] {
        let claims =
            json!({"sub": "c-1", "scope": "orders", "exp": NOW + 60, "iss": iss, "aud": aud});
        let token = signed(&Header::default(), SECRET, &claims);
        assert_eq!(get(&harness, "/v1/orders", &token).await.status, status, "{claims}");
    }
}

#[tokio::test]
async fn a_token_without_our_scope_is_forbidden_everything() {
    let harness = guarded();
    for (sub, scope) in [("c-1", ""), ("c-1", "openid email"), ("svc|1", "orders:refund")] {
        let token = token(sub, scope);
        for path in ["/v1/orders", "/v1/orders/x", "/v1/tasks/1", "/v1/products/p-1"] {
            let reply = get(&harness, path, &token).await;
            assert_eq!((reply.status.as_u16(), reply.code()), (403, "forbidden"), "{path}");
            assert_eq!(
                reply.header("www-authenticate"),
                r#"Bearer error="insufficient_scope", scope="orders""#
            );
        }
    }
}

#[tokio::test]
async fn a_customer_sees_own_orders_and_others_do_not_exist() {
    let harness = guarded();
    let (id, theirs) = (order_of(&harness, "c-1").await, order_of(&harness, "c-2").await);
    let own = token("c-1", "orders");
    let ids = async |path: &str, token: &str| {
        let page = get(&harness, path, token).await;
        assert_eq!(page.status, 200, "{}", page.json);
        let items = page.json["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids("/v1/orders", &own).await, [id.as_str()]);
    assert_eq!(ids("/v1/orders?customer_id=c-2", &own).await, [""; 0]);
    let all = token("support", "orders:any");
    assert_eq!(ids("/v1/orders", &all).await, [theirs.as_str(), id.as_str()]);
    assert_eq!(ids("/v1/orders?customer_id=c-2", &all).await, [theirs.as_str()]);

    let path = format!("/v1/orders/{theirs}");
    for (token, status) in [(&own, 404), (&all, 200)] {
        assert_eq!(get(&harness, &path, token).await.status, status);
    }
    for action in ["confirm", "cancel"] {
        let reply = post(&harness, &format!("{path}/{action}"), &own, &json!({})).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (404, "order_not_found"), "{action}");
    }
    let refund = async |path: &str, scope: &str, expected: (u16, &str)| {
        let key = format!("{scope} {path}").replace(' ', "-");
        let bearer = format!("Bearer {}", token("c-1", scope));
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", key.as_str())];
        let reply = harness.act(&format!("{path}/refund"), &headers).await;
        assert_eq!((reply.status.as_u16(), reply.code()), expected, "{scope}");
        reply
    };
    let mine = format!("/v1/orders/{id}");
    let refused = refund(&mine, "orders", (403, "forbidden")).await;
    let challenge = r#"Bearer error="insufficient_scope", scope="orders:refund""#;
    assert_eq!(refused.header("www-authenticate"), challenge, "a buyer takes no money back");
    refund(&mine, "orders orders:refund", (409, "order_not_refundable")).await;
    refund(&path, "orders orders:refund", (404, "order_not_found")).await;
    assert_eq!(get(&harness, &path, &all).await.json["status"], "new");
}

#[tokio::test]
async fn anothers_task_does_not_exist() {
    let harness = guarded();
    let id = order_of(&harness, "c-2").await;
    let bearer = format!("Bearer {}", token("c-2", "orders"));
    let headers = [("authorization", bearer.as_str()), ("prefer", "respond-async")];
    let queued = harness.act(&format!("/v1/orders/{id}/confirm"), &headers).await;
    assert_eq!(queued.status, 202, "{}", queued.json);
    let path = queued.header("location").to_owned();
    for (token, status) in [
        (token("c-1", "orders"), 404),
        (token("c-2", "orders"), 200),
        (token("support", "orders:any"), 200),
    ] {
        assert_eq!(get(&harness, &path, &token).await.status, status);
        let waiting = format!("{path}?wait=0");
        assert_eq!(get(&harness, &waiting, &token).await.status, status);
    }
}

#[tokio::test]
async fn nobody_orders_or_asks_hints_for_somebody_else() {
    let harness = guarded();
    let stranger = token("c-9", "orders");
    let reply = post(&harness, "/v1/orders", &stranger, &one_item()).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (403, "forbidden"));
    let hints = "/v1/customers/c-1/recommendations";
    assert_eq!(get(&harness, hints, &stranger).await.code(), "forbidden");
    assert_eq!(get(&harness, hints, &token("c-1", "orders")).await.status, 200);
    let support = token("support", "orders:any");
    assert_eq!(get(&harness, hints, &support).await.status, 200);
    assert_eq!(post(&harness, "/v1/orders", &support, &one_item()).await.status, 201);
}

#[tokio::test]
async fn an_idempotency_key_is_its_owners() {
    let harness = guarded();
    let place = async |sub: &str, scope: &str| {
        let mut body = one_item();
        body["customer_id"] = json!("c-1");
        let bearer = format!("Bearer {}", token(sub, scope));
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k-1")];
        harness.post_with("/v1/orders", &body, &headers).await
    };
    let first = place("c-1", "orders").await;
    assert_eq!(first.status, 201, "{}", first.json);
    let again = place("c-1", "orders").await;
    assert_eq!((again.header("idempotency-replayed"), &again.bytes), ("true", &first.bytes));
    let others = place("support", "orders:any").await;
    assert_eq!((others.status.as_u16(), others.header("idempotency-replayed")), (201, ""));
    assert_ne!(others.json["id"], first.json["id"]);
    assert_eq!(place("c-2", "orders").await.status, 403);
}

#[tokio::test]
async fn who_is_refused_does_no_work() {
    let harness = guarded();
    let garbage = json!({"nonsense": true});
    for (headers, status) in
        [(vec![], 401), (vec![("authorization", format!("Bearer {}", token("c-1", "")))], 403)]
    {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let reply = harness.post_with("/v1/orders?x=1", &garbage, &headers).await;
        assert_eq!(reply.status, status);
        assert_eq!(harness.get_with("/v1/products/p-1", &headers).await.status, status);
    }
    assert!(harness.catalog.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_guest_is_ordered_for_by_who_may_order_for_anybody() {
    let harness = guarded();
    let items = json!({"customer_id": null, "items": [{"product_id": "p-1", "quantity": 1}]});
    let own = post(&harness, "/v1/orders", &token("c-1", "orders"), &items).await;
    assert_eq!((own.status.as_u16(), own.code()), (403, "forbidden"));
    let unnamed = json!({"items": items["items"]});
    let own = post(&harness, "/v1/orders", &token("auth0|7", "orders"), &unnamed).await;
    assert_eq!((own.status.as_u16(), &own.json["customer_id"]), (201, &json!("auth0..7C7")));
    let forgotten = post(&harness, "/v1/orders", &token("shop", "orders:any"), &unnamed).await;
    assert_eq!(forgotten.pointers(), ["/customer_id"]);
    let guest = post(&harness, "/v1/orders", &token("shop", "orders:any"), &items).await;
    assert_eq!((guest.status.as_u16(), &guest.json["customer_id"]), (201, &json!(null)));
    let path = guest.header("location");
    assert_eq!(get(&harness, path, &token("c-1", "orders")).await.code(), "order_not_found");
    assert_eq!(get(&harness, path, &token("shop", "orders:any")).await.status, 200);
    // Two shops may use the same number.
    let mut numbered = items;
    numbered["external_id"] = json!("A-1");
    for (shop, status) in [("shop", 201), ("other", 201), ("shop", 409)] {
        let placed = post(&harness, "/v1/orders", &token(shop, "orders:any"), &numbered).await;
        assert_eq!(placed.status.as_u16(), status, "{shop}");
    }
}
