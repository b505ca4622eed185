//! Twice as many requests come as the service can serve. One that takes them all serves none in time; one
//! that says no to half serves the other half as if nothing were the matter, and stays open to the bank.

use crate::adapters::inbound::http_kit::limits::ConcurrencyLimit;
use crate::adapters::observe::traffic::Priority;
use crate::core::domain::unavailable::Shed;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::load::{Answer, Ending, Samples, at_random, open_loop};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Report, claim, count, percent, row};
use crate::lab::text::{Text, text};
use std::time::Duration;

/// A client has gone by then, and comes again.
const PATIENCE: Duration = secs(2);

static NAMES: [Text; 2] = [
    text("no limit", "без предела"),
    text(
        "MAX_INFLIGHT_REQUESTS, callbacks apart",
        "MAX_INFLIGHT_REQUESTS, обратные вызовы отдельно",
    ),
];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let found = [usize::MAX, 60].map(|limit| virtual_time(measure(limit, scale)));
    let in_time = |samples: &Samples| {
        let good = samples.only(|s| s.ending == Ending::Answered && s.took <= PATIENCE);
        crate::lab::load::ratio(good.0.len(), samples.0.len())
    };
    let rows = NAMES.iter().zip(&found).map(|(name, (clients, bank))| {
        let answered = clients.only(|s| s.ending == Ending::Answered);
        let [p50, p95, p99] = answered.percentiles();
        let shed = count(clients.count(Ending::Shed));
        row(name.clone(), [percent(in_time(clients)), p50, p95, p99, shed, percent(in_time(bank))])
    });
    let series = NAMES.iter().zip(&found).map(|(name, (clients, bank))| {
        (name.clone(), vec![in_time(clients) * 100.0, in_time(bank) * 100.0])
    });
    let [(all, _), (some, _)] = &found;
    let p99 = |samples: &Samples| samples.only(|s| s.ending == Ending::Answered).percentile(99);
    Report {
        columns: columns(),
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "Answered within two seconds at twice the capacity",
                    "Отвечено за две секунды при двойной нагрузке",
                ),
                x: text("", ""),
                y: text("%", "%"),
                logarithmic: false,
            },
            vec![text("clients", "клиенты"), text("the bank's callbacks", "обратные вызовы банка")],
            series.collect(),
        ),
        claims: vec![
            claim(
                p99(some) < p99(all),
                text(
                    "With a limit the P99 of the answered falls.",
                    "С пределом P99 отвеченных падает.",
                ),
            ),
            claim(
                in_time(some) > in_time(all),
                text(
                    "And more clients get an answer while they still wait.",
                    "И больше клиентов получают ответ, пока ещё ждут.",
                ),
            ),
        ],
    }
}

fn columns() -> Vec<Text> {
    vec![
        text("200 % load for 20 s", "нагрузка 200 % на 20 с"),
        text("clients answered within 2 s", "клиентам отвечено за 2 с"),
        text("P50 of the answered, ms", "P50 отвеченных, мс"),
        text("P95, ms", "P95, мс"),
        text("P99, ms", "P99, мс"),
        text("refused at once (503)", "отказ сразу (503)"),
        text("the bank's callbacks answered within 2 s", "обратным вызовам банка отвечено за 2 с"),
    ]
}

async fn measure(limit: usize, scale: Scale) -> (Samples, Samples) {
    let during = secs(if scale == Scale::Full { 20 } else { 10 });
    // Ten workers of 50 ms each: two hundred a second.
    let service = Partner::new(|_| Manner::Answers(ms(50))).with_servers(10);
    let (requests, callbacks) = (ConcurrencyLimit::new(limit), ConcurrencyLimit::new(limit));
    let serve = async |limit: &ConcurrencyLimit| -> Answer {
        let Some(_permit) = limit.try_acquire(Priority::Money) else {
            return Err(Shed::BulkheadFull.into());
        };
        service.call().await
    };
    tokio::join!(
        open_loop(at_random(390.0, during), async |_| serve(&requests).await),
        open_loop(at_random(10.0, during), async |_| serve(&callbacks).await),
    )
}
