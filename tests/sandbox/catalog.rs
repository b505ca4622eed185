//! The two internal systems.

use order_service::sandbox::PartnerName::{Catalog, Recommendations};
use serde_json::{Value, json};

use crate::shop::{client, json_of, sandbox, script};

async fn get(url: String) -> (u16, Value) {
    let response = client().get(url).send().await.expect("a reply");
    (response.status().as_u16(), json_of(response).await)
}

#[tokio::test]
async fn twenty_products_have_prices_and_the_last_is_free() {
    let sandbox = sandbox().await;
    let product = |id: &str| get(format!("{}/products/{id}", sandbox.base_url(Catalog)));
    let (status, tea) = product("p-1").await;
    assert_eq!(
        (status, &tea["id"], &tea["price"]),
        (200, &json!("p-1"), &json!({"amount": 19900, "currency": "RUB"}))
    );
    assert_eq!(product("p-20").await.1["price"]["amount"], 0);
    assert_eq!(product("p-21").await.0, 404);
    assert_eq!(sandbox.calls_of(Catalog, "p-21").by_operation["product"], 1);
}

#[tokio::test]
async fn a_product_can_be_made_nonsense() {
    let sandbox = sandbox().await;
    let url = format!("{}/control/catalog/products/p-1", sandbox.control_url());
    let put = client()
        .put(url)
        .body(r#"{"id":"p-1","price":{"amount":-1.5}}"#)
        .send()
        .await
        .expect("a reply");
    assert_eq!(put.status(), 204);
    let (_, product) = get(format!("{}/products/p-1", sandbox.base_url(Catalog))).await;
    assert_eq!(product["price"]["amount"], -1.5);
    sandbox.reset().await;
    let (_, product) = get(format!("{}/products/p-1", sandbox.base_url(Catalog))).await;
    assert_eq!(product["price"]["amount"], 19900);
}

#[tokio::test]
async fn answers_can_be_disfigured() {
    let sandbox = sandbox().await;
    let ask = async |answer: Value| {
        script(&sandbox, Catalog, json!({"when": {"times": 1}, "then": {"answer": answer}}));
        let url = format!("{}/products/p-1", sandbox.base_url(Catalog));
        let response = client().get(url).send().await.expect("a reply");
        (response.status().as_u16(), response.text().await.expect("a body"))
    };
    assert_eq!(ask(json!("empty")).await, (200, String::new()));
    assert!(ask(json!("html")).await.1.starts_with("<!doctype html>"));
    assert!(serde_json::from_str::<Value>(&ask(json!("truncated")).await.1).is_err());
    assert!(ask(json!("wrong_types")).await.1.contains(r#""id":3"#));
    assert_eq!(
        ask(json!({"http": {"status": 302, "location": "/elsewhere", "body": ""}})).await.0,
        302
    );
    assert!(!ask(json!({"without": ["price"]})).await.1.contains("price"));
    assert!(ask(json!({"patch": {"price": {"amount": 1}}})).await.1.contains(r#""amount":1,"#));
    assert_eq!(ask(json!({"json": {"status": 200, "body": [1]}})).await.1, "[1]");
}

#[tokio::test]
async fn recommendations_are_there_for_some_customers() {
    let sandbox = sandbox().await;
    let ask = |id: &str| {
        get(format!("{}/customers/{id}/recommendations", sandbox.base_url(Recommendations)))
    };
    let (status, reply) = ask("c-1").await;
    assert_eq!(status, 200);
    assert!(reply["items"][0]["product_id"].is_string() && reply["items"][0]["name"].is_string());
    assert_eq!(ask("nobody").await.0, 404);
}
