//! Orders, and the keys that their requests come with.

use super::families::{AMOUNT, Families};
use super::labels::Label;
use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::ports::events::IdempotencyResult;
use prometheus::{Histogram, IntCounter, IntCounterVec};

#[derive(Debug)]
pub(super) struct Orders {
    created: IntCounter,
    amounts: Histogram,
    moves: IntCounterVec,
    idempotency: IntCounterVec,
}

impl Orders {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
            created: families
                .counter("orders_created_total", "Orders placed", &[])
                .with_label_values::<&str>(&[]),
            amounts: families
                .histogram("order_amount_rub", "Totals of placed orders, in roubles", &[], AMOUNT)
                .with_label_values::<&str>(&[]),
            moves: families.counter(
                "order_transitions_total",
                "Changes of an order's status",
                &["from", "to"],
            ),
            idempotency: families.counter(
                "idempotency_total",
                "Requests with an Idempotency-Key",
                &["result"],
            ),
        };
        made.start_at_zero();
        made
    }

    fn start_at_zero(&self) {
        for from in OrderStatus::ALL {
            for to in OrderStatus::ALL.into_iter().filter(|to| *to != from) {
                self.moves.with_label_values(&[from.as_str(), to.as_str()]);
            }
        }
        for result in IdempotencyResult::ALL {
            self.idempotency.with_label_values(&[result.word()]);
        }
    }

    pub(super) fn placed(&self, total: Money) {
        self.created.inc();
        self.amounts.observe(roubles(total));
    }

    pub(super) fn moved(&self, from: OrderStatus, to: OrderStatus) {
        self.moves.with_label_values(&[from.as_str(), to.as_str()]).inc();
    }

    pub(super) fn keyed(&self, result: IdempotencyResult) {
        self.idempotency.with_label_values(&[result.word()]).inc();
    }
}

/// For a histogram, where the sum of many totals need not be exact to the kopeck.
#[expect(clippy::cast_precision_loss, reason = "totals are far below 2^53 kopecks")]
fn roubles(total: Money) -> f64 {
    total.minor() as f64 / 100.0
}
