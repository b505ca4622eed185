//! Every failure has one shape, and none shows what is inside.

use crate::harness::{Harness, Options, one_item, request};
use order_service::adapters::inbound::http_kit::code::Code;
use order_service::adapters::inbound::http_kit::lang::Lang;
use serde_json::json;
use std::sync::atomic::Ordering;

#[tokio::test]
async fn an_unknown_address_is_a_problem_like_any_other() {
    let harness = Harness::open();
    for path in ["/v1", "/v1/orders/", "/v2/orders", "/v1/products/", "/nowhere?x=1"] {
        let reply = harness.get(path).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (404, "not_found"), "{path}");
        assert_eq!(reply.header("content-type"), "application/problem+json");
        assert!(!reply.header("x-request-id").is_empty());
    }
}

#[tokio::test]
async fn a_problem_names_its_type_its_place_and_its_trace() {
    let harness = Harness::open();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let reply = harness.get_with("/v1/tasks/1?wait=1s", &[("traceparent", trace)]).await;
    assert_eq!(
        reply.json,
        json!({
            "type": "/problems/task-not-found",
            "title": "Task not found",
            "status": 404,
            "code": "task_not_found",
            "detail": "There is no such task.",
            "instance": "/v1/tasks/1",
            "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
        })
    );
    assert_eq!(reply.header("vary"), "accept-language");
}

#[tokio::test]
async fn people_are_spoken_to_in_the_language_they_prefer() {
    let harness = Harness::with(Options { queueing: false, ..Options::default() });
    let id = harness.order().await;
    harness.every_provider_behaves(crate::fakes::Behaviour::BreakerOpen);
    let path = format!("/v1/orders/{id}/confirm");
    let reply = harness.act(&path, &[("accept-language", "ru-RU,ru;q=0.9,en;q=0.8")]).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (503, "payment_system_unavailable"));
    assert_eq!(reply.json["detail"], "Платёжная система временно недоступна, повторите позже");
    assert_eq!(reply.header("retry-after"), "13");
    let reply = harness.act(&path, &[("accept-language", "en, ru;q=0.5")]).await;
    assert!(reply.json["detail"].as_str().unwrap().starts_with("The payment system"));
    let order = harness.get(&format!("/v1/orders/{id}")).await;
    assert_eq!(order.json["status"], "new");
    let reply = harness.get_with("/v1/orders?limit=0", &[("accept-language", "ru")]).await;
    assert_eq!(reply.json["errors"][0]["detail"], "должно быть целым числом от 1 до 100");
}

#[tokio::test]
async fn a_wrong_method_is_told_which_ones_are_right() {
    let harness = Harness::open();
    for (method, path, allowed) in [
        ("DELETE", "/v1/orders", "GET,HEAD,POST"),
        ("PUT", "/v1/orders/x/confirm", "POST"),
        ("POST", "/health/live", "GET,HEAD"),
        ("GET", "/v1/webhooks/odnakassa", "POST"),
        ("PATCH", "/v1/tasks/1", "GET,HEAD"),
    ] {
        let reply = harness.send(request(method, path, &[], None)).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (405, "method_not_allowed"), "{path}");
        let mut allow: Vec<&str> = reply.header("allow").split(',').map(str::trim).collect();
        allow.sort_unstable();
        assert_eq!(allow.join(","), allowed, "{method} {path}");
    }
}

#[tokio::test]
async fn a_lost_database_is_a_503_and_comes_back_by_itself() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.store.down.store(true, Ordering::Relaxed);
    let order = format!("/v1/orders/{id}");
    for reply in [
        harness.post("/v1/orders", &one_item()).await,
        harness.get(&order).await,
        harness.get("/v1/orders").await,
        harness.get("/v1/tasks/1").await,
        harness.confirm(&id).await,
        harness.act(&format!("{order}/cancel"), &[]).await,
    ] {
        assert_eq!((reply.status.as_u16(), reply.code()), (503, "storage_unavailable"));
        assert_eq!(reply.header("retry-after"), "1");
    }
    harness.store.down.store(false, Ordering::Relaxed);
    assert_eq!(harness.get(&order).await.status, 200);
}

#[tokio::test]
async fn what_cannot_happen_shows_nothing_of_the_inside() {
    let harness = Harness::open();
    let id = harness.order().await;
    harness.store.corrupt.store(true, Ordering::Relaxed);
    let reply = harness.get(&format!("/v1/orders/{id}")).await;
    assert_eq!((reply.status.as_u16(), reply.code()), (500, "internal"));
    let body = String::from_utf8(reply.bytes).unwrap();
    assert!(!body.contains("SELECT") && !body.contains("storage"), "{body}");
}

#[tokio::test]
async fn a_panic_is_a_500_and_the_next_request_is_served() {
    let harness = Harness::open();
    harness.catalog.panics.store(true, Ordering::Relaxed);
    for reply in
        [harness.get("/v1/products/p-1").await, harness.post("/v1/orders", &one_item()).await]
    {
        assert_eq!((reply.status.as_u16(), reply.code()), (500, "internal"));
        assert!(!reply.header("x-request-id").is_empty());
    }
    harness.catalog.panics.store(false, Ordering::Relaxed);
    assert_eq!(harness.get("/v1/products/p-1").await.status, 200);
}

/// The tables of the shop's guides, made from the code: `UPDATE_DOCS=1` writes them anew.
#[test]
fn the_guides_say_of_every_problem_what_to_do_about_it() {
    let heads = [
        ("docs/shop-guide.md", Lang::En, "| `code` | status | ask again | show the buyer | mend |"),
        (
            "docs/shop-guide.ru.md",
            Lang::Ru,
            "| `code` | статус | повторять | показать покупателю | исправить |",
        ),
    ];
    for (page, lang, head) in heads {
        let path = format!("{}/{page}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once("<!-- problems -->\n").unwrap();
        let (_, after) = rest.split_once("<!-- /problems -->").unwrap();
        let mut table = format!("{head}\n|---|---|---|---|---|\n");
        for code in Code::ALL {
            let (word, status, advice) = (code.as_str(), code.status().as_u16(), code.advice());
            let [retry, show, fix] =
                [advice.retry, advice.show, advice.fix].map(|text| text.in_lang(lang));
            table += &format!("| `{word}` | {status} | {retry} | {show} | {fix} |\n");
        }
        let made = format!("{before}<!-- problems -->\n{table}<!-- /problems -->{after}");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        assert!(made == std::fs::read_to_string(&path).unwrap(), "UPDATE_DOCS=1 mends {page}");
    }
}

#[tokio::test]
async fn the_type_of_every_problem_leads_to_its_page() {
    let harness = Harness::open();
    for code in Code::ALL {
        let page = harness.get_with(&code.type_uri(), &[("accept-language", "ru")]).await;
        assert_eq!(page.status, 200, "{code:?}");
        let text = String::from_utf8(page.bytes).unwrap();
        assert!(text.contains(&format!("<code>{}</code>", code.as_str())), "{text}");
        assert!(
            text.contains("<html lang=\"ru\">")
                && text.matches("<code>").count() == text.matches("</code>").count()
        );
    }
    assert_eq!(harness.get("/problems/nothing-of-ours").await.code(), "not_found");
    let first = harness.get("/").await;
    assert_eq!((first.status.as_u16(), first.header("location")), (303, "/docs"));
}
