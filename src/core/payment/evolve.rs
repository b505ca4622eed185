//! Facts. Anyone may bring one at any time; each is applied to what it concerns, and facts only climb:
//! intent < unknown < live < {paid, dead, absent}. Paid is never undone.

use crate::core::domain::provider::Provider;
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::OrderAggregate;
use crate::core::payment::decision::DomainEvent;
use crate::core::payment::effect::{
    CallResult, ChangeResult, CompletedCall, QueryResult, RegisterResult,
};
use crate::core::payment::refund::{Refund, RefundKey, RefundState};
use crate::core::payment::registration::{
    Ending, REFUSED_AGAIN, Registration, RegistrationState, STILL_PENDING, STRANGE_TOLD,
};
use crate::core::payment::report::{PaymentReport, ReportedStatus};
use std::time::Duration;

impl OrderAggregate {
    /// Takes in what became of a call, and derives the order's status anew.
    pub fn evolve(&mut self, call: &CompletedCall, now: Timestamp) -> Vec<DomainEvent> {
        let mut events = Vec::new();
        let (provider, sequence) = (call.target.provider, call.target.sequence);
        if let CallResult::Refund { key, result } = &call.result {
            if let Some(refund) = self.refund_mut(key) {
                refund.evolve(call.decided_at, result);
            }
        } else {
            let other_alive = self
                .registrations
                .iter()
                .any(|r| r.state.maybe_alive() && (r.provider, r.sequence) != (provider, sequence));
            if let Some(registration) = self.registration_mut(provider, sequence) {
                registration.evolve(call, other_alive, now, &mut events);
            }
            self.adopt_refunds((provider, sequence), now, &mut events);
        }
        if self.cancel_accepted() {
            self.give_up_open(now);
        }
        self.derive_status();
        events
    }

    /// Whatever is or comes alive is to be taken back: its form is nobody's any more.
    pub(super) fn give_up_open(&mut self, now: Timestamp) {
        if let Some(open) = self.open_registration_mut() {
            open.given_up_at.get_or_insert(now);
        }
    }

    /// Money that was given back in the bank's cabinet is shown as what it is: nothing of ours explains
    /// it, and none of ours is under way that could.
    fn adopt_refunds(
        &mut self,
        about: (Provider, u8),
        now: Timestamp,
        events: &mut Vec<DomainEvent>,
    ) {
        let Some(registration) = self.registration(about.0, about.1) else { return };
        let under_way = |refund: &&Refund| {
            refund.is_of(registration) && refund.state.is_open() && !self.waits_for_operator(refund)
        };
        let Ok(amount) = registration.refunded.minus(self.explained(registration)) else { return };
        if amount.is_zero() || self.refunds.iter().find(under_way).is_some() {
            return;
        }
        let key = RefundKey::of_sighting(self.order.id, about.0, about.1, registration.refunded);
        self.refunds.push(Refund::seen_elsewhere(key, about, amount, now));
        events.push(DomainEvent::RefundElsewhere { provider: about.0, amount });
    }
}

impl Registration {
    fn evolve(
        &mut self,
        call: &CompletedCall,
        other_alive: bool,
        now: Timestamp,
        events: &mut Vec<DomainEvent>,
    ) {
        let before = self.state;
        match &call.result {
            CallResult::Register(result) => self.registered(call.decided_at, result, now),
            CallResult::Query { basis, result: QueryResult::Found(report) } => {
                self.synced(basis.sync_requested_at);
                self.looks += u32::from(basis.look == Some(self.looks));
                if self.contradicts(call.decided_at, report) {
                    self.contradicted(report, events);
                } else {
                    self.believe(call.decided_at, report, other_alive, now, events);
                }
            }
            CallResult::Query { basis, result: QueryResult::NotFound } => {
                self.synced(basis.sync_requested_at);
                self.looks += u32::from(basis.look == Some(self.looks));
                let about_this_send = self.sent_at.is_none_or(|sent| call.decided_at >= sent);
                if about_this_send && basis.not_found == self.not_found {
                    self.not_found = self.not_found.saturating_add(1);
                }
            }
            CallResult::Query {
                result: QueryResult::NotExecuted(_) | QueryResult::Unanswered,
                ..
            } => {}
            CallResult::Cancel(result) => self.cancelled(result, now),
            CallResult::Refund { .. } => {}
        }
        if before == RegistrationState::Unknown && self.state != before {
            let executed = self.ending != Some(Ending::Refused);
            events.push(DomainEvent::Reconciled { provider: self.provider, executed });
        }
    }

    fn registered(&mut self, sent: Timestamp, result: &RegisterResult, now: Timestamp) {
        use RegistrationState::{Absent, Dead, Intent, Live, Paid, Surplus, Unknown};
        match (result, self.state) {
            (
                RegisterResult::Registered { external_id, form_url, expires_at },
                Intent | Unknown | Live,
            ) => {
                // A repeat that succeeded is compared with a query once: two orders may hide
                // behind one number.
                let repeated = self.state != Intent;
                if repeated {
                    self.request_sync(now);
                }
                let known = self.external_id.get_or_insert_with(|| external_id.clone());
                if known == external_id {
                    self.form_url = Some(form_url.clone());
                }
                self.expires_at = expires_at.or(self.expires_at);
                self.registered_at.get_or_insert(now);
                self.climb(Live, "registered");
            }
            (RegisterResult::Registered { .. }, Absent | Dead | Paid | Surplus) => {
                self.request_sync(now);
            }
            // Of this very send: the row may have been armed and sent again since an earlier one.
            (RegisterResult::NotExecuted(_), Intent) if self.sent_at == Some(sent) => {
                self.climb(Absent, "not_executed");
            }
            (RegisterResult::Refused { .. }, Intent) => self.die(Ending::Refused),
            // A repeat that is refused says nothing about the send before it, which may have been taken:
            // the number must be missing once more. A refusal of our account says even less.
            (RegisterResult::Refused { concerns_account: false }, Unknown) => {
                self.not_found = 0;
                REFUSED_AGAIN.clone_into(&mut self.evidence);
            }
            (RegisterResult::Unknown, Intent) => self.climb(Unknown, "outcome_unknown"),
            (RegisterResult::Duplicate, Intent) => self.climb(Unknown, "duplicate"),
            (
                RegisterResult::NotExecuted(_)
                | RegisterResult::Refused { .. }
                | RegisterResult::Unknown
                | RegisterResult::Duplicate,
                _,
            ) => {}
        }
    }

    fn believe(
        &mut self,
        asked: Timestamp,
        report: &PaymentReport,
        other_alive: bool,
        now: Timestamp,
        events: &mut Vec<DomainEvent>,
    ) {
        use RegistrationState::{Absent, Dead, Intent, Live, Paid, Surplus, Unknown};
        if self.external_id.is_none() {
            self.external_id.clone_from(&report.external_id);
        }
        self.contradiction = None;
        self.record_strange_status(report.status, now);
        match (report.status, self.state) {
            (ReportedStatus::Pending | ReportedStatus::Held, Intent | Unknown | Live) => {
                self.wait_for_payer(report, now);
            }
            (ReportedStatus::Paid, Intent | Unknown | Live) => self.get_paid(Paid, report, now),
            (ReportedStatus::Paid, Dead | Absent) => {
                events.push(DomainEvent::LateMoney { provider: self.provider });
                self.paid_late = true;
                self.get_paid(if other_alive { Surplus } else { Paid }, report, now);
            }
            (ReportedStatus::Paid, Paid | Surplus) => self.give_back(report),
            (ReportedStatus::Over(ending), Intent | Unknown | Live) => {
                self.registered_at.get_or_insert(now);
                // A bank has one word for the payer's no and for ours.
                let ours = ending == Ending::Declined && self.cancel_sent_at.is_some();
                self.die(if ours { Ending::Cancelled } else { ending });
                self.decline = report.decline;
                self.ended_at = Some(now);
                self.looks = 0;
            }
            // Reversed after it was paid: all of it went back. An answer to a question from before may
            // tell of the form, which was called over and paid all the same.
            (ReportedStatus::Over(Ending::Cancelled), Paid | Surplus) => {
                if self.paid_at.is_some_and(|paid| asked > paid) {
                    self.refunded = self.amount;
                } else {
                    self.request_sync(now);
                }
            }
            (ReportedStatus::Strange, _) => {
                events.push(DomainEvent::StrangeStatus { provider: self.provider });
            }
            // It was given up, and waits for a payer or holds money all the same: it is declined, and told.
            (ReportedStatus::Pending | ReportedStatus::Held, Dead | Absent) => {
                self.given_up_at.get_or_insert(now);
                self.strange_since.get_or_insert(now);
                if !self.pends_given_up() {
                    STILL_PENDING.clone_into(&mut self.evidence);
                    events.push(DomainEvent::GivenUpPending { provider: self.provider });
                }
            }
            (ReportedStatus::Over(ending), Dead | Absent) => {
                if self.pends_given_up() {
                    self.die(ending);
                    self.decline = report.decline;
                    self.ended_at = Some(now);
                }
            }
            (
                ReportedStatus::Pending | ReportedStatus::Held | ReportedStatus::Over(_),
                Paid | Surplus,
            ) => {}
        }
    }

    /// A hold that lasts is as strange as a word that we do not know.
    fn record_strange_status(&mut self, status: ReportedStatus, now: Timestamp) {
        match status {
            ReportedStatus::Strange | ReportedStatus::Held => {
                self.strange_since.get_or_insert(now);
            }
            // So is a form that was given up and cannot be taken back.
            ReportedStatus::Pending if self.pends_given_up() => {}
            ReportedStatus::Pending | ReportedStatus::Paid | ReportedStatus::Over(_) => {
                self.strange_since = None;
            }
        }
    }

    /// It is alive, without money of ours.
    fn wait_for_payer(&mut self, report: &PaymentReport, now: Timestamp) {
        self.registered_at.get_or_insert(now);
        if report.form_url.is_some() {
            self.form_url.clone_from(&report.form_url);
        }
        self.expires_at = report.expires_at.or(self.expires_at);
        let held = report.status == ReportedStatus::Held;
        let evidence = match (held, self.evidence == STRANGE_TOLD) {
            (true, true) => STRANGE_TOLD,
            (true, false) => "found_held",
            (false, _) => "found_pending",
        };
        self.climb(RegistrationState::Live, evidence);
    }

    fn get_paid(&mut self, state: RegistrationState, report: &PaymentReport, now: Timestamp) {
        self.registered_at.get_or_insert(now);
        self.paid_at.get_or_insert(now);
        self.ending = None;
        self.looks = 0;
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

    fn cancelled(&mut self, result: &ChangeResult, now: Timestamp) {
        match result {
            ChangeResult::Unknown => self.cancel_sent_at = Some(now),
            // Neither is evidence: the truth is asked for, it may just have been paid. And what a provider
            // has said under a key it may say for ever: whoever has to say it again wants it anew.
            ChangeResult::Acknowledged | ChangeResult::Refused => {
                self.cancel_sent_at = Some(now);
                let after = |before: Timestamp| now.max(before + Duration::from_micros(1));
                self.given_up_at = Some(self.given_up_at.map_or(now, after));
            }
            ChangeResult::NotExecuted(_) => {}
        }
    }

    pub(super) fn die(&mut self, ending: Ending) {
        self.ending = Some(ending);
        self.climb(RegistrationState::Dead, ending.as_str());
    }

    fn climb(&mut self, state: RegistrationState, evidence: &str) {
        self.state = state;
        evidence.clone_into(&mut self.evidence);
    }
}

impl Refund {
    /// A fact about this refund, by the key that it was sent with. What is over stays over.
    fn evolve(&mut self, sent: Timestamp, result: &ChangeResult) {
        if !matches!(self.state, RefundState::Sent | RefundState::InDoubt) {
            return;
        }
        let first_send = self.sends == 1 && self.sent_at == Some(sent);
        match result {
            ChangeResult::Acknowledged => self.acknowledged = true,
            // Certainly without effect: as if it had never been sent, unless an earlier send is in doubt.
            ChangeResult::NotExecuted(_) if first_send => {
                self.state = RefundState::Planned;
                self.sent_at = None;
                self.sends = 0;
            }
            ChangeResult::Refused if first_send => self.state = RefundState::Refused,
            ChangeResult::NotExecuted(_) | ChangeResult::Refused | ChangeResult::Unknown => {
                self.state = RefundState::InDoubt;
            }
        }
    }
}
