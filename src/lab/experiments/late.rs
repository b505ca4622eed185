//! Calls that began before the breaker opened end long after it: their results are of another time. A
//! breaker that counts them takes old news for new, and stays open although the partner is back.

use crate::adapters::resilience::breaker::{Breaker, BreakerConfig};
use crate::adapters::resilience::verdict::Verdict;
use crate::core::domain::unavailable::Shed;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::breaker;
use crate::lab::load::{Answer, Ending, Samples, every, millis, open_loop};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{Text, text};
use std::cell::{Cell, RefCell};
use std::time::Duration;
use tokio::time::{Instant, timeout};

const CALL_TIMEOUT: Duration = secs(6);
const OPEN: Duration = secs(5);
const PROBES: u32 = 3;
/// From when to when the partner hangs.
const ILL: (Duration, Duration) = (secs(10), secs(16));

static NAMES: [Text; 2] = [
    text("late results count", "поздние результаты считаются"),
    text("late results are dropped", "поздние результаты отброшены"),
];

pub(in crate::lab) fn run(_scale: Scale) -> Report {
    let (naive, ours) = (virtual_time(naive()), virtual_time(ours()));
    // When it last refused a call after the partner was well again.
    let back = |samples: &Samples| {
        let refused = samples.only(|s| s.at >= ILL.1 && s.ending == Ending::Shed);
        refused.0.last().map_or(secs(0), |sample| sample.at - ILL.1)
    };
    let found = [&naive, &ours];
    let lost = |samples: &Samples| samples.only(|s| s.at >= ILL.1).count(Ending::Shed);
    let rows = NAMES.iter().zip(found).map(|(name, samples)| {
        row(
            name.clone(),
            [
                count(millis(back(samples))),
                count(lost(samples)),
                count(samples.count(Ending::Answered)),
            ],
        )
    });
    let line = |samples: &Samples| {
        let slots = (0..40_u32).map(|second| {
            let of = samples
                .only(|s| s.at >= secs(u64::from(second)) && s.at < secs(u64::from(second) + 1));
            (f64::from(second), of.share(Ending::Answered) * 100.0)
        });
        slots.collect::<Vec<_>>()
    };
    Report {
        columns: vec![
            text("the partner hangs from second 10 to 16", "партнёр висит с 10-й по 16-ю секунду"),
            text("last refusal after that, ms", "последний отказ после этого, мс"),
            text("refused although it was well", "отказано, хотя он здоров"),
            text("answered", "отвечено"),
        ],
        rows: rows.collect(),
        chart: Chart::Lines(
            Plot {
                title: text("Calls answered in each second", "Отвечено вызовов в каждую секунду"),
                x: text("seconds", "секунды"),
                y: text("%", "%"),
                logarithmic: false,
            },
            NAMES.iter().cloned().zip(found.map(line)).collect(),
        ),
        claims: vec![claim(
            lost(&ours) < lost(&naive) && back(&ours) < back(&naive),
            text(
                "Without late results the service is back sooner, and refuses fewer calls for nothing.",
                "Без поздних результатов сервис возвращается раньше и меньше отказывает зря.",
            ),
        )],
    }
}

fn due() -> Vec<Duration> {
    every(ms(50), 800)
}

fn partner() -> Partner<'static> {
    Partner::new(|now| {
        if (ILL.0..ILL.1).contains(&now) { Manner::Hangs } else { Manner::Answers(ms(100)) }
    })
}

async fn attempt(partner: &Partner<'_>) -> Verdict {
    match timeout(CALL_TIMEOUT, partner.call()).await {
        Ok(_) => Verdict::Healthy,
        Err(_) => Verdict::Failing,
    }
}

fn answer(verdict: Verdict) -> Answer {
    match verdict {
        Verdict::Healthy => Ok(()),
        Verdict::Failing | Verdict::Neutral => {
            Err(crate::core::domain::unavailable::Unknown::TimedOut.into())
        }
    }
}

async fn ours() -> Samples {
    // Calls that hang open it before they time out, as the semaphore tells.
    let config = BreakerConfig {
        open_timeout: OPEN,
        open_jitter: 0.0,
        half_open_requests: PROBES,
        ..BreakerConfig::default()
    };
    let (breaker, partner): (Breaker, _) = (breaker(&config), partner());
    let (opened, begin) = (Cell::new(false), Instant::now());
    let samples = open_loop(due(), async |_| {
        if !opened.get() && begin.elapsed() >= OPENS {
            opened.set(true);
            breaker.hanging(HANGING, HANGING);
        }
        let permit = breaker.try_acquire()?;
        let begun = Instant::now();
        let verdict = attempt(&partner).await;
        permit.record(verdict, begun.elapsed());
        answer(verdict)
    });
    samples.await
}

/// Both open at the same moment: when twenty calls have been hanging for a second.
const OPENS: Duration = secs(11);
const HANGING: usize = 20;

/// The breaker of many a textbook: it counts whatever comes, whenever it comes.
#[derive(Default)]
struct Naive {
    open_since: Option<Instant>,
    good_probes: u32,
}

impl Naive {
    fn admits(&self) -> bool {
        self.open_since.is_none_or(|since| since.elapsed() >= OPEN)
    }

    fn record(&mut self, verdict: Verdict) {
        if self.open_since.is_none() {
            return;
        }
        match verdict {
            Verdict::Healthy if self.admits() => self.good_probes += 1,
            Verdict::Healthy | Verdict::Neutral => {}
            Verdict::Failing => self.open(),
        }
        if self.good_probes >= PROBES {
            *self = Self::default();
        }
    }

    fn open(&mut self) {
        *self = Self { open_since: Some(Instant::now()), good_probes: 0 };
    }
}

async fn naive() -> Samples {
    let (breaker, partner) = (RefCell::new(Naive::default()), partner());
    let (opened, begin) = (Cell::new(false), Instant::now());
    let samples = open_loop(due(), async |_| {
        if !opened.get() && begin.elapsed() >= OPENS {
            opened.set(true);
            breaker.borrow_mut().open();
        }
        if !breaker.borrow().admits() {
            return Err(Shed::BreakerOpen.into());
        }
        let verdict = attempt(&partner).await;
        breaker.borrow_mut().record(verdict);
        answer(verdict)
    });
    samples.await
}
