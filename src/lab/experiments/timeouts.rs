//! One call in fifty hangs. How long is it waited for? The limit is chosen from the measured times of good
//! answers: just above their P99.9, not at a round number.

use crate::adapters::resilience::settings::BulkheadConfig;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::{bare, patient, semaphore};
use crate::lab::load::{Ending, Samples, at_random, open_loop};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Report, claim, count, percent, row};
use crate::lab::text::{Text, same, text};
use std::time::Duration;

/// The measured times of good answers end at about 500 ms.
const LIMITS: [Duration; 5] = [ms(150), ms(600), secs(2), secs(10), secs(30)];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let found = LIMITS.map(|limit| virtual_time(measure(limit, scale)));
    let rows = LIMITS.iter().zip(&found).map(|(limit, (samples, most))| {
        let [p50, p95, p99] = samples.percentiles();
        let (answered, shed) = (samples.share(Ending::Answered), samples.share(Ending::Shed));
        row(
            same(format!("{} ms", limit.as_millis())),
            [percent(answered), percent(shed), p50, p95, p99, count(most)],
        )
    });
    let good = |at: usize| found[at].0.share(Ending::Answered);
    let names = LIMITS.map(|limit| same(format!("{} ms", limit.as_millis())));
    Report {
        columns: columns(),
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "Calls answered, by the call timeout",
                    "Доля ответов в зависимости от предела вызова",
                ),
                x: text("call timeout", "предел вызова"),
                y: text("%", "%"),
                logarithmic: false,
            },
            names.to_vec(),
            vec![(
                text("answered", "отвечено"),
                (0..LIMITS.len()).map(|at| good(at) * 100.0).collect(),
            )],
        ),
        claims: vec![
            claim(
                good(1) > good(0),
                text(
                    "A limit below the partner's ordinary tail cuts off good answers.",
                    "Предел ниже обычного хвоста партнёра обрывает хорошие ответы.",
                ),
            ),
            claim(
                good(1) > good(4),
                text(
                    "A limit far above it lets the hung ones take the permits of the others.",
                    "Предел намного выше отдаёт зависшим места остальных.",
                ),
            ),
            claim(
                found[1].0.percentile(99) < found[3].0.percentile(99),
                text("The right one brings the P99 down.", "Верный опускает P99."),
            ),
        ],
    }
}

fn columns() -> Vec<Text> {
    vec![
        text("CALL_TIMEOUT; 2 % of calls hang", "CALL_TIMEOUT; 2 % вызовов висят"),
        text("answered", "отвечено"),
        text("found no permit", "не нашлось места"),
        text("P50, ms", "P50, мс"),
        text("P95, ms", "P95, мс"),
        text("P99, ms", "P99, мс"),
        text("most in flight", "одновременно, максимум"),
    ]
}

async fn measure(limit: Duration, scale: Scale) -> (Samples, usize) {
    let during = secs(if scale == Scale::Full { 120 } else { 60 });
    let partner = Partner::new(|_| match fastrand::u32(0..100) {
        0..2 => Manner::Hangs,
        2..20 => Manner::Answers(ms(fastrand::u64(150..500))),
        _ => Manner::Answers(ms(fastrand::u64(40..150))),
    });
    let semaphore = semaphore(&BulkheadConfig::default());
    let samples = open_loop(at_random(50.0, during), async |_| {
        let permit = semaphore.acquire(patient()).await?;
        permit.hold(bare(limit, &partner)).await
    });
    (samples.await, partner.most_in_flight())
}
