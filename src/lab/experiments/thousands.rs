//! A breaker for each of ten thousand shops. One that needs a task or a timer wakes the process all day for
//! partners that nobody calls; a passive one is only memory.

use crate::adapters::resilience::breaker::{Breaker, BreakerConfig, Keyed};
use crate::adapters::resilience::clock::MonotonicClock;
use crate::adapters::resilience::observer::Silent;
use crate::core::domain::unavailable::System;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{secs, virtual_time};
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{Text, same, text};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::LocalSet;
use tokio::time::{interval, sleep};

static NAMES: [Text; 2] =
    [text("a task for each", "по задаче на каждый"), text("passive (ours)", "пассивный (наш)")];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let breakers = scale.of(10_000, 1_000);
    let active = virtual_time(with_tasks(breakers));
    let passive = virtual_time(without(breakers));
    let found = [active, passive];
    let bytes = size_of::<Breaker>();
    let rows = NAMES
        .iter()
        .zip(found)
        .map(|(name, (tasks, wakes))| row(name.clone(), [tasks, wakes].map(count)));
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let mut report = Report {
        columns: vec![
            text("10 000 breakers, a quiet minute", "10 000 предохранителей, тихая минута"),
            text("tasks", "задач"),
            text("wake-ups in the minute", "пробуждений за минуту"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "Wake-ups of the process in a quiet minute",
                    "Пробуждения процесса за тихую минуту",
                ),
                x: text("", ""),
                y: text("wake-ups", "пробуждения"),
                logarithmic: true,
            },
            vec![same("")],
            NAMES.iter().cloned().zip(found.map(|(_, wakes)| vec![exact(wakes)])).collect(),
        ),
        claims: vec![
            claim(
                passive == (0, 0),
                text(
                    "Passive breakers need no task and never wake the process.",
                    "Пассивным не нужны задачи, и они никогда не будят процесс.",
                ),
            ),
            claim(
                bytes <= 256,
                text(
                    "Beside its window, each is at most 256 bytes.",
                    "Кроме окна каждый занимает не больше 256 байт.",
                ),
            ),
        ],
    };
    report.columns.push(text("bytes of one", "байт на один"));
    report.rows[0].cells.push("—".into());
    report.rows[1].cells.push(bytes.to_string());
    report
}

/// A breaker that looks each second whether its open time is over, as a timer wheel would.
async fn with_tasks(breakers: usize) -> (usize, usize) {
    let wakes = Rc::new(Cell::new(0));
    let local = LocalSet::new();
    for _ in 0..breakers {
        let wakes = Rc::clone(&wakes);
        local.spawn_local(async move {
            let mut tick = interval(secs(1));
            tick.tick().await;
            loop {
                tick.tick().await;
                wakes.set(wakes.get() + 1);
            }
        });
    }
    local.run_until(sleep(secs(60))).await;
    (breakers, wakes.get())
}

async fn without(breakers: usize) -> (usize, usize) {
    let config = BreakerConfig::default();
    let keyed = Keyed::<usize>::new(
        System::Catalog,
        &config,
        breakers,
        MonotonicClock::tokio(),
        Arc::new(Silent),
    );
    let keyed = keyed.expect("the defaults are valid");
    let held: Vec<_> = (0..breakers).map(|shop| keyed.get(&shop)).collect();
    sleep(secs(60)).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    (tasks, held.len() - keyed.len())
}
