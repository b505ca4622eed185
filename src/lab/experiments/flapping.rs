//! A partner that is well for half a minute and ill for the next, all day. Each recovery is believed, each
//! relapse is paid for, unless the open time learns from it. Twelve hours pass here while you read this
//! line: time that nobody waits for is not slept through.

use crate::adapters::resilience::breaker::{BreakerConfig, BreakerState};
use crate::adapters::resilience::verdict::Verdict;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::breaker;
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{same, text};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const GROWTH: [Option<Duration>; 3] = [None, Some(secs(120)), Some(secs(600))];
const NAMES: [&str; 3] = ["30s (CB_OPEN_TIMEOUT_MAX unset)", "30s … 2m", "30s … 10m"];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let hours = scale.of(12, 2);
    let found = GROWTH.map(|most| virtual_time(measure(most, hours)));
    let rows = NAMES.iter().zip(found).map(|(name, of)| row(same(*name), of.map(count)));
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let series = [(text("openings", "открытия"), 0), (text("failed calls", "неудачные вызовы"), 1)];
    let series = series.map(|(name, of)| (name, found.map(|found| exact(found[of])).to_vec()));
    Report {
        columns: vec![
            text(
                "a partner that is well for 30 s and ill for 30 s, 12 h",
                "партнёр 30 с здоров, 30 с болен, 12 часов",
            ),
            text("openings", "открытий"),
            text("failed calls", "неудачных вызовов"),
            text("good calls", "хороших вызовов"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "Twelve hours of flapping, by the longest open time",
                    "Двенадцать часов мерцания по наибольшему времени открытия",
                ),
                x: text("open time", "время открытия"),
                y: text("", ""),
                logarithmic: false,
            },
            vec![same("30s"), same("30s … 2m"), same("30s … 10m")],
            series.to_vec(),
        ),
        claims: vec![
            claim(
                found[2][0] < found[0][0],
                text(
                    "With an open time that grows it opens less often.",
                    "С растущим временем открытия он открывается реже.",
                ),
            ),
            claim(
                found[2][1] < found[0][1],
                text(
                    "And fewer calls fail; the price is good calls not made.",
                    "И меньше вызовов терпят неудачу; цена — несделанные хорошие.",
                ),
            ),
        ],
    }
}

/// Openings, failed calls, good calls.
async fn measure(open_timeout_max: Option<Duration>, hours: usize) -> [usize; 3] {
    let breaker = breaker(&BreakerConfig { open_timeout_max, ..BreakerConfig::default() });
    let (begun, mut found) = (Instant::now(), [0; 3]);
    for _ in 0..hours * 3_600 * 2 {
        let ill = begun.elapsed().as_secs() % 60 >= 30;
        let was = breaker.state();
        if let Ok(permit) = breaker.try_acquire() {
            permit.record(if ill { Verdict::Failing } else { Verdict::Healthy }, ms(50));
            found[if ill { 1 } else { 2 }] += 1;
        }
        found[0] += usize::from(was != BreakerState::Open && breaker.state() == BreakerState::Open);
        sleep(ms(500)).await;
    }
    found
}
