//! Recommendations are down. An instance that calls itself ill for that is taken out by its load balancer,
//! and so are all the others. The whole service runs, with the sandbox's partners.

use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, real_time};
use crate::lab::report::{Report, claim, count, row};
use crate::lab::service::Service;
use crate::lab::text::{Text, text};
use crate::sandbox::{Mood, PartnerName};
use serde_json::json;
use tokio::time::sleep;

const CUSTOMERS: usize = 20;

static NAMES: [Text; 2] = [
    text("READINESS_EXTERNAL=strict", "READINESS_EXTERNAL=strict"),
    text("READINESS_EXTERNAL=report", "READINESS_EXTERNAL=report"),
];

pub(in crate::lab) fn run(_scale: Scale) -> Report {
    let found = ["strict", "report"].map(|readiness| real_time(measure(readiness)));
    let rows = NAMES.iter().zip(found).map(|(name, (ready, direct, behind))| {
        row(name.clone(), [ready.to_string(), count(direct), count(behind)])
    });
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let series = NAMES.iter().zip(found);
    let series = series
        .map(|(name, (_, direct, behind))| (name.clone(), vec![exact(direct), exact(behind)]));
    let [strict, report] = found;
    Report {
        columns: vec![
            text(
                "recommendations are down; 20 customers order",
                "рекомендации недоступны; 20 покупателей заказывают",
            ),
            text("/health/ready", "/health/ready"),
            text("the instance could serve", "экземпляр мог обслужить"),
            text(
                "served through a balancer that asks it",
                "обслужено через балансировщик, который его спрашивает",
            ),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text("Orders of twenty customers", "Заказы двадцати покупателей"),
                x: text("", ""),
                y: text("orders", "заказы"),
                logarithmic: false,
            },
            vec![
                text("could be served", "могли быть приняты"),
                text("were served behind a balancer", "приняты за балансировщиком"),
            ],
            series.collect(),
        ),
        claims: vec![claim(
            strict.1 == report.1 && report.2 > strict.2,
            text(
                "Readiness that only reports keeps serving; strict readiness turns a partner's outage into one's own.",
                "Готовность, которая лишь сообщает, служит дальше; строгая превращает чужой отказ в свой.",
            ),
        )],
    }
}

/// The status of readiness, orders taken directly, and through a balancer that believes it.
async fn measure(readiness: &str) -> (u16, usize, usize) {
    let short = [("READINESS_EXTERNAL", readiness), ("RECOMMENDATIONS_CB_MIN_REQUESTS", "1")];
    let service = Service::start(&short).await;
    service.all(&[PartnerName::Recommendations], Mood::Down).await;
    // A few customers find out, and the breaker opens.
    for _ in 0..3 {
        service.get("/v1/customers/c-1/recommendations").await;
    }
    sleep(ms(50)).await;
    let ready = service.get("/health/ready").await.status;
    let new = json!({"customer_id": "c-1", "items": [{"product_id": "p-1", "quantity": 1}]});
    let mut direct = 0;
    for _ in 0..CUSTOMERS {
        direct += usize::from(service.post("/v1/orders", &new).await.status == 201);
    }
    (ready, direct, if ready == 200 { direct } else { 0 })
}
