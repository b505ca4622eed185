//! The bank declines four cards of ten, in good health. A breaker that takes a business refusal for a
//! failure stops the sales of the other six.

use crate::adapters::resilience::verdict::Failed;
use crate::core::domain::unavailable::Unknown;
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, secs, virtual_time};
use crate::lab::guarded::{defaults, guards, patient};
use crate::lab::load::{Declined, Ending, Samples, every, open_loop};
use crate::lab::partner::{Manner, Partner};
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{Text, text};

static NAMES: [Text; 2] = [
    text("every error is a failure", "любая ошибка — отказ"),
    text("a business refusal is an answer", "бизнес-отказ — это ответ"),
];

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let found = [true, false].map(|naive| virtual_time(measure(naive, scale)));
    let numbers = |samples: &Samples| {
        [Ending::Answered, Ending::Declined, Ending::Failed, Ending::Shed]
            .map(|end| samples.count(end))
    };
    let rows = NAMES.iter().zip(&found).map(|(name, samples)| {
        let [paid, declined, failed, shed] = numbers(samples);
        row(name.clone(), [paid, declined + failed, shed].map(count))
    });
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let series = NAMES.iter().zip(&found).map(|(name, samples)| {
        let [paid, declined, failed, shed] = numbers(samples);
        (name.clone(), [paid, declined + failed, shed].map(exact).to_vec())
    });
    let [naive, ours] = &found;
    Report {
        columns: vec![
            text("for a minute the bank declines 40 % of cards", "минуту банк отклоняет 40 % карт"),
            text("paid", "оплачено"),
            text("declined by the bank", "отклонил банк"),
            text("refused by the breaker", "отказал предохранитель"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text("What became of the payments", "Что стало с платежами"),
                x: text("", ""),
                y: text("payments", "платежи"),
                logarithmic: false,
            },
            vec![
                text("paid", "оплачено"),
                text("declined by the bank", "отклонил банк"),
                text("refused by the breaker", "отказал предохранитель"),
            ],
            series.collect(),
        ),
        claims: vec![
            claim(
                ours.count(Ending::Answered) > naive.count(Ending::Answered),
                text(
                    "Where a refusal is an answer, more is paid.",
                    "Где отказ — это ответ, оплачено больше.",
                ),
            ),
            claim(
                ours.count(Ending::Shed) == 0,
                text(
                    "And the breaker stays closed: the bank is well.",
                    "И предохранитель закрыт: банк здоров.",
                ),
            ),
        ],
    }
}

async fn measure(naive: bool, scale: Scale) -> Samples {
    let bank = Partner::new(|_| {
        if fastrand::f64() < 0.4 { Manner::Declines(ms(100)) } else { Manner::Answers(ms(100)) }
    });
    let guards = guards(&defaults(secs(2)));
    let samples = open_loop(every(ms(50), scale.of(1_200, 400)), async |_| {
        let call = async {
            match bank.call().await {
                Err(Failed::Answered(Declined)) if naive => Err(Unknown::PartnerFailed.into()),
                answer => answer,
            }
        };
        let call = guards.call_timeout.cap(patient(), call);
        guards.breaker.call("register", call).await
    });
    samples.await
}
