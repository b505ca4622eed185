//! The OpenAPI document tells what the router does, and the page that shows it needs nobody else.

use crate::harness::{Harness, request};
use order_service::adapters::inbound::api::openapi_json;
use order_service::core::domain::provider::Provider;
use serde_json::Value;
use std::collections::BTreeSet;

const ROUTES: [&str; 23] = [
    "delete /v1/webhook-endpoints/{id}",
    "get /v1/webhook-endpoints",
    "get /v1/webhook-endpoints/{id}",
    "get /v1/webhook-endpoints/{id}/deliveries",
    "patch /v1/webhook-endpoints/{id}",
    "post /v1/webhook-endpoints",
    "post /v1/webhook-endpoints/{id}/redeliver",
    "post /v1/webhook-endpoints/{id}/rotate",
    "post /v1/webhook-endpoints/{id}/test",
    "get /health/live",
    "get /health/ready",
    "get /v1/customers/{id}/recommendations",
    "get /v1/events",
    "get /v1/orders",
    "get /v1/orders/{id}/events",
    "get /v1/orders/{id}",
    "get /v1/orders/{id}/refunds",
    "get /v1/products/{id}",
    "get /v1/tasks/{task_id}",
    "post /v1/orders",
    "post /v1/orders/{id}/cancel",
    "post /v1/orders/{id}/confirm",
    "post /v1/orders/{id}/refund",
];

/// One route for each payment system, and a second where it also calls by GET.
fn webhooks() -> Vec<String> {
    let by_get = Provider::ALL.into_iter().filter(|provider| provider.profile().webhook.by_get);
    let by_get = by_get.map(|provider| format!("get /v1/webhooks/{provider}"));
    Provider::ALL
        .map(|provider| format!("post /v1/webhooks/{provider}"))
        .into_iter()
        .chain(by_get)
        .collect()
}

fn document() -> Value {
    serde_json::from_str(&openapi_json()).unwrap()
}

fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, item)| {
        let item = item.as_object().unwrap().iter();
        item.map(move |(method, operation)| (method.clone(), path.clone(), operation.clone()))
    });
    all.collect()
}

#[tokio::test]
async fn every_route_is_documented_and_every_documented_route_is_served() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    let told: BTreeSet<String> =
        operations(&document).iter().map(|(method, path, _)| format!("{method} {path}")).collect();
    assert_eq!(told, ROUTES.map(str::to_owned).into_iter().chain(webhooks()).collect());
    let harness = Harness::open();
    for (method, path, _) in operations(&document) {
        let request = request(&method.to_uppercase(), &path.replace(['{', '}'], ""), &[], None);
        let reply = harness.send(request).await;
        assert!(!matches!(reply.code(), "not_found" | "method_not_allowed"), "{method} {path}");
    }
}

#[test]
fn what_shops_are_sent_is_in_the_document() {
    let document = document();
    let told = &document["webhooks"]["event"]["post"];
    let body = &told["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    let name = body.as_str().unwrap().rsplit('/').next().unwrap();
    assert!(document["components"]["schemas"][name]["properties"]["sequence"].is_object());
    let headers: Vec<_> =
        told["parameters"].as_array().unwrap().iter().map(|p| &p["name"]).collect();
    assert_eq!(headers, ["webhook-id", "webhook-timestamp", "webhook-signature"]);
}

#[test]
fn every_failure_is_documented_with_the_body_that_it_has() {
    let mut told = BTreeSet::new();
    for (method, path, operation) in operations(&document()) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let content = &response["content"]["application/problem+json"];
            let Some(examples) = content["examples"].as_object() else { continue };
            assert_eq!(content["schema"]["$ref"], "#/components/schemas/Problem");
            for (code, example) in examples {
                let value = &example["value"];
                assert_eq!(value["code"], **code, "{method} {path}");
                assert_eq!(value["status"].to_string(), *status, "{method} {path} {code}");
                told.insert(code.clone());
            }
        }
    }
    for code in [
        "invalid_request",
        "unauthenticated",
        "forbidden",
        "order_not_found",
        "task_not_found",
        "product_not_found",
        "idempotency_in_progress",
        "order_not_confirmable",
        "order_not_cancellable",
        "order_not_refundable",
        "refund_in_progress",
        "payload_too_large",
        "unsupported_media_type",
        "order_invalid",
        "payment_rejected",
        "refund_exceeds_payment",
        "idempotency_key_reused",
        "rate_limited",
        "internal",
        "overloaded",
        "storage_unavailable",
        "catalog_unavailable",
        "payment_system_unavailable",
        "deadline_exceeded",
        "signature_invalid",
    ] {
        assert!(told.contains(code), "{code}");
    }
}

#[test]
fn who_must_say_who_asks_is_told_of_401_403_and_429() {
    for (method, path, operation) in operations(&document()) {
        let asks = operation.get("security").is_some();
        assert_eq!(
            asks,
            path.starts_with("/v1/") && !path.contains("/webhooks/"),
            "{method} {path}"
        );
        for (status, code, header) in [
            ("401", "unauthenticated", "WWW-Authenticate"),
            ("403", "forbidden", ""),
            ("429", "rate_limited", "Retry-After"),
        ] {
            let response = &operation["responses"][status];
            let examples = &response["content"]["application/problem+json"]["examples"];
            // Unsigned hints have a budget.
            let hinted = code == "rate_limited" && path.contains("/webhooks/");
            assert_eq!(examples.get(code).is_some(), asks || hinted, "{method} {path} {code}");
            let told = header.is_empty() || response["headers"].get(header).is_some();
            assert!(told || !asks, "{method} {path} {header}");
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn check(node: &Value, document: &Value) {
        match node {
            Value::Object(members) => {
                if let Some(Value::String(target)) = members.get("$ref") {
                    assert!(document.pointer(&target[1..]).is_some(), "{target}");
                }
                members.values().for_each(|member| check(member, document));
            }
            Value::Array(elements) => elements.iter().for_each(|element| check(element, document)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let document = document();
    check(&document, &document);
}

#[test]
fn operation_ids_are_unique() {
    let all = operations(&document());
    let ids: BTreeSet<_> =
        all.iter().map(|(_, _, operation)| operation["operationId"].to_string()).collect();
    assert_eq!(ids.len(), all.len());
}

#[tokio::test]
async fn what_is_answered_has_the_members_that_are_documented() {
    let harness = Harness::open();
    let document = document();
    let members = |schema: &str| -> BTreeSet<String> {
        let properties = &document["components"]["schemas"][schema]["properties"];
        properties.as_object().unwrap().keys().cloned().collect()
    };
    let id = harness.order().await;
    let confirmed = harness.confirm(&id).await.json;
    let order = harness.get(&format!("/v1/orders/{id}")).await.json;
    let product = harness.get("/v1/products/p-1").await.json;
    let page = harness.get("/v1/orders").await.json;
    for (schema, body) in [
        ("Registered", &confirmed),
        ("Order", &order),
        ("OrderItem", &order["items"][0]),
        ("Payment", &order["payment"]),
        ("Money", &order["total"]),
        ("Product", &product),
        ("OrderPage", &page),
    ] {
        let answered: BTreeSet<String> = body.as_object().unwrap().keys().cloned().collect();
        assert_eq!(answered, members(schema), "{schema}");
    }
}

#[tokio::test]
async fn the_page_runs_no_script_but_its_own() {
    let harness = Harness::open();
    let page = harness.get("/docs").await;
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").starts_with("text/html"));
    assert!(page.header("content-security-policy").contains("script-src 'self'"));
    let html = String::from_utf8(page.bytes).unwrap();
    assert!(!html.contains("http://") && !html.contains("https://"), "{html}");
    for (path, content_type) in
        [("/docs/page.js", "text/javascript"), ("/docs/page.css", "text/css")]
    {
        assert!(html.contains(path));
        let file = harness.get(path).await;
        assert_eq!((file.status.as_u16(), file.header("content-type")), (200, content_type));
    }
    let document = harness.get("/openapi.json").await;
    assert_eq!(
        (document.status.as_u16(), document.header("content-type")),
        (200, "application/json")
    );
    assert_eq!(document.json["info"]["title"], "OrderService");
}

#[tokio::test]
async fn the_collection_holds_every_operation_ready_to_send() {
    let harness = Harness::open();
    let collection = harness.get("/docs/postman.json").await.json;
    let folders = collection["item"].as_array().unwrap();
    let items: Vec<&Value> = folders.iter().flat_map(|it| it["item"].as_array().unwrap()).collect();
    assert_eq!(items.len(), operations(&document()).len());
    let body = |name: &str| {
        let item = items.iter().find(|item| item["name"] == name).unwrap();
        let raw = item["request"]["body"]["raw"].as_str().unwrap();
        serde_json::from_str::<Value>(raw).unwrap()
    };
    let placed = harness.post("/v1/orders", &body("Place an order")).await;
    assert_eq!(placed.status, 201, "{}", placed.json);
    assert!(collection.to_string().contains("\"raw\":\"{{api}}/v1/orders/:id/confirm\""));
}
