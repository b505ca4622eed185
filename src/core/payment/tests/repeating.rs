//! A number that was sent before and is sent again.

use super::resolving::unknown;
use super::*;

#[test]
fn a_number_that_went_again_is_asked_about_soon_again() {
    let (mut case, _) = unknown();
    let resent = loop {
        let step = case.claim_call(TaskKind::RegisterPayment);
        if let Next::Call(step) = case.tell(&step, Answer::NotFound) {
            break step;
        }
    };
    case.tell(&resent, Answer::Unknown);
    assert_eq!(case.own_task().run_at.since(case.now), Duration::from_secs(1));
}

#[test]
fn a_repeat_that_is_refused_says_nothing_about_the_send_before_it() {
    let (mut case, _) = unknown();
    let resent = loop {
        let step = case.claim_call(TaskKind::RegisterPayment);
        if let Next::Call(step) = case.tell(&step, Answer::NotFound) {
            break step;
        }
    };
    assert_eq!(case.tell(&resent, Answer::Refused { concerns_account: false }), Next::Rest);
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Unknown);
    let query = case.claim_call(TaskKind::RegisterPayment);
    assert!(query.only_asks());
    let mut late = case_of(&case);
    call(late.tell(&query, found(&query, ReportedStatus::Pending)));
    assert_eq!(late.state(Provider::Sber, 1), RegistrationState::Live, "the first one was taken");
    let mut next = case.tell(&query, Answer::NotFound);
    while case.own_task().state == TaskState::Queued {
        let query = case.claim_call(TaskKind::RegisterPayment);
        next = case.tell(&query, Answer::NotFound);
    }
    assert_eq!(next, Next::Rest);
    assert_eq!(case.own_task().error, Some(TaskError::PaymentRejected));
    assert_eq!(case.status(), OrderStatus::PaymentFailed);
}

#[test]
fn after_a_refused_repeat_the_number_must_be_missing_three_times_once_more() {
    let (mut case, first) = unknown();
    let query = case.claim_call(TaskKind::RegisterPayment);
    case.evolve(&query, Answer::NotFound);
    case.evolve(&first, Answer::Refused { concerns_account: false });
    let registration = case.aggregate.registration(Provider::Sber, 1).unwrap();
    assert_eq!((registration.state, registration.not_found), (RegistrationState::Unknown, 0));
}

fn case_of(case: &Case) -> Case {
    Case {
        aggregate: case.aggregate.clone(),
        policy: case.policy.clone(),
        history: case.history.clone(),
        events: case.events.clone(),
        keyed_refunds: case.keyed_refunds.clone(),
        ..*case
    }
}
