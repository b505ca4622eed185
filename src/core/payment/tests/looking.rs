//! What comes after the answer: late money, news that was lost, what was given up and lives on.

use super::*;
use crate::core::payment::refund::{RefundOrigin, RefundState};
use std::time::Duration;

/// A registration that the provider told to be over.
fn expired() -> (Case, ProviderCall) {
    let mut case = Case::new();
    let first = case.begin();
    case.tell(&first, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Over(Ending::Expired)));
    (case, first)
}

fn late_refunds(case: &Case) -> Vec<(Provider, u8, i64)> {
    let waiting = case.aggregate.refunds.iter().filter(|refund| {
        refund.origin == RefundOrigin::LateMoney && refund.state == RefundState::Planned
    });
    waiting.map(|refund| (refund.provider, refund.sequence, refund.amount.minor())).collect()
}

#[test]
fn what_is_over_is_asked_about_twice_more_and_late_money_is_found_without_any_callback() {
    let (mut case, first) = expired();
    let over = case.now;
    let look = case.claim_call(TaskKind::SyncPayment);
    assert_eq!(case.now.since(over), Duration::from_secs(300));
    case.tell(&look, found(&look, ReportedStatus::Over(Ending::Expired)));
    let look = case.claim_call(TaskKind::SyncPayment);
    assert_eq!(case.now.since(over), Duration::from_secs(3_600));
    case.tell(&look, found(&look, ReportedStatus::Paid));
    assert_eq!(look.target.number, first.target.number);
    assert_eq!(case.status(), OrderStatus::Paid);
    assert_eq!(late_refunds(&case), [(Provider::Sber, 1, TOTAL)]);
}

#[test]
fn after_two_looks_in_vain_it_is_quiet() {
    let (mut case, _) = expired();
    for _ in 0..2 {
        let look = case.claim_call(TaskKind::SyncPayment);
        case.tell(&look, found(&look, ReportedStatus::Over(Ending::Expired)));
    }
    assert_eq!(case.own_task().state, TaskState::Succeeded);
    assert!(case.aggregate.tasks.iter().all(|task| task.state.is_final()));
}

#[test]
fn a_look_that_brought_no_answer_is_made_again() {
    let (mut case, _) = expired();
    for _ in 0..3 {
        let look = case.claim_call(TaskKind::SyncPayment);
        assert_eq!(case.tell(&look, Answer::Unknown), Next::Rest);
        assert_eq!(case.own_task().state, TaskState::Queued);
    }
    let look = case.claim_call(TaskKind::SyncPayment);
    case.tell(&look, found(&look, ReportedStatus::Paid));
    assert_eq!(case.status(), OrderStatus::Paid);
}

/// Sber 2 is paid, and then OdnaKassa's earlier registration turns out paid as well. Nobody heard it.
pub(super) fn surplus() -> (Case, ProviderCall) {
    let (mut case, _) = expired();
    case.policy.providers = Preference::new([Provider::OdnaKassa]).unwrap();
    let kassa = case.begin();
    case.tell(&kassa, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Over(Ending::Expired)));
    case.policy.providers = Preference::new([Provider::Sber]).unwrap();
    let sber = case.begin();
    case.tell(&sber, registered());
    let query = ProviderCall::query(case.aggregate.open_registration().unwrap(), case.now);
    case.evolve(&query, found(&query, ReportedStatus::Paid));
    let late = asked(&kassa, case.now);
    case.evolve(&late, found(&late, ReportedStatus::Paid));
    case.pass(3_600);
    (case, kassa)
}

#[test]
fn late_money_belongs_to_its_own_row_whichever_provider_comes_first() {
    let (mut case, _) = surplus();
    // Whoever decides next sees the row.
    case.claim(TaskKind::SyncPayment);
    assert_eq!(late_refunds(&case), [(Provider::OdnaKassa, 2, TOTAL)]);
    assert_eq!(case.state(Provider::OdnaKassa, 2), RegistrationState::Surplus);
    case.decide();
    assert_eq!(late_refunds(&case).len(), 1, "one for each, however often it is decided");
}

/// Late money that waits for its release, and the task that does.
fn late_money() -> (Case, ProviderCall, TaskId) {
    let (mut case, first) = expired();
    let late = asked(&first, case.now);
    case.evolve(&late, found(&late, ReportedStatus::Paid));
    case.claim(TaskKind::SyncPayment);
    let task = case.aggregate.refunds[0].task.unwrap();
    (case, first, task)
}

#[test]
fn late_money_that_was_given_back_elsewhere_in_part_is_given_back_for_the_rest_only() {
    let (mut case, first, task) = late_money();
    let look = asked(&first, case.now);
    case.evolve(&look, found_refunded(&look, 700));
    assert_eq!(case.retry_task(task), Ok(()));
    let query = call(case.claim_task(task));
    assert_eq!(
        case.tell(&query, found_refunded(&query, 700)),
        Next::Rest,
        "more than there is left"
    );
    assert_eq!(case.own_task().error, Some(TaskError::RefundRejected));
    assert_eq!(case.aggregate.refunds[0].state, RefundState::Refused);
    assert_eq!(late_refunds(&case), [(Provider::Sber, 1, TOTAL - 700)]);
}

#[test]
fn of_the_refunds_of_an_order_the_next_waits_for_the_doubt_about_another() {
    let (mut case, kassa) = surplus();
    case.claim(TaskKind::SyncPayment);
    let released = case.aggregate.refunds[0].task.unwrap();
    let RefundDecision::Call(query) = case.refund(Some(500)) else { panic!("it is paid") };
    let waiting = case.own_task().id;
    case.tell(&query, not_executed(Reason::BreakerOpen));
    assert_eq!(case.retry_task(released), Ok(()));
    let look = call(case.claim_task(released));
    assert_eq!(look.target.number, kassa.target.number);
    let sent = call(case.tell(&look, found_refunded(&look, 0)));
    let ask = call(case.tell(&sent, Answer::Unknown));
    assert_eq!(case.tell(&ask, Answer::Unknown), Next::Rest);
    assert_eq!(case.claim_task(waiting), Next::Rest, "nothing is asked, nothing is sent");
    let ask = call(case.claim_task(released));
    case.tell(&ask, found_refunded(&ask, TOTAL));
    let query = call(case.claim_task(waiting));
    assert_eq!(query.target.provider, Provider::Sber);
}

#[test]
fn late_money_is_seen_to_by_a_holder_whose_lease_is_gone() {
    let (mut case, first) = expired();
    let late = asked(&first, case.now);
    case.evolve(&late, found(&late, ReportedStatus::Paid));
    case.token = LeaseToken::new(4_711);
    assert_eq!(case.decide(), Next::LeaseLost);
    assert_eq!(late_refunds(&case), [(Provider::Sber, 1, TOTAL)]);
}

#[test]
fn what_a_person_gave_up_about_late_money_is_not_planned_again() {
    let (mut case, first) = expired();
    let late = asked(&first, case.now);
    case.evolve(&late, found(&late, ReportedStatus::Paid));
    case.token = LeaseToken::new(4_711);
    case.decide();
    let task = case.aggregate.refunds[0].task.unwrap();
    assert_eq!(case.cancel_task(task), Ok(()));
    case.decide();
    assert_eq!(late_refunds(&case), []);
    assert_eq!(case.aggregate.refunds.len(), 1);
}

#[test]
fn a_registration_that_was_given_up_and_waits_for_a_payer_is_declined_and_told() {
    let (mut case, _) = expired();
    let look = case.claim_call(TaskKind::SyncPayment);
    let decline = call(case.tell(&look, found(&look, ReportedStatus::Pending)));
    assert!(cancels(&decline));
    assert!(case.events.contains(&DomainEvent::GivenUpPending { provider: Provider::Sber }));
    case.tell(&decline, Answer::Acknowledged);
    let query = case.claim_call(TaskKind::SyncPayment);
    assert!(query.only_asks());
    case.tell(&query, found(&query, ReportedStatus::Over(Ending::Declined)));
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Dead);
    assert_ne!(case.aggregate.registrations[0].evidence, "still_pending");
}

/// The bank refuses each decline, or its form outlives it: somebody may still pay there.
#[test]
fn a_person_is_told_once_of_a_form_that_cannot_be_taken_back() {
    let (mut case, _) = expired();
    let reviews = |case: &Case| {
        let review = |event: &&DomainEvent| matches!(event, DomainEvent::Review { .. });
        case.events.iter().filter(review).count()
    };
    for hour in 0..6 {
        // Where a person is to be told, that comes before another question.
        if let Next::Call(look) = case.claim(TaskKind::SyncPayment) {
            let decline = call(case.tell(&look, found(&look, ReportedStatus::Pending)));
            assert!(cancels(&decline), "again and again");
            case.tell(&decline, Answer::Refused { concerns_account: false });
        }
        assert_eq!(reviews(&case), usize::from(hour >= 2), "after two hours, and once");
        case.now = case.now + Duration::from_secs(3_600);
    }
    let look = case.claim_call(TaskKind::SyncPayment);
    case.tell(&look, found(&look, ReportedStatus::Paid));
    assert_eq!(
        late_refunds(&case),
        [(Provider::Sber, 1, TOTAL)],
        "and what is paid there goes back"
    );
}

#[test]
fn news_is_settled_only_by_a_question_that_had_heard_of_it() {
    let mut case = Case::new();
    let first = case.begin();
    case.tell(&first, registered());
    let early = case.claim_call(TaskKind::SyncPayment);
    let (now, age) = (case.now, case.policy.max_age);
    case.aggregate.request_sync(
        (Provider::Sber, &first.target.number),
        now,
        now,
        TaskId::new(5),
        age,
    );
    let next = case.tell(&early, found(&early, ReportedStatus::Pending));
    assert!(
        case.aggregate.registrations[0].sync_requested(),
        "it came while the question was away"
    );
    assert_eq!(next, Next::Rest);
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    assert!(!case.aggregate.registrations[0].sync_requested());
    assert_eq!(case.status(), OrderStatus::Paid);
}

#[test]
fn what_is_being_declined_never_lets_its_task_succeed() {
    let mut case = Case::new();
    let first = case.begin();
    let (task, token, history) = (case.task, case.token, case.history.clone());
    // The lease ran out; the next holder finds no form and begins to take it back.
    let query = case.claim_call(TaskKind::RegisterPayment);
    let decline = call(case.tell(&query, found(&query, ReportedStatus::Pending)));
    let holder = (case.task, case.token, case.history.clone());
    // The first holder's answer comes after all, with the form.
    (case.task, case.token, case.history) = (task, token, history);
    assert_eq!(case.tell(&first, registered()), Next::LeaseLost);
    assert_eq!(case.aggregate.registrations[0].open_form(), None, "nobody is given its form");
    (case.task, case.token, case.history) = holder;
    let ask = call(case.tell(&decline, Answer::Refused { concerns_account: false }));
    case.tell(&ask, found(&ask, ReportedStatus::Pending));
    assert_eq!(case.own_task().state, TaskState::Queued, "it is wound down to its end");
    let again = case.claim_call(TaskKind::RegisterPayment);
    assert!(cancels(&again));
    let ask = call(case.tell(&again, Answer::Acknowledged));
    let anew = call(case.tell(&ask, found(&ask, ReportedStatus::Over(Ending::Declined))));
    assert!(registers(&anew) && anew.target.sequence == 2);
}

#[test]
fn a_step_that_ended_did_not_kill_its_holder() {
    let mut case = Case::new();
    let first = case.begin();
    case.tell(&first, Answer::Unknown);
    for _ in 0..12 {
        case.aggregate.unfinished_mut(TaskKind::RegisterPayment).unwrap().lost_leases += 1;
        let query = case.claim_call(TaskKind::RegisterPayment);
        case.tell(&query, Answer::Unknown);
        assert_eq!(case.own_task().lost_leases, 0);
    }
}

#[test]
fn who_lost_the_lease_does_not_speak_for_the_next_holder() {
    let mut case = Case::new();
    let first = case.begin();
    case.aggregate.unfinished_mut(TaskKind::RegisterPayment).unwrap().lost_leases = 3;
    case.token = LeaseToken::new(4_711);
    assert_eq!(case.tell(&first, Answer::Unknown), Next::LeaseLost);
    assert_eq!(case.own_task().lost_leases, 3);
}

#[test]
fn nobody_who_asks_us_to_stay_away_keeps_a_task_beyond_its_end() {
    let mut case = Case::new();
    case.policy.providers = Preference::new([Provider::Sber]).unwrap();
    let first = case.begin();
    let week = Some(Duration::from_secs(7 * 86_400));
    case.tell(&first, Answer::NotExecuted(NotExecuted::Throttled, week));
    let task = case.own_task();
    assert_eq!(task.run_at, task.deadline);
}

/// Whoever waits for it: it is not asked about for as long as an unknown outcome.
#[test]
fn an_outcome_that_the_provider_does_not_know_either_is_laid_before_a_person_within_hours() {
    let strange = |case: &mut Case, kind: TaskKind| {
        let begun = case.now;
        while case.aggregate.unfinished(kind).is_some() {
            match case.claim(kind) {
                Next::Call(query) if query.only_asks() => {
                    case.tell(&query, found(&query, ReportedStatus::Strange));
                }
                Next::Call(decline) => {
                    case.evolve(&decline, Answer::Acknowledged);
                    case.new_run();
                }
                Next::Rest | Next::LeaseLost => {}
            }
            assert!(case.now.since(begun) < Duration::from_secs(4 * 3_600), "{kind:?}");
        }
        let reviewed = |task: &&crate::core::payment::task::Task| {
            task.kind == kind && task.state == TaskState::Review
        };
        assert!(case.aggregate.tasks.iter().any(|task| reviewed(&task)), "{kind:?}");
    };
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, Answer::Unknown);
    strange(&mut case, TaskKind::RegisterPayment);

    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    case.cancel();
    strange(&mut case, TaskKind::CancelPayment);
}

#[test]
fn whoever_asks_for_no_wait_is_not_called_as_fast_as_he_answers() {
    let mut case = Case::new();
    case.policy.providers = Preference::new([Provider::Sber]).unwrap();
    let first = case.begin();
    let now = case.now;
    case.tell(&first, Answer::NotExecuted(NotExecuted::Throttled, Some(Duration::ZERO)));
    assert!(case.own_task().run_at >= now + case.policy.backoff / 2);
}

#[test]
fn a_status_that_stays_strange_for_hours_is_laid_before_a_person_once() {
    let mut case = Case::new();
    let first = case.begin();
    case.tell(&first, registered());
    let mut reviews = 0;
    for _ in 0..60 {
        match case.claim(TaskKind::SyncPayment) {
            Next::Call(query) => {
                case.tell(&query, found(&query, ReportedStatus::Strange));
            }
            Next::Rest | Next::LeaseLost => reviews += 1,
        }
    }
    assert_eq!(reviews, 1);
    assert!(case.aggregate.unfinished(TaskKind::SyncPayment).is_some(), "and is asked about on");
}

#[test]
fn a_lease_covers_the_longest_step_that_may_come_next() {
    let mut case = Case::new();
    let first = case.begin();
    case.tell(&first, Answer::Unknown);
    case.claim_call(TaskKind::RegisterPayment);
    let lease = case.own_task().lease.as_ref().expect("it is held");
    // A quarter of a lease may pass between the commit and the call.
    assert_eq!(lease.until.since(case.now), Duration::from_secs(72 + 60 / 4));
}

#[test]
fn late_money_that_is_released_after_days_has_its_whole_time() {
    let (mut case, _, task) = late_money();
    case.pass(3 * 86_400);
    assert_eq!(case.retry_task(task), Ok(()));
    assert!(call(case.claim_task(task)).only_asks(), "nothing of it has expired");
}
