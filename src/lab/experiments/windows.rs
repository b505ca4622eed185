//! What the breaker remembers: the last fifty calls, the last ten seconds, or the failures in a row. The
//! same blip and the same outage look different through each, and traffic decides how.

use crate::adapters::resilience::breaker::{Breaker, BreakerConfig, BreakerState, WindowKind};
use crate::adapters::resilience::verdict::Verdict;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::breaker;
use crate::lab::report::{Report, claim, row};
use crate::lab::text::{Text, same, text};
use std::time::Duration;
use tokio::time::sleep;

/// Calls a second, and how many of them make the day before the trouble.
const TRAFFIC: [(f64, usize); 3] = [(500.0, 6_000), (20.0, 400), (0.1, 60)];
const BLIP: Duration = ms(300);

static WINDOWS: [(WindowKind, Text); 3] = [
    (WindowKind::Count, text("the last 50 calls", "последние 50 вызовов")),
    (WindowKind::Time, text("the last 10 s", "последние 10 с")),
    (WindowKind::Consecutive, text("5 failures in a row", "5 отказов подряд")),
];

/// Seconds from the beginning of trouble until it opened.
type Opened = Option<f64>;

pub(in crate::lab) fn run(_scale: Scale) -> Report {
    let through = |kind: WindowKind, lasts: Duration| {
        TRAFFIC.map(|(rate, calm)| virtual_time(opens(kind, rate, calm, lasts)))
    };
    let found = [0, 1, 2].map(|n: usize| {
        let kind = WINDOWS[n].0;
        (through(kind, BLIP), through(kind, secs(600)))
    });
    let cell = |opened: Opened| opened.map_or("—".to_owned(), |after| format!("{after:.2}"));
    let rows = WINDOWS.iter().zip(found).map(|((_, name), (blip, outage))| {
        let [a, b, c] = blip.map(cell);
        let [d, e, f] = outage.map(cell);
        row(name.clone(), [a, b, c, d, e, f])
    });
    let series = WINDOWS.iter().zip(found).map(|((_, name), (_, outage))| {
        (name.clone(), outage.iter().map(|after| after.unwrap_or(0.0)).collect())
    });
    let [(count_blip, count_outage), (time_blip, time_outage), _] = found;
    Report {
        columns: vec![
            text("opens after (s); — never", "открылся через (с); — никогда"),
            text("0.3 s blip at 500/s", "сбой 0,3 с при 500/с"),
            text("at 20/s", "при 20/с"),
            text("at 0.1/s", "при 0,1/с"),
            text("outage at 500/s", "отказ при 500/с"),
            text("at 20/s", "при 20/с"),
            text("at 0.1/s", "при 0,1/с"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "Seconds until an outage opens the breaker (no bar: never)",
                    "Секунды до открытия при отказе (нет столбца: никогда)",
                ),
                x: text("calls a second", "вызовов в секунду"),
                y: text("s", "с"),
                logarithmic: true,
            },
            ["500", "20", "0.1"].map(same).to_vec(),
            series.collect(),
        ),
        claims: vec![
            claim(
                count_blip[0].is_some() && time_blip[0].is_none(),
                text(
                    "Under much traffic a count window is a blink: a short blip opens it. A time window bears it.",
                    "При большом потоке счётное окно — миг: его открывает короткий сбой. Окно по времени выдерживает.",
                ),
            ),
            claim(
                count_outage[2].is_some() && time_outage[2].is_none(),
                text(
                    "Under little traffic a time window never holds enough calls: it never opens. A count window does.",
                    "При малом потоке окно по времени никогда не наберёт вызовов и не откроется. Счётное откроется.",
                ),
            ),
        ],
    }
}

async fn opens(kind: WindowKind, rate: f64, calm: usize, lasts: Duration) -> Opened {
    let config =
        BreakerConfig { window: kind, consecutive_failures: 5, ..BreakerConfig::default() };
    // The streak of the third kind does not help the other two.
    let alone = if kind == WindowKind::Consecutive { 5 } else { 0 };
    let breaker = breaker(&BreakerConfig { consecutive_failures: alone, ..config });
    let gap = Duration::from_secs_f64(1.0 / rate);
    for _ in 0..calm {
        call(&breaker, Verdict::Healthy);
        sleep(gap).await;
    }
    let mut trouble = Duration::ZERO;
    while trouble < lasts {
        call(&breaker, Verdict::Failing);
        if breaker.state() == BreakerState::Open {
            return Some(trouble.as_secs_f64());
        }
        sleep(gap).await;
        trouble += gap;
    }
    None
}

fn call(breaker: &Breaker, verdict: Verdict) {
    if let Ok(permit) = breaker.try_acquire() {
        permit.record(verdict, ms(50));
    }
}
