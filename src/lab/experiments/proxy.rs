//! A proxy stands before two instances. One that is less patient than they are, and repeats what it gave
//! up, has the same payment made by both.

use crate::core::domain::unavailable::Unknown;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::load::{Answer, Ending, Samples, every, open_loop};
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{Text, text};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{sleep, timeout};

static NAMES: [Text; 3] = [
    text("gives up after 5 s, repeats POST elsewhere", "сдаётся через 5 с, повторяет POST рядом"),
    text("gives up after 5 s, repeats nothing", "сдаётся через 5 с, не повторяет"),
    text("waits for 35 s, longer than REQUEST_TIMEOUT", "ждёт 35 с, дольше REQUEST_TIMEOUT"),
];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let requests = scale.of(1_000, 300);
    let ways = [(secs(5), true), (secs(5), false), (secs(35), false)];
    let found = ways.map(|(patience, repeats)| virtual_time(measure(patience, repeats, requests)));
    let rows = NAMES.iter().zip(&found).map(|(name, (samples, executed, twice))| {
        let answered = samples.count(Ending::Answered);
        row(name.clone(), [answered, samples.count(Ending::Failed), *executed, *twice].map(count))
    });
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let series = NAMES.iter().zip(&found).map(|(name, (samples, _, twice))| {
        (name.clone(), vec![exact(samples.count(Ending::Failed)), exact(*twice)])
    });
    let [(_, _, repeated), (impatient, ..), (patient, _, once)] = &found;
    Report {
        columns: vec![
            text("5 % of confirms take 8 s", "5 % подтверждений идут 8 с"),
            text("answered", "отвечено"),
            text("504 from the proxy", "504 от прокси"),
            text("executions", "исполнений"),
            text("executed twice", "исполнено дважды"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "What the proxy did to the confirms",
                    "Что прокси сделал с подтверждениями",
                ),
                x: text("", ""),
                y: text("requests", "запросы"),
                logarithmic: false,
            },
            vec![
                text("504 although executed", "504, хотя исполнено"),
                text("executed twice", "исполнено дважды"),
            ],
            series.collect(),
        ),
        claims: vec![
            claim(
                *repeated > 0 && *once == 0,
                text(
                    "A proxy that repeats what may have been executed executes it twice.",
                    "Прокси, повторяющий то, что могло исполниться, исполняет дважды.",
                ),
            ),
            claim(
                patient.count(Ending::Failed) < impatient.count(Ending::Failed),
                text(
                    "One that is more patient than the service loses no answer.",
                    "Тот, кто терпеливее сервиса, не теряет ответов.",
                ),
            ),
        ],
    }
}

async fn measure(patience: Duration, repeats: bool, requests: usize) -> (Samples, usize, usize) {
    let executed = RefCell::new(BTreeMap::<usize, usize>::new());
    let instance = async |request: usize, takes: Duration| {
        // It goes on when the proxy hangs up: what changes something runs apart from its client.
        *executed.borrow_mut().entry(request).or_default() += 1;
        sleep(takes).await;
    };
    let samples = open_loop(every(ms(20), requests), async |request| -> Answer {
        let takes = if fastrand::u32(0..100) < 5 { secs(8) } else { ms(200) };
        for _ in 0..=usize::from(repeats) {
            if timeout(patience, instance(request, takes)).await.is_ok() {
                return Ok(());
            }
        }
        Err(Unknown::TimedOut.into())
    });
    let samples = samples.await;
    let executed = executed.into_inner();
    let twice = executed.values().filter(|times| **times > 1).count();
    (samples, executed.values().sum(), twice)
}
