//! A partner that answers everything, correctly, after six seconds. Nothing fails, so nothing opens, unless
//! slowness itself counts.

use crate::adapters::resilience::breaker::{BreakerConfig, SlowAs};
use crate::adapters::resilience::guards::GuardConfig;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::{defaults, guarded, guards, patient};
use crate::lab::load::{Ending, Samples, at_random, open_loop};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{Text, text};

static VARIANTS: [(SlowAs, Text); 2] = [
    (SlowAs::Ignore, text("CB_SLOW_AS=ignore", "CB_SLOW_AS=ignore")),
    (SlowAs::Failure, text("CB_SLOW_AS=failure", "CB_SLOW_AS=failure")),
];

pub(in crate::lab) fn run(_scale: Scale) -> Report {
    let found = [0, 1].map(|n: usize| virtual_time(measure(VARIANTS[n].0)));
    let rows = VARIANTS.iter().zip(&found).map(|((_, name), (samples, most))| {
        let [p50, p95, p99] = samples.percentiles();
        row(name.clone(), [p50, p95, p99, count(samples.count(Ending::Shed)), count(*most)])
    });
    let lines = VARIANTS.iter().zip(&found);
    let lines = lines.map(|((_, name), (samples, _))| (name.clone(), samples.worst_per(secs(1))));
    let [(ignored, _), (counted, _)] = &found;
    Report {
        columns: vec![
            text(
                "from second 10 on every answer takes 6 s",
                "с 10-й секунды каждый ответ идёт 6 с",
            ),
            text("P50, ms", "P50, мс"),
            text("P95, ms", "P95, мс"),
            text("P99, ms", "P99, мс"),
            text("refused at once", "отказ сразу"),
            text("most in flight", "одновременно, максимум"),
        ],
        rows: rows.collect(),
        chart: Chart::Lines(
            Plot {
                title: text(
                    "How long a call takes while the partner is slow",
                    "Сколько длится вызов, пока партнёр медлит",
                ),
                x: text("seconds", "секунды"),
                y: text("ms (the worst of each second)", "мс (худший за секунду)"),
                logarithmic: true,
            },
            lines.collect(),
        ),
        claims: vec![claim(
            counted.percentile(95) < ignored.percentile(95),
            text(
                "Where slow counts as failed, the P95 falls.",
                "Где медленное считается отказом, P95 падает.",
            ),
        )],
    }
}

async fn measure(slow_as: SlowAs) -> (Samples, usize) {
    let partner =
        Partner::new(|now| Manner::Answers(if now < secs(10) { ms(100) } else { secs(6) }));
    let breaker =
        BreakerConfig { slow_as, slow_call_threshold: secs(1), ..BreakerConfig::default() };
    let config = GuardConfig { breaker, ..defaults(secs(15)) };
    let guards = guards(&config);
    let samples =
        open_loop(at_random(10.0, secs(60)), async |_| guarded(&guards, patient(), &partner).await);
    (samples.await, partner.most_in_flight())
}
