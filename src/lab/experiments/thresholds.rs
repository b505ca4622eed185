//! A threshold is chosen from the error rate that was measured on ordinary days: above what chance makes
//! of it in one window, below what an outage brings.

use crate::adapters::resilience::breaker::{BreakerConfig, BreakerState};
use crate::adapters::resilience::verdict::Verdict;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, virtual_time};
use crate::lab::guarded::breaker;
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{Text, same, text};

const THRESHOLDS: [f64; 6] = [0.05, 0.10, 0.20, 0.30, 0.50, 0.70];
/// Error rates: a good day, a poor day, and half of an outage.
const ERRORS: [f64; 3] = [0.02, 0.10, 0.60];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let calls = scale.of(200_000, 20_000);
    let found = THRESHOLDS.map(|threshold| {
        let opened = |errors| virtual_time(async move { openings(threshold, errors, calls) });
        (opened(ERRORS[0]).0, opened(ERRORS[1]).0, opened(ERRORS[2]).1)
    });
    let per = |openings: usize| openings * 100_000 / calls;
    let rows = THRESHOLDS.iter().zip(found).map(|(threshold, (good, poor, first))| {
        let first = first.map_or("—".to_owned(), count);
        row(same(format!("{threshold:.2}")), [count(per(good)), count(per(poor)), first])
    });
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    Report {
        columns: columns(),
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "False openings in 100 000 calls, by threshold",
                    "Ложные открытия на 100 000 вызовов в зависимости от порога",
                ),
                x: text("threshold", "порог"),
                y: text("openings", "открытий"),
                logarithmic: true,
            },
            THRESHOLDS.map(|threshold| same(format!("{threshold:.2}"))).to_vec(),
            vec![
                (
                    text("a partner with 10 % errors", "партнёр с 10 % ошибок"),
                    found.map(|(_, poor, _)| exact(per(poor))).to_vec(),
                ),
                (
                    text("one with 2 %", "партнёр с 2 %"),
                    found.map(|(good, _, _)| exact(per(good))).to_vec(),
                ),
            ],
        ),
        claims: vec![
            claim(
                found[3].1 * 10 < found[1].1,
                text(
                    "Three times the error rate of a poor day opens falsely far less often than that rate itself.",
                    "Порог втрое выше ошибок плохого дня ложно открывается куда реже, чем порог, равный им.",
                ),
            ),
            claim(
                found[3].2.is_some()
                    && found[5].2.is_none_or(|calls| calls > 2 * found[3].2.unwrap_or(0)),
                text(
                    "A threshold above what an outage brings is late or blind.",
                    "Порог выше ошибок самого отказа опаздывает или слеп.",
                ),
            ),
        ],
    }
}

fn columns() -> Vec<Text> {
    vec![
        text("CB_FAILURE_RATE (window of 50)", "CB_FAILURE_RATE (окно 50)"),
        text(
            "false openings in 100 000 calls at 2 % errors",
            "ложных открытий на 100 000 вызовов при 2 % ошибок",
        ),
        text("at 10 %", "при 10 %"),
        text("calls until it opens at 60 %", "вызовов до открытия при 60 %"),
    ]
}

/// How often it opened (each time it begins anew at once), and after how many calls for the first time.
fn openings(threshold: f64, errors: f64, calls: usize) -> (usize, Option<usize>) {
    let breaker = breaker(&BreakerConfig { failure_rate: threshold, ..BreakerConfig::default() });
    let (mut opened, mut first) = (0, None);
    for number in 1..=calls {
        let failing = fastrand::f64() < errors;
        let verdict = if failing { Verdict::Failing } else { Verdict::Healthy };
        if let Ok(permit) = breaker.try_acquire() {
            permit.record(verdict, ms(50));
        }
        if breaker.state() == BreakerState::Open {
            opened += 1;
            first.get_or_insert(number);
            breaker.reset();
        }
    }
    (opened, first)
}
