//! A thousand instances lose the same partner in the same second. Without jitter they all come back in the
//! same second too, and what has just got up is knocked down by probes.

use crate::adapters::resilience::breaker::{Breaker, BreakerConfig};
use crate::adapters::resilience::verdict::Verdict;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::breaker;
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{same, text};
use tokio::time::sleep;

const JITTERS: [f64; 4] = [0.0, 0.1, 0.3, 1.0];
/// Tenths of a second that are watched, from the moment of opening on.
const WATCHED: usize = 620;

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let instances = scale.of(1_000, 200);
    let found = JITTERS.map(|jitter| virtual_time(measure(jitter, instances)));
    let most = |probes: &Vec<usize>| probes.iter().copied().max().unwrap_or(0);
    let rows = JITTERS.iter().zip(&found).map(|(jitter, probes)| {
        let last = probes.iter().rposition(|n| *n > 0).unwrap_or(0);
        row(
            same(format!("{jitter:.1}")),
            [count(most(probes)), format!("{}.{}", last / 10, last % 10)],
        )
    });
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let peaks = found.iter().map(|probes| exact(most(probes))).collect();
    Report {
        columns: vec![
            text(
                "CB_OPEN_JITTER, 1 000 instances, open for 30 s",
                "CB_OPEN_JITTER, 1 000 экземпляров, открыты на 30 с",
            ),
            text("most first probes in a tenth of a second", "больше всего первых проб за 0,1 с"),
            text("last instance probes at, s", "последний пробует на секунде"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "The worst tenth of a second after recovery",
                    "Худшая десятая доля секунды после восстановления",
                ),
                x: text("jitter", "разброс"),
                y: text("first probes", "первые пробы"),
                logarithmic: false,
            },
            JITTERS.map(|jitter| same(format!("{jitter:.1}"))).to_vec(),
            vec![(text("probes", "пробы"), peaks)],
        ),
        claims: vec![claim(
            most(&found[1]) * 3 < most(&found[0]),
            text(
                "With a jitter of a tenth the peak of probes falls to a fraction.",
                "С разбросом в десятую пик проб падает в разы.",
            ),
        )],
    }
}

/// First probes in each tenth of a second.
async fn measure(jitter: f64, instances: usize) -> Vec<usize> {
    let config = BreakerConfig {
        min_requests: 1,
        open_timeout: secs(30),
        open_jitter: jitter,
        ..BreakerConfig::default()
    };
    let mut open: Vec<Breaker> = (0..instances).map(|_| breaker(&config)).collect();
    for breaker in &open {
        if let Ok(permit) = breaker.try_acquire() {
            permit.record(Verdict::Failing, ms(1));
        }
    }
    let mut probes = Vec::new();
    for _ in 0..WATCHED {
        let before = open.len();
        open.retain(|breaker| breaker.check().is_err());
        probes.push(before - open.len());
        sleep(ms(100)).await;
    }
    probes
}
