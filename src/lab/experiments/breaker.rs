//! A bank dies in the midst of two hundred calls. Three services call it: one without a breaker, one that
//! has it in the method it was thought of for, and one that has it in every method.

use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::{bare, defaults, guarded, guards, patient};
use crate::lab::load::{Ending, Samples, every, open_loop};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{Text, text};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Guarding {
    Nothing,
    OneMethod,
    EveryMethod,
}

struct Finding {
    samples: Samples,
    in_vain: usize,
    calls: usize,
}

static VARIANTS: [(Guarding, Text); 3] = [
    (Guarding::Nothing, text("no breaker", "без предохранителя")),
    (Guarding::OneMethod, text("in one of two methods", "в одном методе из двух")),
    (Guarding::EveryMethod, text("in every method", "в каждом методе")),
];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let findings = [0, 1, 2].map(|n: usize| virtual_time(measure(VARIANTS[n].0, scale)));
    let waited = |finding: &Finding| {
        let failed = finding.samples.only(|sample| sample.ending != Ending::Answered);
        failed.0.iter().map(|sample| sample.took).sum::<std::time::Duration>().as_secs()
    };
    let rows = VARIANTS.iter().zip(&findings).map(|((_, name), finding)| {
        let [p50, p95, p99] = finding.samples.percentiles();
        let cells =
            [p50, p95, p99, count(finding.calls), count(finding.in_vain), count(waited(finding))];
        row(name.clone(), cells)
    });
    let lines = VARIANTS.iter().zip(&findings);
    let lines = lines.map(|((_, name), found)| (name.clone(), found.samples.mean_per(ms(500))));
    let [nothing, one, every] = &findings;
    Report {
        columns: columns(),
        chart: Chart::Lines(
            Plot {
                title: text(
                    "How long a call takes while the bank dies",
                    "Сколько длится вызов, когда банк умирает",
                ),
                x: text("seconds", "секунды"),
                y: text("ms (the mean of each half second)", "мс (среднее за полсекунды)"),
                logarithmic: true,
            },
            lines.collect(),
        ),
        rows: rows.collect(),
        claims: vec![
            claim(
                every.samples.percentile(50) < nothing.samples.percentile(50),
                text(
                    "With the breaker in every method the median falls.",
                    "С предохранителем в каждом методе медиана падает.",
                ),
            ),
            claim(
                every.in_vain < one.in_vain && one.in_vain < nothing.in_vain,
                text(
                    "Each guarded method saves calls to the dead; an unguarded one goes on sending all of its own.",
                    "Каждый защищённый метод бережёт вызовы к мёртвому; незащищённый шлёт все свои.",
                ),
            ),
            claim(
                waited(every) < waited(one) && waited(one) < waited(nothing),
                text(
                    "Customers wait less for nothing with each method that has it.",
                    "С каждым защищённым методом клиенты меньше ждут впустую.",
                ),
            ),
        ],
    }
}

fn columns() -> Vec<Text> {
    vec![
        text("200 calls, the bank hangs from the 50th on", "200 вызовов, с 50-го банк висит"),
        text("P50, ms", "P50, мс"),
        text("P95, ms", "P95, мс"),
        text("P99, ms", "P99, мс"),
        text("calls sent", "отправлено"),
        text("sent in vain", "из них впустую"),
        text("seconds waited for nothing", "секунд впустую прождали"),
    ]
}

async fn measure(guarding: Guarding, scale: Scale) -> Finding {
    let (calls, gap, death) = (scale.of(200, 140), ms(100), secs(5));
    let bank =
        Partner::new(|now| if now < death { Manner::Answers(ms(100)) } else { Manner::Hangs });
    let guards = guards(&defaults(secs(2)));
    let samples = open_loop(every(gap, calls), async |number: usize| {
        let is_register = number.is_multiple_of(2);
        match guarding {
            Guarding::EveryMethod => guarded(&guards, patient(), &bank).await,
            Guarding::OneMethod if is_register => guarded(&guards, patient(), &bank).await,
            Guarding::OneMethod | Guarding::Nothing => bare(secs(2), &bank).await,
        }
    });
    let samples = samples.await;
    Finding { in_vain: bank.calls_between(death, secs(3_600)), calls: bank.calls(), samples }
}
