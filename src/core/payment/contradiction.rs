//! Where what a provider tells is not what we registered: nothing of it is believed, and a person is told.

use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::decision::DomainEvent;
use crate::core::payment::dispute::Dispute;
use crate::core::payment::registration::{
    CONTRADICTED, CONTRADICTED_TOLD, Registration, RegistrationState,
};
use crate::core::payment::report::{PaymentReport, ReportedStatus};

impl Registration {
    pub(super) fn contradicted(&mut self, report: &PaymentReport, events: &mut Vec<DomainEvent>) {
        let dispute = Dispute::about_payment(self, report);
        self.contradiction = Some(dispute.theirs.record.clone());
        let told = self.evidence == CONTRADICTED_TOLD;
        let settled = self.state == RegistrationState::Paid;
        if self.state.maybe_alive() && !settled && !told {
            CONTRADICTED.clone_into(&mut self.evidence);
        }
        let provider = self.provider;
        events.push(if told {
            DomainEvent::MismatchAgain { dispute }
        } else {
            DomainEvent::Mismatch { provider, dispute }
        });
    }

    /// Whether a report is about something else than what we registered, or, where it was asked for after
    /// our word, about a hold that this did not release.
    #[must_use]
    pub fn contradicts(&self, asked: Timestamp, report: &PaymentReport) -> bool {
        let after_our_word = self.cancel_sent_at.is_some_and(|sent| asked >= sent);
        self.differs_from(report) || (report.status == ReportedStatus::Held && after_our_word)
    }

    /// Whether a report is about something else than what we registered: number, sums, the provider's id.
    #[must_use]
    pub fn differs_from(&self, report: &PaymentReport) -> bool {
        let other_id = match (&self.external_id, &report.external_id) {
            (Some(ours), Some(theirs)) => ours != theirs,
            (None, _) | (_, None) => false,
        };
        let other_sum = match report.status {
            ReportedStatus::Held | ReportedStatus::Paid => {
                report.taken.is_some_and(|taken| taken != self.amount)
            }
            ReportedStatus::Pending | ReportedStatus::Over(_) | ReportedStatus::Strange => false,
        };
        let other = report.number != self.number || report.amount != Some(self.amount);
        other || other_sum || other_id
    }
}
