//! Payments: how registering ends, what is found out about them, and what partners tell of them.

use super::families::Families;
use super::labels::Label;
use crate::core::domain::provider::Provider;
use crate::core::ports::events::{CallbackOutcome, ReconcileFinding, RegistrationResult};
use prometheus::IntCounterVec;

#[derive(Debug)]
pub(super) struct Payments {
    registered: IntCounterVec,
    reconciled: IntCounterVec,
    late: IntCounterVec,
    strange: IntCounterVec,
    callbacks: IntCounterVec,
}

impl Payments {
    pub(super) fn new(families: &Families<'_>) -> Self {
        let made = Self {
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
            late: families.counter(
                "late_payments_total",
                "Registrations that were given up and turned out paid",
                &["system"],
            ),
            strange: families.counter(
                "strange_statuses_total",
                "Answers about a payment with a status that we do not know",
                &["system"],
            ),
            callbacks: families.counter(
                "payment_callbacks_total",
                "Callbacks of payment systems, by what became of them",
                &["system", "outcome"],
            ),
        };
        made.start_at_zero();
        made
    }

    fn start_at_zero(&self) {
        for system in Provider::ALL.map(Provider::as_str) {
            for result in RegistrationResult::ALL {
                self.registered.with_label_values(&[system, result.word()]);
            }
            for finding in ReconcileFinding::ALL {
                self.reconciled.with_label_values(&[system, finding.word()]);
            }
            for outcome in CallbackOutcome::ALL {
                self.callbacks.with_label_values(&[system, outcome.word()]);
            }
            self.late.with_label_values(&[system]);
            self.strange.with_label_values(&[system]);
        }
    }

    pub(super) fn registered(&self, system: Provider, result: RegistrationResult) {
        self.registered.with_label_values(&[system.as_str(), result.word()]).inc();
    }

    pub(super) fn reconciled(&self, system: Provider, finding: ReconcileFinding) {
        self.reconciled.with_label_values(&[system.as_str(), finding.word()]).inc();
    }

    pub(super) fn came_late(&self, system: Provider) {
        self.late.with_label_values(&[system.as_str()]).inc();
    }

    pub(super) fn told_strangely(&self, system: Provider) {
        self.strange.with_label_values(&[system.as_str()]).inc();
    }

    pub(super) fn called_back(&self, system: Provider, outcome: CallbackOutcome) {
        self.callbacks.with_label_values(&[system.as_str(), outcome.word()]).inc();
    }
}
