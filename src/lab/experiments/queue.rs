//! More calls come than the partner can serve. A queue does not serve one more of them: it only makes all
//! of them wait before they are served or refused.

use crate::adapters::resilience::settings::BulkheadConfig;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::{bare, patient, semaphore};
use crate::lab::load::{Ending, Samples, at_random, millis, open_loop};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Report, claim, percent, row};
use crate::lab::text::{same, text};
use std::time::Duration;

/// `MAX_QUEUE` and `MAX_WAIT`.
const QUEUES: [(u32, Duration); 4] = [(0, ms(0)), (5, ms(100)), (20, secs(1)), (50, secs(5))];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let found = QUEUES.map(|(queue, wait)| virtual_time(measure(queue, wait, scale)));
    let name = |queue: u32, wait: Duration| same(format!("{queue} / {} ms", wait.as_millis()));
    let rows = QUEUES.iter().zip(&found).map(|((queue, wait), samples)| {
        let answered = samples.only(|sample| sample.ending == Ending::Answered);
        let [p50, p95, p99] = answered.percentiles();
        row(name(*queue, *wait), [percent(samples.share(Ending::Answered)), p50, p95, p99])
    });
    let p99 =
        |samples: &Samples| millis(samples.only(|s| s.ending == Ending::Answered).percentile(99));
    let [none, tiny, _, long] = &found;
    Report {
        columns: vec![
            text("MAX_QUEUE / MAX_WAIT at 120 % load", "MAX_QUEUE / MAX_WAIT при нагрузке 120 %"),
            text("answered", "отвечено"),
            text("P50 of the answered, ms", "P50 отвеченных, мс"),
            text("P95, ms", "P95, мс"),
            text("P99, ms", "P99, мс"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "P99 of answered calls, by queue",
                    "P99 отвеченных вызовов в зависимости от очереди",
                ),
                x: text("queue / wait", "очередь / ожидание"),
                y: text("ms", "мс"),
                logarithmic: false,
            },
            QUEUES.map(|(queue, wait)| name(queue, wait)).to_vec(),
            vec![(
                text("P99", "P99"),
                found
                    .iter()
                    .map(|samples| f64::from(u32::try_from(p99(samples)).unwrap_or(u32::MAX)))
                    .collect(),
            )],
        ),
        claims: vec![
            claim(
                p99(tiny) < p99(long),
                text("The P99 grows with the queue.", "P99 растёт вместе с очередью."),
            ),
            claim(
                long.share(Ending::Answered) - tiny.share(Ending::Answered) < 0.1
                    && tiny.share(Ending::Answered) > none.share(Ending::Answered),
                text(
                    "A tiny queue smooths chance; beyond it the share that is answered hardly grows, since the partner sets it.",
                    "Крошечная очередь сглаживает случай; дальше доля отвеченных почти не растёт: её задаёт партнёр.",
                ),
            ),
        ],
    }
}

async fn measure(queue: u32, wait: Duration, scale: Scale) -> Samples {
    let during = secs(if scale == Scale::Full { 60 } else { 30 });
    let partner = Partner::new(|_| Manner::Answers(ms(200)));
    // Ten at a time of 200 ms are fifty a second; sixty come.
    let config = BulkheadConfig {
        max_concurrent: 10,
        max_queue: queue,
        max_wait: wait,
        ..BulkheadConfig::default()
    };
    let semaphore = semaphore(&config);
    let samples = open_loop(at_random(60.0, during), async |_| {
        let permit = semaphore.acquire(patient()).await?;
        permit.hold(bare(secs(2), &partner)).await
    });
    samples.await
}
