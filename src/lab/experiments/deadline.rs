//! Clients give up after a second. A service that does not know it goes on asking its partner for them, and
//! the answers that are worked for nobody delay those that somebody waits for.

use crate::adapters::resilience::deadline::CallTimeout;
use crate::core::domain::unavailable::Unknown;
use crate::core::ports::deadline::Deadline;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::patient;
use crate::lab::load::{Ending, Samples, at_random, open_loop, ratio};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Report, claim, count, percent, row};
use crate::lab::text::{Text, text};
use std::cell::Cell;
use std::time::Duration;
use tokio::sync::Semaphore;

const PATIENCE: Duration = secs(1);

static NAMES: [Text; 2] = [
    text("the deadline is not passed on", "срок не передаётся"),
    text("the deadline is passed on", "срок передаётся"),
];

struct Finding {
    samples: Samples,
    calls: usize,
    in_vain: usize,
}

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let found = [false, true].map(|passes| virtual_time(measure(passes, scale)));
    let rows = NAMES.iter().zip(&found).map(|(name, found)| {
        let vain = percent(ratio(found.in_vain, found.calls));
        row(
            name.clone(),
            [
                percent(found.samples.share(Ending::Answered)),
                count(found.calls),
                count(found.in_vain),
                vain,
            ],
        )
    });
    let line = |samples: &Samples| {
        let slots = (0..30_u32).map(|second| {
            let from = secs(u64::from(second));
            let of = samples.only(|s| (from..from + secs(1)).contains(&s.at));
            (f64::from(second), of.share(Ending::Answered) * 100.0)
        });
        slots.collect::<Vec<_>>()
    };
    let lines = NAMES.iter().cloned().zip(found.iter().map(|found| line(&found.samples)));
    Report {
        columns: columns(),
        rows: rows.collect(),
        chart: Chart::Lines(
            Plot {
                title: text("Clients answered in time", "Клиенты, получившие ответ в срок"),
                x: text("seconds", "секунды"),
                y: text("%", "%"),
                logarithmic: false,
            },
            lines.collect(),
        ),
        claims: vec![
            claim(
                found[1].in_vain < found[0].in_vain,
                text(
                    "With the deadline passed on fewer calls are made for nobody.",
                    "Когда срок передаётся, меньше вызовов ни для кого.",
                ),
            ),
            claim(
                found[1].samples.share(Ending::Answered) > found[0].samples.share(Ending::Answered),
                text(
                    "And more clients get their answer in time.",
                    "И больше клиентов получают ответ в срок.",
                ),
            ),
        ],
    }
}

fn columns() -> Vec<Text> {
    vec![
        text(
            "clients wait for 1 s; a burst from second 5 to 8",
            "клиенты ждут 1 с; всплеск с 5-й по 8-ю секунду",
        ),
        text("answered in time", "отвечено в срок"),
        text("calls to the partner", "вызовов партнёра"),
        text("for nobody", "ни для кого"),
        text("share", "доля"),
    ]
}

async fn measure(passes: bool, scale: Scale) -> Finding {
    let partner = Partner::new(|_| Manner::Answers(ms(200)));
    // The service's own workers: ten, of which each makes fifty calls in ten seconds.
    let workers = Semaphore::new(10);
    let in_vain = Cell::new(0);
    let limit = CallTimeout::new(secs(5));
    let mut due = at_random(40.0, secs(if scale == Scale::Full { 30 } else { 15 }));
    due.extend(at_random(60.0, secs(3)).into_iter().map(|at| at + secs(5)));
    due.sort_unstable();
    let samples = open_loop(due, async |_| {
        let deadline = Deadline::after(PATIENCE);
        let _worker = workers.acquire().await;
        if deadline.remaining().is_zero() && !passes {
            in_vain.set(in_vain.get() + 1);
        }
        let answer = limit.cap(if passes { deadline } else { patient() }, partner.call()).await;
        // The client is gone: whatever the answer is, nobody reads it.
        if deadline.remaining().is_zero() { Err(Unknown::DeadlinePassed.into()) } else { answer }
    });
    let samples = samples.await;
    Finding { samples, calls: partner.calls(), in_vain: in_vain.get() }
}
