//! How many permits? Little's law: calls in flight = calls a second × seconds each takes. Fifty a second of
//! 200 ms are ten in flight on the average, and chance needs some room above the average.

use crate::adapters::resilience::settings::BulkheadConfig;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::{bare, patient, semaphore};
use crate::lab::load::{Ending, Samples, at_random, millis, open_loop};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Report, claim, count, percent, row};
use crate::lab::text::{same, text};

const PERMITS: [u32; 6] = [5, 10, 12, 16, 20, 40];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let found = PERMITS.map(|permits| virtual_time(measure(permits, scale)));
    let shed = |samples: &Samples| samples.share(Ending::Shed);
    let rows = PERMITS.iter().zip(&found).map(|(permits, (samples, most))| {
        let p99 = count(millis(samples.percentile(99)));
        row(same(permits.to_string()), [percent(shed(samples)), p99, count(most)])
    });
    Report {
        columns: vec![
            text(
                "MAX_CONCURRENT at 50 calls/s of 200 ms",
                "MAX_CONCURRENT при 50 вызовах/с по 200 мс",
            ),
            text("shed", "отказано"),
            text("P99, ms", "P99, мс"),
            text("most in flight", "одновременно, максимум"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "Share of healthy calls that are shed, by permits (Little: 10)",
                    "Доля отброшенных здоровых вызовов по числу мест (Литтл: 10)",
                ),
                x: text("permits", "места"),
                y: text("%", "%"),
                logarithmic: false,
            },
            PERMITS.map(|permits| same(permits.to_string())).to_vec(),
            vec![(
                text("shed", "отказано"),
                found.iter().map(|(samples, _)| shed(samples) * 100.0).collect(),
            )],
        ),
        claims: vec![
            claim(
                shed(&found[1].0) > 0.02,
                text(
                    "Permits for the average alone shed healthy calls.",
                    "Мест ровно на среднее не хватает: отказы здоровым.",
                ),
            ),
            claim(
                shed(&found[4].0) < 0.01 && found[5].1 <= 30,
                text(
                    "Twice the average sheds next to nothing, and more is never used.",
                    "Вдвое больше среднего почти не отказывает, а большее не используется.",
                ),
            ),
        ],
    }
}

async fn measure(permits: u32, scale: Scale) -> (Samples, usize) {
    let during = secs(if scale == Scale::Full { 60 } else { 20 });
    let partner = Partner::new(|_| Manner::Answers(ms(200)));
    let config = BulkheadConfig {
        max_concurrent: permits,
        max_queue: 0,
        max_wait: ms(0),
        ..BulkheadConfig::default()
    };
    let semaphore = semaphore(&config);
    let samples = open_loop(at_random(50.0, during), async |_| {
        let permit = semaphore.acquire(patient()).await?;
        permit.hold(bare(secs(2), &partner)).await
    });
    (samples.await, partner.most_in_flight())
}
