//! After a start the window is empty, and one unlucky call is all of it. How many calls must there be
//! before the share of failures means anything?

use crate::adapters::resilience::breaker::{BreakerConfig, BreakerState};
use crate::adapters::resilience::verdict::Verdict;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, virtual_time};
use crate::lab::guarded::breaker;
use crate::lab::load::ratio;
use crate::lab::report::{Report, claim, percent, row};
use crate::lab::text::{same, text};

const MINIMUMS: [u32; 5] = [1, 3, 10, 20, 50];
/// What a healthy partner fails anyway.
const BACKGROUND: f64 = 0.05;

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let starts = scale.of(4_000, 500);
    let found = MINIMUMS.map(|least| {
        virtual_time(async {
            let opened = (0..starts).filter(|_| opens_after(least, BACKGROUND).is_some()).count();
            (ratio(opened, starts), opens_after(least, 1.0).unwrap_or(0))
        })
    });
    let rows = MINIMUMS.iter().zip(found).map(|(least, (falsely, calls))| {
        row(same(least.to_string()), [percent(falsely), calls.to_string()])
    });
    Report {
        columns: vec![
            text("minimum of calls", "минимум вызовов"),
            text(
                "opened on a healthy partner (5 % errors) within 50 calls of a start",
                "открылся у здорового (5 % ошибок) за 50 вызовов после старта",
            ),
            text("calls into a real outage", "вызовов в настоящий отказ"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "False openings after a start, by the minimum",
                    "Ложные открытия после старта в зависимости от минимума",
                ),
                x: text("minimum of calls", "минимум вызовов"),
                y: text("% of starts", "% стартов"),
                logarithmic: false,
            },
            MINIMUMS.map(|least| same(least.to_string())).to_vec(),
            vec![(
                text("healthy partner with 5 % errors", "здоровый партнёр с 5 % ошибок"),
                found.map(|(share, _)| share * 100.0).to_vec(),
            )],
        ),
        claims: vec![
            claim(
                found[2].0 < found[0].0 / 10.0,
                text(
                    "A minimum of ten makes false openings rare.",
                    "Минимум в десять делает ложные открытия редкими.",
                ),
            ),
            claim(
                found[0].1 < found[2].1 && found[2].1 < found[4].1,
                text(
                    "Its price is as many calls into a real outage.",
                    "Цена — столько же вызовов в настоящий отказ.",
                ),
            ),
        ],
    }
}

/// After how many calls since its start the breaker opens, if it does within fifty.
fn opens_after(least: u32, errors: f64) -> Option<usize> {
    let breaker = breaker(&BreakerConfig { min_requests: least, ..BreakerConfig::default() });
    (1..=50).find(|_| {
        let failing = fastrand::f64() < errors;
        let verdict = if failing { Verdict::Failing } else { Verdict::Healthy };
        if let Ok(permit) = breaker.try_acquire() {
            permit.record(verdict, ms(50));
        }
        breaker.state() == BreakerState::Open
    })
}
