//! Facts. Anyone may bring one at any time; each is applied to its own registration, and facts only
//! climb: intent < unknown < live < {paid, dead, absent}. Paid is never undone.

use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::effect::{Action, Note, Outcome, Step};
use crate::core::payment::registration::{
    CONTRADICTED, CONTRADICTED_TOLD, Ending, Registration, RegistrationState,
};
use crate::core::payment::report::{PaymentReport, ReportedStatus};

/// The evidence of a registration whose repeat was refused.
pub(in crate::core::payment) const REFUSED_AGAIN: &str = "refused_again";

impl OrderAggregate {
    /// Takes in what became of a step, and derives the order's status anew.
    pub fn learn(&mut self, step: &Step, outcome: &Outcome, now: Timestamp) -> Vec<Note> {
        let mut notes = Vec::new();
        let taken = self.registrations.iter().any(|r| {
            r.state.maybe_alive() && (r.provider, r.sequence) != (step.provider, step.sequence)
        });
        if let Some(registration) = self.registration_mut(step.provider, step.sequence) {
            let before = registration.state;
            match &step.action {
                Action::Register { .. } => registration.learn_register(step.at, outcome, now),
                Action::Query => registration.learn_query(step, outcome, taken, now, &mut notes),
                Action::Cancel => registration.learn_cancel(outcome, now),
                Action::Refund { .. } => {}
            }
            if before == RegistrationState::Unknown && registration.state != before {
                let executed = registration.ending != Some(Ending::Refused);
                notes.push(Note::Reconciled { provider: step.provider, executed });
            }
        }
        if let Action::Refund { .. } = step.action {
            self.learn_refund(step, outcome);
        }
        self.settle();
        notes
    }
}

impl Registration {
    fn learn_register(&mut self, sent: Timestamp, outcome: &Outcome, now: Timestamp) {
        use RegistrationState::{Absent, Dead, Intent, Live, Paid, Surplus, Unknown};
        match (outcome, self.state) {
            (
                Outcome::Registered { external_id, form_url, expires_at },
                Intent | Unknown | Live,
            ) => {
                // A repeat that succeeded is compared with a query once: two orders may hide
                // behind one number.
                let repeated = self.state != Intent;
                self.sync_requested |= repeated;
                let known = self.external_id.get_or_insert_with(|| external_id.clone());
                if known == external_id {
                    self.form_url = Some(form_url.clone());
                }
                self.expires_at = *expires_at;
                self.registered_at.get_or_insert(now);
                self.climb(Live, "registered");
            }
            (Outcome::Registered { .. }, Absent | Dead | Paid | Surplus) => {
                self.sync_requested = true;
            }
            // Of this very send: the row may have been armed and sent again since an earlier one.
            (Outcome::NotExecuted(_), Intent) if self.sent_at == Some(sent) => {
                self.climb(Absent, "not_executed");
            }
            (Outcome::Refused { .. }, Intent) => self.die(Ending::Refused),
            // A repeat that is refused says nothing about the send before it, which may have been taken:
            // the number must be missing once more. A refusal of our account says even less.
            (Outcome::Refused { concerns_account: false }, Unknown) => {
                self.not_found = 0;
                REFUSED_AGAIN.clone_into(&mut self.evidence);
            }
            (Outcome::Unknown, Intent) => self.climb(Unknown, "outcome_unknown"),
            (Outcome::Duplicate, Intent) => self.climb(Unknown, "duplicate"),
            (
                Outcome::NotExecuted(_)
                | Outcome::Refused { .. }
                | Outcome::Unknown
                | Outcome::Duplicate
                | Outcome::Found(_)
                | Outcome::NotFound
                | Outcome::Taken,
                _,
            ) => {}
        }
    }

    fn learn_query(
        &mut self,
        step: &Step,
        outcome: &Outcome,
        taken: bool,
        now: Timestamp,
        notes: &mut Vec<Note>,
    ) {
        match outcome {
            Outcome::Found(report) => {
                self.sync_requested = false;
                if self.contradicts(report) {
                    let known = self.evidence == CONTRADICTED_TOLD;
                    let settled = self.state == RegistrationState::Paid;
                    if self.state.maybe_alive() && !settled && !known {
                        CONTRADICTED.clone_into(&mut self.evidence);
                    }
                    let provider = self.provider;
                    notes.push(if known {
                        Note::MismatchAgain
                    } else {
                        Note::Mismatch { provider }
                    });
                    return;
                }
                self.believe(step.at, report, taken, now, notes);
            }
            Outcome::NotFound => {
                self.sync_requested = false;
                let about_this_send = self.sent_at.is_none_or(|sent| step.at >= sent);
                if about_this_send && step.not_found == self.not_found {
                    self.not_found = self.not_found.saturating_add(1);
                }
            }
            Outcome::Registered { .. }
            | Outcome::Taken
            | Outcome::Refused { .. }
            | Outcome::NotExecuted(_)
            | Outcome::Unknown
            | Outcome::Duplicate => {}
        }
    }

    /// Whether a report is about something else than what we registered.
    #[must_use]
    pub fn contradicts(&self, report: &PaymentReport) -> bool {
        let other_id = match (&self.external_id, &report.external_id) {
            (Some(ours), Some(theirs)) => ours != theirs,
            (None, _) | (_, None) => false,
        };
        report.number != self.number || report.amount != Some(self.amount) || other_id
    }

    fn believe(
        &mut self,
        asked: Timestamp,
        report: &PaymentReport,
        taken: bool,
        now: Timestamp,
        notes: &mut Vec<Note>,
    ) {
        use RegistrationState::{Absent, Dead, Intent, Live, Paid, Surplus, Unknown};
        if self.external_id.is_none() {
            self.external_id.clone_from(&report.external_id);
        }
        match (report.status, self.state) {
            (ReportedStatus::Pending, Intent | Unknown | Live) => {
                self.registered_at.get_or_insert(now);
                if report.form_url.is_some() {
                    self.form_url.clone_from(&report.form_url);
                }
                self.expires_at = report.expires_at.or(self.expires_at);
                self.climb(Live, "found_pending");
            }
            (ReportedStatus::Paid, Intent | Unknown | Live) => self.get_paid(Paid, report, now),
            (ReportedStatus::Paid, Dead | Absent) => {
                notes.push(Note::LateTruth { provider: self.provider });
                self.get_paid(if taken { Surplus } else { Paid }, report, now);
            }
            (ReportedStatus::Paid, Paid | Surplus) => self.give_back(report),
            (ReportedStatus::Over(ending), Intent | Unknown | Live) => {
                self.registered_at.get_or_insert(now);
                // A bank has one word for the payer's no and for ours.
                let ours = ending == Ending::Declined && self.cancel_sent_at.is_some();
                self.die(if ours { Ending::Cancelled } else { ending });
            }
            // Reversed after it was paid: all of it went back. An answer to a question from before may
            // tell of the form, which was called over and paid all the same.
            (ReportedStatus::Over(Ending::Cancelled), Paid | Surplus) => {
                if self.paid_at.is_some_and(|paid| asked > paid) {
                    self.refunded = self.amount;
                } else {
                    self.sync_requested = true;
                }
            }
            (ReportedStatus::Strange, _) => notes.push(Note::Strange { provider: self.provider }),
            (ReportedStatus::Pending | ReportedStatus::Over(_), _) => {}
        }
    }

    fn get_paid(&mut self, state: RegistrationState, report: &PaymentReport, now: Timestamp) {
        self.registered_at.get_or_insert(now);
        self.paid_at.get_or_insert(now);
        self.ending = None;
        self.climb(state, "found_paid");
        self.give_back(report);
    }

    /// What was given back only grows.
    fn give_back(&mut self, report: &PaymentReport) {
        if let Some(refunded) = report.refunded
            && refunded.currency() == self.amount.currency()
            && refunded.minor() > self.refunded.minor()
        {
            self.refunded = refunded;
        }
    }

    fn learn_cancel(&mut self, outcome: &Outcome, now: Timestamp) {
        match outcome {
            // Also after a refusal the truth is asked for: it may just have been paid.
            Outcome::Taken | Outcome::Refused { .. } | Outcome::Unknown | Outcome::Duplicate => {
                self.cancel_sent_at = Some(now);
            }
            Outcome::NotExecuted(_)
            | Outcome::Registered { .. }
            | Outcome::Found(_)
            | Outcome::NotFound => {}
        }
    }

    pub(in crate::core::payment) fn die(&mut self, ending: Ending) {
        self.ending = Some(ending);
        self.climb(RegistrationState::Dead, ending.as_str());
    }

    fn climb(&mut self, state: RegistrationState, evidence: &str) {
        self.state = state;
        evidence.clone_into(&mut self.evidence);
    }
}
