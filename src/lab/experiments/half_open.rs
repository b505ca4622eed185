//! The open time is over, and a few calls try the partner. How many must succeed? One believes in luck;
//! ten ask too much of a partner that is as well as it ever was.

use crate::adapters::resilience::breaker::{BreakerConfig, BreakerState};
use crate::adapters::resilience::verdict::Verdict;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, virtual_time};
use crate::lab::guarded::breaker;
use crate::lab::load::ratio;
use crate::lab::report::{Report, claim, percent, row};
use crate::lab::text::{same, text};
use tokio::time::advance;

const PROBES: [u32; 5] = [1, 2, 3, 5, 10];
/// Shares of calls that fail: still ill, half ill, and the two faces of a healthy partner.
const ERRORS: [f64; 4] = [0.5, 0.3, 0.05, 0.01];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let rounds = scale.of(4_000, 600);
    let closed =
        PROBES.map(|probes| ERRORS.map(|errors| virtual_time(closes(probes, errors, rounds))));
    let rows =
        PROBES.iter().zip(closed).map(|(n, shares)| row(same(n.to_string()), shares.map(percent)));
    let series = [
        (text("closes on a partner with 50 % errors (wrong)", "закрылся при 50 % ошибок (зря)"), 0),
        (text("closes on one with 5 % (right)", "закрылся при 5 % (верно)"), 2),
    ];
    let series = series.map(|(name, of)| (name, closed.map(|shares| shares[of] * 100.0).to_vec()));
    let [one, _, three, _, ten] = closed;
    Report {
        columns: vec![
            text("probes that must succeed", "сколько проб должны удаться"),
            text("closes at 50 % errors", "закрылся при 50 % ошибок"),
            text("at 30 %", "при 30 %"),
            text("at 5 %", "при 5 %"),
            text("at 1 %", "при 1 %"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "How often half-open ends in closed",
                    "Как часто полуоткрытый закрывается",
                ),
                x: text("probes", "пробы"),
                y: text("%", "%"),
                logarithmic: false,
            },
            PROBES.map(|probes| same(probes.to_string())).to_vec(),
            series.to_vec(),
        ),
        claims: vec![
            claim(
                three[0] < one[0] / 2.0,
                text(
                    "Three probes believe a half-dead partner far less often than one.",
                    "Три пробы верят полумёртвому партнёру куда реже, чем одна.",
                ),
            ),
            claim(
                three[2] > ten[2],
                text(
                    "And let a healthy one in more often than ten.",
                    "И чаще впускают здорового, чем десять.",
                ),
            ),
        ],
    }
}

/// The share of rounds in which an open breaker closes again.
async fn closes(probes: u32, errors: f64, rounds: usize) -> f64 {
    let config = BreakerConfig {
        min_requests: 1,
        open_jitter: 0.0,
        half_open_requests: probes,
        ..BreakerConfig::default()
    };
    let mut closed = 0;
    for _ in 0..rounds {
        let breaker = breaker(&config);
        let call = |fails: bool| {
            let verdict = if fails { Verdict::Failing } else { Verdict::Healthy };
            breaker.try_acquire().map(|permit| permit.record(verdict, ms(100)))
        };
        let _ = call(true);
        advance(config.open_timeout).await;
        loop {
            let _ = call(fastrand::f64() < errors);
            match breaker.state() {
                BreakerState::HalfOpen => {}
                BreakerState::Closed => {
                    closed += 1;
                    break;
                }
                BreakerState::Open => break,
            }
        }
    }
    ratio(closed, rounds)
}
