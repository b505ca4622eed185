//! Refunds in the hands of a person.

use super::looking::surplus;
use super::refunding::{paid, sent};
use super::*;
use crate::core::domain::provider::ProviderNumber;
use crate::core::payment::refund::{Refund, RefundState};
use crate::core::payment::task::Task;

#[test]
fn a_refund_that_may_be_on_its_way_cannot_be_given_up() {
    let mut case = paid();
    let refund = sent(&mut case, Some(500));
    let task = case.own_task().id;
    let ask = call(case.tell(&refund, Answer::Unknown));
    assert_eq!(case.tell(&ask, found_refunded(&ask, 0)), Next::Rest);
    assert_eq!(case.cancel_task(task), Err(OperatorRefused::Unknown));
    assert_eq!(case.aggregate.refunds[0].state, RefundState::InDoubt);
    assert_eq!(case.own_task().state, TaskState::Queued);
}

#[test]
fn a_person_does_not_answer_for_a_refund_that_somebody_works_on() {
    let mut case = paid();
    let refund = sent(&mut case, Some(500));
    let task = case.own_task().id;
    call(case.tell(&refund, Answer::Unknown));
    for finding in
        [OperatorFinding::Executed, OperatorFinding::NotExecuted, OperatorFinding::Settled]
    {
        assert_eq!(case.resolve(task, finding), Err(OperatorRefused::Running));
    }
    assert_eq!(case.aggregate.refunds[0].state, RefundState::InDoubt);
}

#[test]
fn a_persons_word_about_a_refund_is_about_the_number_that_they_looked_up() {
    let mut case = paid();
    let refund = sent(&mut case, Some(500));
    let task = case.own_task().id;
    let ask = call(case.tell(&refund, Answer::Unknown));
    case.tell(&ask, found_refunded(&ask, 0));
    let mut resolve = |number: &ProviderNumber| {
        case.operate(task, |aggregate, context| {
            aggregate.resolve_task(OperatorFinding::Executed, Some(number), false, context)
        })
    };
    let other = ProviderNumber::told("another-01");
    assert_eq!(resolve(&other), Err(OperatorRefused::AnotherNumber));
    assert_eq!(resolve(&refund.target.number), Ok(()));
    assert_eq!(case.aggregate.refunds[0].state, RefundState::Done);
}

#[test]
fn a_person_may_find_that_a_refund_in_doubt_was_executed() {
    let mut case = paid();
    case.keyed_refunds = Vec::new();
    let refund = sent(&mut case, None);
    let ask = call(case.tell(&refund, Answer::Unknown));
    case.tell(&ask, found_refunded(&ask, 0));
    let task = case.own_task().id;
    assert_eq!(case.resolve(task, OperatorFinding::Executed), Ok(()));
    assert_eq!(case.status(), OrderStatus::Refunded);
    assert_eq!(case.own_task().state, TaskState::Succeeded);
}

#[test]
fn a_persons_word_about_one_refund_lets_no_other_go() {
    let (mut case, _) = surplus();
    case.claim(TaskKind::SyncPayment);
    let late = case.aggregate.refunds[0].task.unwrap();
    let RefundDecision::Call(query) = case.refund(Some(500)) else { panic!("it is paid") };
    let asked = case.own_task().id;
    let sent = call(case.tell(&query, found_refunded(&query, 0)));
    let ask = call(case.tell(&sent, Answer::Unknown));
    case.tell(&ask, Answer::Unknown);
    assert!(case.own_task().run_at > case.now);
    assert_eq!(case.resolve(asked, OperatorFinding::NotExecuted), Ok(()));
    let run_at = |id| case.aggregate.tasks.iter().find(|task| task.id == id).unwrap().run_at;
    assert_eq!(run_at(late), Task::NEVER, "it waits for its own release");
    assert_eq!(run_at(asked), case.now, "it goes at once");
}

/// One that left no trace at a provider without keys, before a person.
fn reviewed(kopecks: Option<i64>) -> (Case, TaskId) {
    let mut case = paid();
    case.keyed_refunds = Vec::new();
    let refund = sent(&mut case, kopecks);
    let mut ask = call(case.tell(&refund, Answer::Unknown));
    loop {
        assert_eq!(case.tell(&ask, found_refunded(&ask, 0)), Next::Rest);
        if case.own_task().state == TaskState::Review {
            break;
        }
        ask = case.claim_call(TaskKind::RefundPayment);
    }
    let task = case.own_task().id;
    case.aggregate.tasks.retain(|task| !task.state.is_final());
    (case, task)
}

#[test]
fn a_refund_that_a_person_settled_stands_in_nobodys_way() {
    let (mut case, task) = reviewed(Some(500));
    assert_eq!(case.resolve(task, OperatorFinding::Settled), Ok(()));
    assert_eq!(case.aggregate.refunds[0].state, RefundState::Cancelled);
    assert!(matches!(case.refund(Some(1)), RefundDecision::Call(_)));
}

#[test]
fn after_a_persons_word_about_a_refund_the_provider_is_asked() {
    for finding in
        [OperatorFinding::Executed, OperatorFinding::NotExecuted, OperatorFinding::Settled]
    {
        let (mut case, task) = reviewed(Some(500));
        assert_eq!(case.resolve(task, finding), Ok(()));
        assert!(case.aggregate.registrations[0].sync_requested(), "{finding:?}");
        let poll = case.aggregate.unfinished(TaskKind::SyncPayment).unwrap();
        assert_eq!(poll.run_at, case.now, "{finding:?}");
    }
}

#[test]
fn what_goes_again_by_a_persons_word_was_never_sent_before() {
    let (mut case, task) = reviewed(Some(500));
    assert_eq!(case.resolve(task, OperatorFinding::NotExecuted), Ok(()));
    let query = case.claim_call(TaskKind::RefundPayment);
    let again = call(case.tell(&query, found_refunded(&query, 0)));
    assert_eq!(case.tell(&again, not_executed(Reason::Retry)), Next::Rest);
    let refund = &case.aggregate.refunds[0];
    assert_eq!((refund.state, refund.sends), (RefundState::Planned, 0), "as if never sent");
}

#[test]
fn a_persons_word_never_gives_more_back_than_was_paid() {
    let (mut case, task) = reviewed(None);
    let key = RefundKey::stored("seen");
    let seen = Refund::seen_elsewhere(key, (Provider::Sber, 1), Money::rub(300).unwrap(), case.now);
    case.aggregate.refunds.push(seen);
    assert_eq!(case.resolve(task, OperatorFinding::Executed), Ok(()));
    let paid = &case.aggregate.registrations[0];
    assert_eq!(paid.refunded, Money::rub(0).unwrap(), "the provider says how much it was");
}
