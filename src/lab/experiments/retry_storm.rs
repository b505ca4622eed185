//! A partner loses its breath for three seconds. Callers who try again treble its load just then, and it
//! never gets up: the trigger is gone, the outage stays. A budget lets one call in ten be a retry.

use crate::adapters::resilience::observer::Silent;
use crate::adapters::resilience::retry::Retry;
use crate::adapters::resilience::settings::RetryConfig;
use crate::core::domain::unavailable::System;
use crate::core::ports::deadline::Deadline;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::bare;
use crate::lab::load::{Ending, Samples, at_random, open_loop};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Report, claim, count, percent, row};
use crate::lab::text::{Text, text};
use std::sync::Arc;
use std::time::Duration;

/// The partner: ten servers of 100 ms each, a hundred calls a second; eighty come.
const SERVERS: usize = 10;
const PER_SECOND: f64 = 80.0;
/// When it is twice as slow.
const DIP: (Duration, Duration) = (secs(10), secs(13));

static NAMES: [Text; 3] = [
    text("three attempts, no budget", "три попытки, без бюджета"),
    text("three attempts, budget of a tenth", "три попытки, бюджет в десятую"),
    text("one attempt", "одна попытка"),
];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let generous = RetryConfig { budget_ratio: 1.0, budget_min_per_sec: 1_000.0, ..config(3) };
    let configs = [generous, config(3), config(1)];
    let found = configs.map(|config| virtual_time(measure(config, scale)));
    let after =
        |samples: &Samples| samples.only(|s| s.at >= DIP.1 + secs(20)).share(Ending::Answered);
    let rows = NAMES.iter().zip(&found).map(|(name, (samples, sent))| {
        let [p50, _, p99] = samples.percentiles();
        row(name.clone(), [count(samples.0.len()), count(sent), percent(after(samples)), p50, p99])
    });
    let end = if scale == Scale::Full { 60 } else { 40 };
    let line = |samples: &Samples| {
        let slots = (0..end).map(|second: u32| {
            let from = secs(u64::from(second));
            let of = samples.only(|s| (from..from + secs(1)).contains(&s.at));
            (f64::from(second), of.share(Ending::Answered) * 100.0)
        });
        slots.collect::<Vec<_>>()
    };
    let lines = NAMES.iter().zip(&found).map(|(name, (samples, _))| (name.clone(), line(samples)));
    Report {
        columns: vec![
            text(
                "the partner is slow from second 10 to 13",
                "партнёр медлит с 10-й по 13-ю секунду",
            ),
            text("calls", "вызовов"),
            text("attempts sent", "отправлено попыток"),
            text("answered later than 20 s after the trouble", "отвечено спустя 20 с после беды"),
            text("P50, ms", "P50, мс"),
            text("P99, ms", "P99, мс"),
        ],
        rows: rows.collect(),
        chart: Chart::Lines(
            Plot {
                title: text("Calls answered in each second", "Отвечено вызовов в каждую секунду"),
                x: text("seconds", "секунды"),
                y: text("%", "%"),
                logarithmic: false,
            },
            lines.collect(),
        ),
        claims: vec![
            claim(
                found[1].1 < found[0].1,
                text(
                    "With a budget fewer calls are sent.",
                    "С бюджетом отправлено меньше вызовов.",
                ),
            ),
            claim(
                after(&found[1].0) > after(&found[0].0),
                text(
                    "And more are answered once the trouble is over: without one the storm keeps it alive.",
                    "И больше отвечено, когда беда прошла: без бюджета её поддерживает сам шторм.",
                ),
            ),
        ],
    }
}

fn config(max_attempts: u32) -> RetryConfig {
    RetryConfig { max_attempts, base: ms(50), max: ms(200), ..RetryConfig::default() }
}

async fn measure(config: RetryConfig, scale: Scale) -> (Samples, usize) {
    let during = secs(if scale == Scale::Full { 60 } else { 40 });
    let ill = |now: &Duration| (DIP.0..DIP.1).contains(now);
    let partner =
        Partner::new(move |now| Manner::Answers(if ill(&now) { ms(200) } else { ms(100) }));
    let partner = partner.with_servers(SERVERS);
    let retry = Retry::new(System::Catalog, config, Arc::new(Silent)).expect("valid settings");
    let samples = open_loop(at_random(PER_SECOND, during), async |_| {
        retry.run(Deadline::after(secs(10)), || bare(ms(600), &partner)).await
    });
    (samples.await, partner.calls())
}
