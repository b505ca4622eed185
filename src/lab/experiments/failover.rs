//! The bank registers a payment and its answer gets lost. Whoever goes to the second bank on any error takes
//! the money twice; whoever goes only when certainly nothing was done never does.

use crate::adapters::resilience::verdict::Failed;
use crate::core::domain::unavailable::{Cause, NotExecuted, Unknown};
use crate::lab::catalog::Scale;
use crate::lab::chart::{Chart, Plot};
use crate::lab::clock::{ms, virtual_time};
use crate::lab::load::{Answer, every, open_loop};
use crate::lab::report::{Report, claim, count, row};
use crate::lab::text::{Text, text};
use std::cell::RefCell;
use std::collections::BTreeMap;

static NAMES: [Text; 3] = [
    text("no failover", "без переключения"),
    text("on any error", "при любой ошибке"),
    text("only when certainly not executed", "только если точно не исполнено"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Failover {
    Never,
    OnAnyError,
    NotExecuted,
}

#[derive(Clone, Copy, Default)]
struct Finding {
    once: usize,
    twice: usize,
    to_resolve: usize,
    nothing: usize,
}

pub(in crate::lab) fn run(scale: Scale) -> Report {
    let orders = scale.of(2_000, 500);
    let ways = [Failover::Never, Failover::OnAnyError, Failover::NotExecuted];
    let found = ways.map(|way| virtual_time(measure(way, orders)));
    let rows = NAMES.iter().zip(found).map(|(name, of)| {
        row(name.clone(), [of.once, of.twice, of.to_resolve, of.nothing].map(count))
    });
    let exact = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let series = NAMES.iter().zip(found).map(|(name, of)| {
        (name.clone(), [of.twice, of.to_resolve, of.nothing].map(exact).to_vec())
    });
    let [never, any, certain] = found;
    Report {
        columns: vec![
            text(
                "the first bank: 20 % refused connections, 5 % lost answers",
                "первый банк: 20 % отказов в соединении, 5 % потерянных ответов",
            ),
            text("registered once", "зарегистрировано раз"),
            text("registered twice", "дважды"),
            text("outcome to be found out", "исход выясняется"),
            text("not registered", "не зарегистрировано"),
        ],
        rows: rows.collect(),
        chart: Chart::Bars(
            Plot {
                title: text("What went wrong with the orders", "Что пошло не так с заказами"),
                x: text("", ""),
                y: text("orders", "заказы"),
                logarithmic: false,
            },
            vec![
                text("registered twice", "дважды"),
                text("outcome to be found out", "исход выясняется"),
                text("not registered", "не зарегистрировано"),
            ],
            series.collect(),
        ),
        claims: vec![
            claim(
                any.twice > 0 && certain.twice == 0,
                text(
                    "On any error: double registrations. Only when certainly not executed: none.",
                    "При любой ошибке — двойные регистрации. Только когда точно не исполнено — ни одной.",
                ),
            ),
            claim(
                certain.nothing < never.nothing,
                text(
                    "And still more orders are registered than without failover.",
                    "И всё же зарегистрировано больше заказов, чем без переключения.",
                ),
            ),
        ],
    }
}

async fn measure(way: Failover, orders: usize) -> Finding {
    let ledger = RefCell::new(BTreeMap::<usize, usize>::new());
    let register = |order| *ledger.borrow_mut().entry(order).or_default() += 1;
    let first = |order: usize| -> Answer {
        match fastrand::u32(0..100) {
            0..20 => Err(NotExecuted::Unreachable.into()),
            20..25 => {
                register(order);
                Err(Unknown::Broken.into())
            }
            _ => {
                register(order);
                Ok(())
            }
        }
    };
    let unknown = RefCell::new(0);
    open_loop(every(ms(10), orders), async |order| {
        let answer = first(order);
        let Err(Failed::NoAnswer(no)) = answer else { return answer };
        let certain = matches!(no.cause, Cause::NotExecuted(_));
        if way == Failover::OnAnyError || (way == Failover::NotExecuted && certain) {
            register(order);
            return Ok(());
        }
        *unknown.borrow_mut() += usize::from(!certain);
        answer
    })
    .await;
    let (ledger, to_resolve) = (ledger.into_inner(), unknown.into_inner());
    let twice = ledger.values().filter(|times| **times > 1).count();
    Finding {
        once: ledger.len() - twice - to_resolve,
        twice,
        to_resolve,
        nothing: orders - ledger.len(),
    }
}
