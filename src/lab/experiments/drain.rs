//! An instance is stopped while it serves. A load balancer hears of it by its next look at readiness, so
//! for a while it goes on sending.

use crate::adapters::inbound::http_kit::lifecycle::Lifecycle;
use crate::core::domain::unavailable::{Shed, Unknown};
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::load::{Answer, Ending, Samples, at_random, open_loop};
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{Text, text};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// When it is told to stop, and how often the balancer looks.
const TOLD: Duration = secs(5);
const LOOKS: Duration = secs(1);

static NAMES: [Text; 3] = [
    text("dies at once", "умирает сразу"),
    text("refuses at once, finishes what it has", "сразу отказывает, начатое доделывает"),
    text(
        "not ready, serves for SHUTDOWN_GRACE, then finishes",
        "не готов, служит SHUTDOWN_GRACE, потом доделывает",
    ),
];

pub(in crate::lab) fn run(_scale: Scale) -> Report {
    let ways = [(false, ms(0)), (true, ms(0)), (true, secs(2))];
    let found = ways.map(|(finishes, grace)| virtual_time(measure(finishes, grace)));
    let numbers = |samples: &Samples| {
        [Ending::Answered, Ending::Failed, Ending::Shed].map(|end| samples.count(end))
    };
    let rows = NAMES
        .iter()
        .zip(&found)
        .map(|(name, samples)| row(name.clone(), numbers(samples).map(count)));
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let series = NAMES.iter().zip(&found).map(|(name, samples)| {
        let [_, cut, refused] = numbers(samples);
        (name.clone(), vec![exact(cut), exact(refused)])
    });
    let [dies, refuses, drains] = found.each_ref().map(numbers);
    Report {
        columns: vec![
            text(
                "an instance is stopped at 100 requests/s",
                "экземпляр останавливают при 100 запросах/с",
            ),
            text("answered", "отвечено"),
            text("cut off", "оборвано"),
            text("refused", "отказано"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text("Requests that a stop costs", "Чего стоит остановка"),
                x: text("", ""),
                y: text("requests", "запросы"),
                logarithmic: false,
            },
            vec![text("cut off", "оборвано"), text("refused", "отказано")],
            series.collect(),
        ),
        claims: vec![
            claim(
                dies[1] > 0 && refuses[1] == 0,
                text(
                    "Who finishes what is in flight cuts nothing off.",
                    "Кто доделывает начатое, ничего не обрывает.",
                ),
            ),
            claim(
                refuses[2] > 0 && drains[2] == 0 && drains[1] == 0,
                text(
                    "With a grace longer than the balancer's look a stop costs nobody anything.",
                    "С отсрочкой длиннее взгляда балансировщика остановка никому ничего не стоит.",
                ),
            ),
        ],
    }
}

async fn measure(finishes: bool, grace: Duration) -> Samples {
    let (lifecycle, dead) = (Lifecycle::default(), CancellationToken::new());
    let begun = Instant::now();
    let stop = async {
        sleep(TOLD).await;
        lifecycle.stop();
        sleep(grace).await;
        lifecycle.drain();
        if finishes {
            lifecycle.drained().await;
        }
        dead.cancel();
    };
    let serve = async |_| -> Answer {
        // The balancer knows what it saw at its last look, half a second off the stop.
        let hears = begun + TOLD + LOOKS / 2;
        if lifecycle.is_stopping() && Instant::now() >= hears {
            sleep(ms(200)).await; // another instance serves it
            return Ok(());
        }
        if dead.is_cancelled() {
            return if finishes {
                Err(Shed::BreakerOpen.into())
            } else {
                Err(Unknown::Broken.into())
            };
        }
        if lifecycle.is_draining() {
            return Err(Shed::BreakerOpen.into());
        }
        let _served = lifecycle.track_request();
        tokio::select! {
            biased;
            () = dead.cancelled() => Err(Unknown::Broken.into()),
            () = sleep(ms(200)) => Ok(()),
        }
    };
    let load = open_loop(at_random(100.0, secs(10)), serve);
    let (samples, ()) = tokio::join!(load, stop);
    samples
}
