//! One partner hangs. Its callers take every place that the service has, or only their own.

use crate::adapters::resilience::semaphore::Semaphore;
use crate::adapters::resilience::settings::BulkheadConfig;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::{bare, patient, semaphore};
use crate::lab::load::{Ending, Samples, at_random, open_loop};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Report, Row, claim, count, percent, row};
use crate::lab::text::{Text, text};

/// The service's places, shared by all or divided.
const PLACES: u32 = 40;

struct Finding {
    hung: Samples,
    healthy: Samples,
}

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let shared = virtual_time(measure(false, scale));
    let apart = virtual_time(measure(true, scale));
    let name = [
        text("one pool of 40", "общий пул на 40"),
        text("a bulkhead of 20 for each", "по 20 мест каждому"),
    ];
    let columns = vec![
        text(
            "the catalog answers in 50 ms; the other partner hangs from second 5 on",
            "каталог отвечает за 50 мс; другой партнёр висит с 5-й секунды",
        ),
        text("catalog P50, ms", "каталог P50, мс"),
        text("P95, ms", "P95, мс"),
        text("P99, ms", "P99, мс"),
        text("catalog answered", "каталог ответил"),
        text("hung partner: shed at once", "к зависшему: отказ сразу"),
    ];
    let lines = name.iter().cloned().zip([&shared, &apart]);
    let lines = lines.map(|(name, found)| (name, found.healthy.worst_per(ms(500)))).collect();
    let plot = Plot {
        title: text(
            "How long a catalog call takes while another partner hangs",
            "Сколько длится вызов каталога, когда висит другой партнёр",
        ),
        x: text("seconds", "секунды"),
        y: text("ms (the worst of each half second)", "мс (худший за полсекунды)"),
        logarithmic: true,
    };
    let [together, divided] = name;
    Report {
        columns,
        rows: vec![line(together, &shared), line(divided, &apart)],
        chart: Chart::Lines(plot, lines),
        claims: vec![
            claim(
                apart.healthy.percentile(99) < shared.healthy.percentile(99),
                text(
                    "With a bulkhead the P99 of the healthy partner falls.",
                    "С отсеком P99 здорового партнёра падает.",
                ),
            ),
            claim(
                apart.healthy.share(Ending::Answered) > shared.healthy.share(Ending::Answered),
                text(
                    "And more of its callers get their answer.",
                    "И больше его вызывающих получают ответ.",
                ),
            ),
            claim(
                apart.hung.count(Ending::Shed) > 0,
                text(
                    "Who finds the bulkhead of the hung one full is told so at once.",
                    "Кто застал отсек зависшего полным, узнаёт об этом сразу.",
                ),
            ),
        ],
    }
}

fn line(name: Text, found: &Finding) -> Row {
    let [p50, p95, p99] = found.healthy.percentiles();
    let answered = percent(found.healthy.share(Ending::Answered));
    row(name, [p50, p95, p99, answered, count(found.hung.count(Ending::Shed))])
}

async fn measure(apart: bool, scale: Scale) -> Finding {
    let during = secs(if scale == Scale::Full { 30 } else { 15 });
    let hung =
        Partner::new(|now| if now < secs(5) { Manner::Answers(ms(50)) } else { Manner::Hangs });
    let healthy = Partner::new(|_| Manner::Answers(ms(50)));
    // A pool that everybody shares has a queue: callers wait for a place.
    let pool = BulkheadConfig {
        max_concurrent: PLACES,
        max_queue: 50,
        max_wait: secs(5),
        ..BulkheadConfig::default()
    };
    let own = BulkheadConfig { max_concurrent: PLACES / 2, ..BulkheadConfig::default() };
    let pool = semaphore(&pool);
    let (first, second) = (semaphore(&own), semaphore(&own));
    let call = async |place: &Semaphore, partner: &Partner<'_>| {
        let permit = place.acquire(patient()).await?;
        permit.hold(bare(secs(10), partner)).await
    };
    let (to_hung, to_healthy) = if apart { (&first, &second) } else { (&pool, &pool) };
    let (hung, healthy) = tokio::join!(
        open_loop(at_random(20.0, during), async |_| call(to_hung, &hung).await),
        open_loop(at_random(100.0, during), async |_| call(to_healthy, &healthy).await),
    );
    Finding { hung, healthy }
}
