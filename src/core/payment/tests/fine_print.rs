//! Rules that hang on one word or one comparison: each of these tests was written for a change of the code that no
//! other test had noticed.

use super::*;
use crate::core::payment::registration::Registration;

fn sber(case: &Case) -> &Registration {
    case.aggregate.registration(Provider::Sber, 1).expect("the first registration")
}

/// Live, and its payer has not come.
fn live() -> (Case, ProviderCall) {
    let mut case = Case::new();
    let first = case.begin();
    case.tell(&first, registered());
    (case, first)
}

#[test]
fn a_look_that_finds_nothing_is_made_too() {
    let (mut case, _) = live();
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Over(Ending::Expired)));
    for looks in 1..=2 {
        let look = case.claim_call(TaskKind::SyncPayment);
        case.tell(&look, Answer::NotFound);
        assert_eq!(sber(&case).looks, looks);
    }
    assert!(case.aggregate.tasks.iter().all(|task| task.state.is_final()), "and there are two");
}

#[test]
fn the_providers_own_id_is_learned_once() {
    let mut case = Case::new();
    let first = case.begin();
    case.tell(&first, Answer::Unknown);
    assert_eq!(sber(&case).external_id, None);
    let query = asked(&first, case.now);
    case.evolve(&query, found(&query, ReportedStatus::Pending));
    assert_eq!(sber(&case).external_id.as_deref(), Some("ext-1"));
}

#[test]
fn what_is_being_resolved_is_asked_about_by_its_own_task_alone() {
    let mut case = Case::new();
    let first = case.begin();
    let (now, age) = (case.now, case.policy.max_age);
    let about = (Provider::Sber, &first.target.number);
    case.aggregate.request_sync(about, now, now, TaskId::new(5), age);
    case.tell(&first, Answer::Unknown);
    // News is followed; without any the poll has nothing to ask.
    let query = case.claim_call(TaskKind::SyncPayment);
    assert_eq!(case.tell(&query, Answer::NotFound), Next::Rest);
    assert_eq!(case.own_task().state, TaskState::Succeeded);
}

#[test]
fn a_call_that_is_under_way_is_not_unknown_yet() {
    let mut case = Case::new();
    let first = case.begin();
    let (now, age) = (case.now, case.policy.max_age);
    let about = (Provider::Sber, &first.target.number);
    case.aggregate.request_sync(about, now, now, TaskId::new(5), age);
    let (task, token, history) = (case.task, case.token, case.history.clone());
    case.claim(TaskKind::SyncPayment);
    assert_eq!(sber(&case).state, RegistrationState::Intent);
    (case.task, case.token, case.history) = (task, token, history);
    case.tell(&first, registered());
    assert_eq!(sber(&case).state, RegistrationState::Live);
}

#[test]
fn a_hold_and_a_form_that_waits_are_told_apart() {
    for (status, evidence) in
        [(ReportedStatus::Held, "found_held"), (ReportedStatus::Pending, "found_pending")]
    {
        let (mut case, first) = live();
        let query = asked(&first, case.now);
        case.evolve(&query, found(&query, status));
        assert_eq!(sber(&case).evidence, evidence);
    }
}

#[test]
fn only_an_answer_to_a_question_from_after_the_payment_takes_it_back() {
    for (seconds, refunded) in [(0, 0), (1, TOTAL)] {
        let (mut case, first) = live();
        let paid = asked(&first, case.now);
        case.evolve(&paid, found(&paid, ReportedStatus::Paid));
        case.pass(seconds);
        let over = asked(&first, case.now);
        case.evolve(&over, found(&over, ReportedStatus::Over(Ending::Cancelled)));
        assert_eq!(sber(&case).refunded.minor(), refunded, "{seconds} s after it");
        assert_eq!(sber(&case).sync_requested(), refunded == 0, "else it is asked again");
    }
}

#[test]
fn an_unknown_outcome_is_found_out_once_and_what_was_known_never() {
    let reconciled = |case: &mut Case, call: &ProviderCall, answer: Answer| {
        let completed = call.clone().completed(answer.to(call));
        let events = case.aggregate.evolve(&completed, case.now);
        events.iter().filter(|it| matches!(it, DomainEvent::Reconciled { .. })).count()
    };
    let mut case = Case::new();
    let first = case.begin();
    assert_eq!(reconciled(&mut case, &first, Answer::Unknown), 0);
    let query = asked(&first, case.now);
    assert_eq!(reconciled(&mut case, &query, Answer::NotFound), 0, "nothing is known by that");
    assert_eq!(reconciled(&mut case, &query, found(&query, ReportedStatus::Pending)), 1);
    assert_eq!(reconciled(&mut case, &query, found(&query, ReportedStatus::Paid)), 0);
}

#[test]
fn news_of_a_payment_is_asked_about_until_there_is_an_answer() {
    let (mut case, first) = live();
    let query = asked(&first, case.now);
    case.evolve(&query, found(&query, ReportedStatus::Paid));
    let (now, age) = (case.now, case.policy.max_age);
    let about = (Provider::Sber, &first.target.number);
    case.aggregate.request_sync(about, now, now, TaskId::new(5), age);
    let query = case.claim_call(TaskKind::SyncPayment);
    assert_eq!(case.tell(&query, Answer::Unknown), Next::Rest);
    assert_eq!(case.own_task().state, TaskState::Queued);
    assert!(sber(&case).sync_requested());
}

#[test]
fn a_cancel_of_an_unknown_registration_waits_after_a_silence() {
    let (mut case, _) = live();
    let CancelDecision::Call(decline) = case.cancel() else { panic!("it must call") };
    let ask = call(case.tell(&decline, Answer::Unknown));
    case.aggregate.registrations[0].state = RegistrationState::Unknown;
    assert_eq!(case.tell(&ask, Answer::Unknown), Next::Rest, "not another question at once");
    assert_eq!(case.own_task().state, TaskState::Queued);
    let ask = case.claim_call(TaskKind::CancelPayment);
    assert!(ask.only_asks(), "but one when it is due");
}

#[test]
fn a_word_that_was_never_said_is_said_later_and_not_asked_about() {
    let (mut case, _) = live();
    let CancelDecision::Call(decline) = case.cancel() else { panic!("it must call") };
    assert_eq!(case.tell(&decline, not_executed(Reason::BreakerOpen)), Next::Rest);
    assert_eq!(sber(&case).cancel_sent_at, None);
    let again = case.claim_call(TaskKind::CancelPayment);
    assert!(cancels(&again));
}

#[test]
fn a_strange_status_has_two_hours_and_not_a_moment_more() {
    let strange_for = |seconds: u64| {
        let (mut case, first) = live();
        let query = asked(&first, case.now);
        case.evolve(&query, found(&query, ReportedStatus::Strange));
        case.pass(seconds);
        let task = case.aggregate.unfinished(TaskKind::SyncPayment).unwrap().id;
        case.aggregate.tasks.iter_mut().find(|own| own.id == task).unwrap().run_at = case.now;
        case.claim(TaskKind::SyncPayment) == Next::Rest
    };
    assert!(!strange_for(2 * 3_600 - 1), "it is asked about");
    assert!(strange_for(2 * 3_600), "a person is told");
}
