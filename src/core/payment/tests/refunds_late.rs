//! What comes late, or beside a refund, says nothing about it.

use super::refunding::{first_call, paid, sent};
use super::*;
use crate::core::payment::refund::RefundState;

#[test]
fn a_second_send_that_did_nothing_does_not_end_the_doubt_about_the_first() {
    let mut case = paid();
    let first = sent(&mut case, Some(500));
    let mut ask = call(case.tell(&first, Answer::Unknown));
    let again = loop {
        match case.tell(&ask, found_refunded(&ask, 0)) {
            Next::Call(again) => break again,
            _ => ask = case.claim_call(TaskKind::RefundPayment),
        }
    };
    call(case.tell(&again, not_executed(Reason::Retry)));
    let refund = &case.aggregate.refunds[0];
    assert_eq!((refund.state, refund.sends), (RefundState::InDoubt, 2));
}

#[test]
fn a_late_word_does_not_open_a_refund_that_is_over() {
    let mut case = paid();
    let refund = sent(&mut case, Some(500));
    let ask = call(case.tell(&refund, Answer::Acknowledged));
    case.tell(&ask, found_refunded(&ask, 500));
    for late in [Answer::Unknown, Answer::Refused { concerns_account: false }] {
        case.evolve(&refund, late);
        assert_eq!(case.aggregate.refunds[0].state, RefundState::Done);
    }
}

#[test]
fn a_report_that_lags_behind_takes_no_refund_back() {
    let mut case = paid();
    let look = case.claim_call(TaskKind::SyncPayment);
    case.tell(&look, found_refunded(&look, 700));
    case.evolve(&look, found_refunded(&look, 300));
    assert_eq!(case.aggregate.registrations[0].refunded, Money::rub(700).unwrap());
}

#[test]
fn nothing_is_given_back_for_a_registration_that_is_not_paid() {
    let mut case = paid();
    let query = first_call(case.refund(Some(500)));
    case.aggregate.registrations[0].state = RegistrationState::Live;
    assert_eq!(case.tell(&query, found(&query, ReportedStatus::Pending)), Next::Rest);
    let task = case.own_task();
    assert_eq!((task.state, task.error), (TaskState::Review, Some(TaskError::Mismatch)));
}
