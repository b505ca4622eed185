//! Somebody sets a threshold from a good day. Whoever enforces it at once refuses customers on the first
//! ordinary one; a dry run counts what would have been refused, and a canary tries it on a few instances.

use crate::adapters::resilience::breaker::BreakerRejection;
use crate::adapters::resilience::breaker::{Breaker, BreakerConfig, BreakerMode};
use crate::adapters::resilience::observer::Observer;
use crate::adapters::resilience::verdict::Verdict;
use crate::core::domain::unavailable::System;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, virtual_time};
use crate::lab::guarded::watched_breaker;
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{Text, text};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::time::sleep;

const INSTANCES: usize = 20;
/// What the partner fails on an ordinary day.
const ORDINARY: f64 = 0.05;

/// Threshold, mode, share of instances.
const STEPS: [(f64, BreakerMode, u8); 5] = [
    (0.10, BreakerMode::DryRun, 100),
    (0.10, BreakerMode::Enforce, 10),
    (0.10, BreakerMode::Enforce, 100),
    (0.30, BreakerMode::DryRun, 100),
    (0.30, BreakerMode::Enforce, 100),
];

static NAMES: [Text; 5] = [
    text("0.10, dry_run", "0.10, dry_run"),
    text("0.10, enforce, canary 10 %", "0.10, enforce, канарейка 10 %"),
    text("0.10, enforce everywhere", "0.10, enforce везде"),
    text("0.30, dry_run", "0.30, dry_run"),
    text("0.30, enforce everywhere", "0.30, enforce везде"),
];

#[derive(Debug, Default)]
struct Counters {
    refused: AtomicUsize,
    would_refuse: AtomicUsize,
}

impl Observer for Counters {
    fn rejected(&self, _: System, _: BreakerRejection) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    fn would_reject(&self, _: System, _: BreakerRejection) {
        self.would_refuse.fetch_add(1, Ordering::Relaxed);
    }
}

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let seconds = scale.of(600, 120);
    let found = STEPS.map(|step| virtual_time(measure(step, seconds)));
    let rows = NAMES
        .iter()
        .zip(found)
        .map(|(name, (refused, would))| row(name.clone(), [refused, would].map(count)));
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let [dry, canary, everywhere, _, right] = found;
    Report {
        columns: columns(),
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text(
                    "What a threshold would cost, and does",
                    "Чего порог стоил бы и чего стоит",
                ),
                x: text("", ""),
                y: text("calls", "вызовы"),
                logarithmic: false,
            },
            NAMES.to_vec(),
            vec![
                (text("refused", "отказано"), found.map(|(refused, _)| exact(refused)).to_vec()),
                (
                    text("would be refused", "было бы отказано"),
                    found.map(|(_, would)| exact(would)).to_vec(),
                ),
            ],
        ),
        claims: vec![
            claim(
                dry.0 == 0 && dry.1 > 0,
                text(
                    "A dry run finds the wrong threshold and refuses nobody.",
                    "Пробный режим находит неверный порог и никому не отказывает.",
                ),
            ),
            claim(
                canary.0 < everywhere.0 / 2,
                text(
                    "A canary pays a small part of the price.",
                    "Канарейка платит малую часть цены.",
                ),
            ),
            claim(
                right == (0, 0),
                text(
                    "The threshold that was chosen from data refuses nobody on such a day.",
                    "Порог, выбранный по данным, в такой день никому не отказывает.",
                ),
            ),
        ],
    }
}

fn columns() -> Vec<Text> {
    vec![
        text(
            "CB_FAILURE_RATE, CB_MODE; an ordinary day with 5 % errors",
            "CB_FAILURE_RATE, CB_MODE; обычный день с 5 % ошибок",
        ),
        text("customers refused", "отказано клиентам"),
        text("would have been refused (metric)", "было бы отказано (метрика)"),
    ]
}

/// Ten calls a second on each instance: refused, and would have been.
async fn measure(
    (failure_rate, mode, canary_percent): (f64, BreakerMode, u8),
    seconds: usize,
) -> (usize, usize) {
    let counters = Arc::new(Counters::default());
    let instance = |n: usize| {
        let instance_id = format!("order-service-{n}");
        let config = BreakerConfig {
            failure_rate,
            mode,
            canary_percent,
            instance_id,
            ..BreakerConfig::default()
        };
        watched_breaker(&config, counters.clone())
    };
    let fleet: Vec<Breaker> = (0..INSTANCES).map(instance).collect();
    for _ in 0..seconds * 10 {
        for breaker in &fleet {
            let failing = fastrand::f64() < ORDINARY;
            if let Ok(permit) = breaker.try_acquire() {
                permit.record(if failing { Verdict::Failing } else { Verdict::Healthy }, ms(50));
            }
        }
        sleep(ms(100)).await;
    }
    (counters.refused.load(Ordering::Relaxed), counters.would_refuse.load(Ordering::Relaxed))
}
