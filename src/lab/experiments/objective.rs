//! The same bad minute with one guard more in each row: what each did to the P95 and the P99, and what to
//! the calls that were answered.

use crate::adapters::resilience::deadline::CallTimeout;
use crate::adapters::resilience::verdict::Failed;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::{bare, defaults, guards, patient};
use crate::lab::load::{Answer, Ending, Samples, at_random, open_loop};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Claim, Report, claim, count, percent, row};
use crate::lab::text::{Text, text};

static NAMES: [Text; 5] = [
    text("a time limit of 30 s", "предел в 30 с"),
    text("a time limit of 1 s", "предел в 1 с"),
    text("+ a bulkhead of 20", "+ отсек на 20"),
    text("+ a breaker", "+ предохранитель"),
    text("+ a fallback (stale, marked)", "+ запасной ответ (устаревший, с пометкой)"),
];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let found = [0, 1, 2, 3, 4].map(|guards: usize| virtual_time(measure(guards, scale)));
    let rows = NAMES.iter().zip(&found).map(|(name, (samples, calls, most))| {
        let [p50, p95, p99] = samples.percentiles();
        row(
            name.clone(),
            [p50, p95, p99, percent(samples.share(Ending::Answered)), count(calls), count(most)],
        )
    });
    let thousandth = |samples: &Samples, at| samples.percentile(at).as_secs_f64() * 1e3;
    let series = [(95, text("P95", "P95")), (99, text("P99", "P99"))].map(|(at, name)| {
        (name, found.iter().map(|(samples, ..)| thousandth(samples, at)).collect())
    });
    Report {
        columns: columns(),
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "The same outage with one guard more each time",
                    "Тот же отказ, каждый раз на одну защиту больше",
                ),
                x: text("", ""),
                y: text("ms", "мс"),
                logarithmic: true,
            },
            [
                text("30 s", "30 с"),
                text("1 s", "1 с"),
                text("+ bulkhead", "+ отсек"),
                text("+ breaker", "+ предохр."),
                text("+ fallback", "+ запасной"),
            ]
            .to_vec(),
            series.to_vec(),
        ),
        claims: claims(&found),
    }
}

/// The samples, the calls sent, the most in flight.
type Finding = (Samples, usize, usize);

fn claims(found: &[Finding; 5]) -> Vec<Claim> {
    let p95 = |at: usize| found[at].0.percentile(95);
    vec![
        claim(
            p95(1) < p95(0),
            text(
                "The time limit takes the most off the tail, and leaves its own length.",
                "Предел времени снимает с хвоста больше всего — и оставляет свою длину.",
            ),
        ),
        claim(
            found[2].2 < found[1].2,
            text(
                "The bulkhead bounds what is in flight.",
                "Отсек ограничивает число одновременных вызовов.",
            ),
        ),
        claim(
            p95(3) < p95(1) && found[3].1 < found[1].1,
            text(
                "The breaker takes the limit's length off the P95, and spares the partner calls.",
                "Предохранитель снимает с P95 и этот предел и бережёт партнёра.",
            ),
        ),
        claim(
            found[4].0.share(Ending::Answered) > found[3].0.share(Ending::Answered),
            text("A fallback alone gives answers back.", "Ответы возвращает только запасной путь."),
        ),
    ]
}

fn columns() -> Vec<Text> {
    vec![
        text(
            "30/s of 80 ms; the partner hangs from second 20 to 50 of 80",
            "30/с по 80 мс; партнёр висит с 20-й по 50-ю секунду из 80",
        ),
        text("P50, ms", "P50, мс"),
        text("P95, ms", "P95, мс"),
        text("P99, ms", "P99, мс"),
        text("answered", "отвечено"),
        text("calls sent", "отправлено вызовов"),
        text("most in flight", "одновременно, максимум"),
    ]
}

/// With so many of the guards.
async fn measure(level: usize, scale: Scale) -> Finding {
    let ill = secs(20)..secs(50);
    let partner =
        Partner::new(
            move |now| if ill.contains(&now) { Manner::Hangs } else { Manner::Answers(ms(80)) },
        );
    let mut config = defaults(secs(1));
    config.breaker.open_timeout = secs(10);
    let guards = guards(&config);
    let per_second = if scale == Scale::Full { 30.0 } else { 15.0 };
    let call = async || -> Answer {
        match level {
            0 => bare(secs(30), &partner).await,
            1 => bare(secs(1), &partner).await,
            2 => {
                let permit = guards.semaphore.acquire(patient()).await?;
                permit.hold(bare(secs(1), &partner)).await
            }
            _ => {
                guards.breaker.check()?;
                let permit = guards.semaphore.acquire(patient()).await?;
                let call = CallTimeout::new(secs(1)).cap(patient(), partner.call());
                permit.hold(guards.breaker.call("call", call)).await
            }
        }
    };
    let samples = open_loop(at_random(per_second, secs(80)), async |_| match call().await {
        Err(Failed::NoAnswer(_)) if level == 4 => Ok(()),
        answer => answer,
    });
    (samples.await, partner.calls(), partner.most_in_flight())
}
