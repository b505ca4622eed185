//! Orders and their payments.

use super::families::{AMOUNT, Families};
use super::labels::Label;
use crate::core::domain::money::Money;
use crate::core::domain::order::OrderStatus;
use crate::core::domain::provider::Provider;
use crate::core::ports::events::{IdempotencyResult, ReconcileFinding, RegistrationResult};
use prometheus::{Histogram, IntCounter, IntCounterVec};

#[derive(Debug)]
pub(super) struct Orders {
    created: IntCounter,
    amounts: Histogram,
    moves: IntCounterVec,
    registered: IntCounterVec,
    reconciled: IntCounterVec,
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
            registered: families.counter(
                "payments_registered_total",
                "Ends of registering a payment, by the system asked last",
                &["system", "result"],
            ),
            reconciled: families.counter(
                "payments_reconciled_total",
                "Unknown outcomes that were found out",
                &["system", "finding"],
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
        for provider in Provider::ALL {
            for result in RegistrationResult::ALL {
                self.registered.with_label_values(&[provider.as_str(), result.word()]);
            }
            for finding in ReconcileFinding::ALL {
                self.reconciled.with_label_values(&[provider.as_str(), finding.word()]);
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

    pub(super) fn registered(&self, system: Provider, result: RegistrationResult) {
        self.registered.with_label_values(&[system.as_str(), result.word()]).inc();
    }

    pub(super) fn reconciled(&self, system: Provider, finding: ReconcileFinding) {
        self.reconciled.with_label_values(&[system.as_str(), finding.word()]).inc();
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
