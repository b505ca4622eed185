//! All four partners are away. One service says so with every answer; the other says what it knows, marks
//! what is old, and takes the payments into its queue. Then the partners come back. The whole service runs,
//! with the sandbox's partners.

use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, real_time, secs};
use crate::lab::report::{Report, claim, count, row};
use crate::lab::service::Service;
use crate::lab::text::{Text, text};
use crate::sandbox::{Mood, PartnerName};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// Orders that wait to be paid when the partners go.
const ORDERS: usize = 8;

static NAMES: [Text; 2] =
    [text("without fallbacks", "без запасных путей"), text("with fallbacks", "с запасными путями")];

/// What both have: short times, so that the experiment is short.
const SHORT: [(&str, &str); 5] = [
    ("CATALOG_CACHE_TTL", "100ms"),
    ("SBER_CB_OPEN_TIMEOUT", "1s"),
    ("ODNAKASSA_CB_OPEN_TIMEOUT", "1s"),
    ("TASK_BACKOFF", "200ms"),
    ("TASK_POLL_INTERVAL", "200ms"),
];
const WITHOUT: [(&str, &str); 2] =
    [("CATALOG_MAX_STALE", "100ms"), ("PAYMENT_UNAVAILABLE_MODE", "reject")];

#[derive(Clone, Copy, Default)]
struct Finding {
    products: usize,
    marked: usize,
    accepted: usize,
    registered: usize,
}

pub(in crate::lab) fn run(_scale: Scale) -> Report {
    let without: Vec<_> = SHORT.iter().chain(&WITHOUT).copied().collect();
    let found = [real_time(measure(&without)), real_time(measure(&SHORT))];
    let numbers = |of: Finding| [of.products, of.marked, of.accepted, of.registered];
    let rows = NAMES.iter().zip(found).map(|(name, of)| row(name.clone(), numbers(of).map(count)));
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let series = NAMES.iter().zip(found).map(|(name, of)| {
        (name.clone(), [of.products, of.accepted, of.registered].map(exact).to_vec())
    });
    let [plain, fallback] = found;
    Report {
        columns: columns(),
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "What eight customers got while everybody was away",
                    "Что получили восемь покупателей, пока никого не было",
                ),
                x: text("", ""),
                y: text("customers", "покупатели"),
                logarithmic: false,
            },
            vec![
                text("product shown", "товар показан"),
                text("confirm accepted", "подтверждение принято"),
                text("registered later", "зарегистрировано потом"),
            ],
            series.collect(),
        ),
        claims: vec![
            claim(
                fallback.products > plain.products && fallback.marked == fallback.products,
                text(
                    "With a fallback products are shown, each marked as stale.",
                    "С запасным путём товары показаны, каждый с пометкой.",
                ),
            ),
            claim(
                fallback.accepted > plain.accepted && fallback.registered == ORDERS,
                text(
                    "Payments are accepted, and every one is registered when the partners are back.",
                    "Платежи приняты, и каждый зарегистрирован, когда партнёры вернулись.",
                ),
            ),
            claim(
                plain.registered == 0,
                text(
                    "What was refused stays with the customer to repeat.",
                    "Что отказано, повторять покупателю.",
                ),
            ),
        ],
    }
}

fn columns() -> Vec<Text> {
    vec![
        text("all partners away; eight customers", "все партнёры недоступны; восемь покупателей"),
        text("product shown", "товар показан"),
        text("of those marked stale", "из них с пометкой stale"),
        text("confirm accepted (200 or 202)", "подтверждение принято (200 или 202)"),
        text(
            "registered once the partners were back, by nobody's deed",
            "зарегистрировано после возвращения, само",
        ),
    ]
}

async fn measure(variables: &[(&str, &str)]) -> Finding {
    let service = Service::start(variables).await;
    let new = json!({"customer_id": "c-1", "items": [{"product_id": "p-1", "quantity": 1}]});
    let mut orders = Vec::new();
    for _ in 0..ORDERS {
        let reply = service.post("/v1/orders", &new).await;
        orders.extend(reply.body["id"].as_str().map(str::to_owned));
    }
    service.all(&PartnerName::ALL, Mood::Down).await;
    sleep(ms(300)).await;

    let mut found = Finding::default();
    for order in &orders {
        let product = service.get("/v1/products/p-1").await;
        found.products += usize::from(product.status == 200);
        found.marked += usize::from(product.body["stale"] == true);
        let confirmed = service.post(&format!("/v1/orders/{order}/confirm"), &json!({})).await;
        found.accepted += usize::from(matches!(confirmed.status, 200 | 202));
    }
    service.all(&PartnerName::ALL, Mood::Ok).await;
    found.registered = registered(&service, &orders, found.accepted).await;
    found
}

/// How many of them are registered soon after; waits no longer than it takes.
async fn registered(service: &Service, orders: &[String], expected: usize) -> usize {
    let end = Instant::now() + secs(20);
    loop {
        let mut registered = 0;
        for order in orders {
            let status: Value =
                service.get(&format!("/v1/orders/{order}")).await.body["status"].take();
            registered += usize::from(status == "awaiting_payment");
        }
        if registered >= expected || Instant::now() > end {
            return registered;
        }
        sleep(ms(200)).await;
    }
}
