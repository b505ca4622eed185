use super::*;

pub(super) fn unknown() -> (Case, ProviderCall) {
    let mut case = Case::new();
    let step = case.begin();
    assert_eq!(case.tell(&step, Answer::Unknown), Next::Rest);
    (case, step)
}

#[test]
fn a_form_that_was_never_told_to_us_is_wound_down_before_there_is_another() {
    let mut case = Case::new();
    let first = case.begin();
    case.tell(&first, registered());
    case.aggregate.registrations[0].form_url = None;
    let ConfirmDecision::Call(decline) = case.confirm() else { panic!("it must call") };
    assert!(matches!(decline.kind, CallKind::Cancel { .. }));
    let ask = call(case.tell(&decline, Answer::Acknowledged));
    let again = call(case.tell(&ask, found(&ask, ReportedStatus::Over(Ending::Cancelled))));
    assert!(registers(&again));
    assert_ne!(again.target.number, first.target.number);
    case.tell(&again, registered());
    assert_eq!(case.own_task().state, TaskState::Succeeded);
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
}

#[test]
fn after_a_timeout_nobody_else_is_called() {
    let (case, _) = unknown();
    let task = case.own_task();
    assert_eq!((task.state, task.reason), (TaskState::Queued, Some(Reason::OutcomeUnknown)));
    assert_eq!(task.lane, Some(Provider::Sber));
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Unknown);
    assert_eq!(case.aggregate.registrations.len(), 1);
}

#[test]
fn a_lost_lease_leaves_an_unknown_outcome() {
    let mut case = Case::new();
    case.begin();
    let step = case.claim_call(TaskKind::RegisterPayment);
    assert_eq!((step.target.provider, step.only_asks()), (Provider::Sber, true));
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Unknown);
}

#[test]
fn the_same_number_goes_again_only_after_three_answers_and_the_grace() {
    let (mut case, first) = unknown();
    let sent = case.now;
    let mut not_found = 0;
    loop {
        let step = case.claim_call(TaskKind::RegisterPayment);
        assert!(step.only_asks());
        not_found += 1;
        if let Next::Call(step) = case.tell(&step, Answer::NotFound) {
            assert!(registers(&step));
            assert_eq!(
                (step.target.provider, &step.target.number),
                (first.target.provider, &first.target.number)
            );
            break;
        }
        assert!(not_found < 20, "it never goes again");
    }
    assert!(not_found >= 3);
    assert!(case.now.since(sent) > case.policy.unknown_grace);
    assert!(case.now.since(sent) < case.policy.unknown_grace * 2, "and not long after the grace");
}

#[test]
fn an_answer_counts_once_however_often_it_is_taken_in() {
    let (mut case, _) = unknown();
    let query = case.claim_call(TaskKind::RegisterPayment);
    for _ in 0..3 {
        case.evolve(&query, Answer::NotFound);
    }
    assert_eq!(case.aggregate.registration(Provider::Sber, 1).unwrap().not_found, 1);
}

#[test]
fn an_answer_to_a_question_from_before_the_end_of_the_grace_does_not_end_it() {
    let (mut case, _) = unknown();
    for _ in 0..3 {
        let query = case.claim_call(TaskKind::RegisterPayment);
        assert_eq!(case.tell(&query, Answer::NotFound), Next::Rest);
    }
    let query = case.claim_call(TaskKind::RegisterPayment);
    case.pass(60);
    assert_eq!(case.tell(&query, Answer::NotFound), Next::Rest);
    let query = case.claim_call(TaskKind::RegisterPayment);
    assert!(registers(&call(case.tell(&query, Answer::NotFound))));
}

#[test]
fn after_a_long_silence_it_still_takes_three_answers_to_send_the_number_again() {
    let (mut case, _) = unknown();
    case.pass(3_600);
    for _ in 0..2 {
        let query = case.claim_call(TaskKind::RegisterPayment);
        assert_eq!(case.tell(&query, Answer::NotFound), Next::Rest);
    }
    let query = case.claim_call(TaskKind::RegisterPayment);
    assert!(registers(&call(case.tell(&query, Answer::NotFound))));
}

#[test]
fn an_answer_to_a_question_from_before_a_send_says_nothing_about_it() {
    let (mut case, _) = unknown();
    let early = case.claim_call(TaskKind::RegisterPayment);
    case.pass(100);
    let registration = case.aggregate.registration_mut(Provider::Sber, 1).unwrap();
    registration.sent_at = Some(case.now);
    case.evolve(&early, Answer::NotFound);
    assert_eq!(case.aggregate.registration(Provider::Sber, 1).unwrap().not_found, 0);
}

#[test]
fn a_query_that_failed_proves_nothing() {
    let (mut case, _) = unknown();
    for _ in 0..30 {
        let step = case.claim_call(TaskKind::RegisterPayment);
        assert_eq!(case.tell(&step, Answer::Unknown), Next::Rest);
    }
    let registration = case.aggregate.registration(Provider::Sber, 1).unwrap();
    assert_eq!((registration.state, registration.not_found), (RegistrationState::Unknown, 0));
}

#[test]
fn a_partner_that_was_silent_for_long_is_asked_at_least_every_longest_backoff() {
    let (mut case, _) = unknown();
    for _ in 0..30 {
        let step = case.claim_call(TaskKind::RegisterPayment);
        case.tell(&step, Answer::Unknown);
        assert!(case.own_task().run_at.since(case.now) <= case.policy.backoff_max);
    }
}

#[test]
fn after_a_long_silence_the_first_answer_is_followed_by_the_others_soon() {
    let (mut case, _) = unknown();
    for _ in 0..10 {
        let step = case.claim_call(TaskKind::RegisterPayment);
        case.tell(&step, Answer::Unknown);
    }
    let mut step = case.claim_call(TaskKind::RegisterPayment);
    let heard = case.now;
    while let Next::Rest = case.tell(&step, Answer::NotFound) {
        step = case.claim_call(TaskKind::RegisterPayment);
    }
    assert!(case.now.since(heard) < Duration::from_secs(15));
}

#[test]
fn a_repeat_that_was_not_executed_says_nothing_about_the_first_send() {
    let (mut case, _) = unknown();
    case.pass(100);
    let resent = loop {
        let step = case.claim_call(TaskKind::RegisterPayment);
        if let Next::Call(step) = case.tell(&step, Answer::NotFound) {
            break step;
        }
    };
    case.tell(&resent, not_executed(Reason::BreakerOpen));
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Unknown);
    assert_eq!(case.aggregate.registrations.len(), 1, "and no other provider is tried");
}

#[test]
fn a_refusal_of_our_account_says_nothing_about_an_earlier_send() {
    let mut case = Case::new();
    case.policy.providers = Preference::new([Provider::OdnaKassa]).unwrap();
    let step = case.begin();
    case.tell(&step, Answer::Unknown);
    let repeat = case.claim_call(TaskKind::RegisterPayment);
    case.tell(&repeat, Answer::Refused { concerns_account: true });
    assert_eq!(case.state(Provider::OdnaKassa, 1), RegistrationState::Unknown);
}

#[test]
fn where_the_key_is_a_promise_the_repeat_is_the_query() {
    let mut case = Case::new();
    case.policy.providers = Preference::new([Provider::OdnaKassa]).unwrap();
    let first = case.begin();
    case.tell(&first, Answer::Unknown);
    let repeat = case.claim_call(TaskKind::RegisterPayment);
    assert!(registers(&repeat));
    assert_eq!(repeat.target.number, first.target.number);
    case.tell(&repeat, registered());
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
    let registration = case.aggregate.registration(Provider::OdnaKassa, 1).unwrap();
    assert!(registration.sync_requested(), "a repeat that succeeded is compared by a query once");
}

#[test]
fn a_registration_whose_form_is_lost_is_taken_back_and_made_anew() {
    let (mut case, first) = unknown();
    let query = case.claim_call(TaskKind::RegisterPayment);
    let decline = call(case.tell(&query, found(&query, ReportedStatus::Pending)));
    assert!(cancels(&decline));
    let evidence = call(case.tell(&decline, Answer::Acknowledged));
    assert!(evidence.only_asks());
    let over = found(&evidence, ReportedStatus::Over(Ending::Declined));
    let anew = call(case.tell(&evidence, over));
    assert!(registers(&anew));
    assert_eq!((anew.target.provider, anew.target.sequence), (Provider::Sber, 2));
    assert_ne!(anew.target.number, first.target.number);
    case.tell(&anew, registered());
    assert_eq!(case.own_task().result, Some((Provider::Sber, 2)));
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
}

#[test]
fn a_decline_is_not_evidence() {
    let (mut case, _) = unknown();
    let query = case.claim_call(TaskKind::RegisterPayment);
    let decline = call(case.tell(&query, found(&query, ReportedStatus::Pending)));
    let ask = call(case.tell(&decline, Answer::Acknowledged));
    assert_eq!(case.tell(&ask, found(&ask, ReportedStatus::Pending)), Next::Rest);
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Live);
    let again = case.claim_call(TaskKind::RegisterPayment);
    assert!(cancels(&again));
}

#[test]
fn a_number_that_is_known_already_is_asked_for_at_once() {
    let mut case = Case::new();
    let step = case.begin();
    let query = call(case.tell(&step, Answer::Duplicate));
    assert_eq!((query.target.provider, query.only_asks()), (Provider::Sber, true));
    case.tell(&query, found(&query, ReportedStatus::Paid));
    assert_eq!(case.status(), OrderStatus::Paid);
    assert_eq!(case.own_task().state, TaskState::Succeeded);
}

#[test]
fn a_provider_that_loses_every_form_is_not_called_as_fast_as_it_answers() {
    let mut case = Case::new();
    let mut step = case.begin();
    for sequence in [1, 2] {
        assert_eq!(step.target.sequence, sequence);
        let query = call(case.tell(&step, Answer::Duplicate));
        let decline = call(case.tell(&query, found(&query, ReportedStatus::Pending)));
        let ask = call(case.tell(&decline, Answer::Acknowledged));
        let over = found(&ask, ReportedStatus::Over(Ending::Declined));
        match case.tell(&ask, over) {
            Next::Call(anew) => step = anew,
            rest => assert_eq!((rest, sequence), (Next::Rest, 2)),
        }
    }
    let task = case.own_task();
    assert_eq!((task.state, task.reason), (TaskState::Queued, Some(Reason::Retry)));
    assert_eq!(task.attempts, 1, "so that the next pause is longer");
    assert!(task.run_at > case.now);
    assert_eq!(case.claim_call(TaskKind::RegisterPayment).target.sequence, 3);
}

#[test]
fn an_outcome_unknown_for_too_long_is_laid_before_a_person_and_still_asked_for() {
    let (mut case, _) = unknown();
    case.pass(86_400);
    assert_eq!(case.claim(TaskKind::RegisterPayment), Next::Rest);
    assert_eq!(case.own_task().state, TaskState::Review);
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    assert_eq!(case.status(), OrderStatus::Paid);
}

#[test]
fn a_hint_brings_the_question_forward_and_is_never_believed() {
    let (mut case, step) = unknown();
    let (now, id) = (case.now, TaskId::new(999));
    let age = case.policy.max_age;
    assert!(case.aggregate.request_sync((Provider::Sber, &step.target.number), now, now, id, age));
    assert_eq!(case.aggregate.unfinished(TaskKind::RegisterPayment).unwrap().run_at, now);
    assert_eq!(case.status(), OrderStatus::Registering);
    assert!(!case.aggregate.request_sync(
        (Provider::OdnaKassa, &step.target.number),
        now,
        now,
        id,
        age
    ));
}

#[test]
fn news_of_a_payment_goes_before_the_polls_that_nobody_waits_for() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Pending));
    assert!(case.own_task().is_routine());
    let (now, age) = (case.now, case.policy.max_age);
    case.aggregate.request_sync(
        (Provider::Sber, &step.target.number),
        now,
        now,
        TaskId::new(999),
        age,
    );
    assert!(!case.own_task().is_routine());
    assert_eq!(case.own_task().run_at, now);
}

#[test]
fn two_hints_about_silent_partners_are_asked_once_each_and_then_wait() {
    let mut case = Case::new();
    let first = case.begin();
    case.tell(&first, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Over(Ending::Expired)));
    let second = case.begin();
    case.tell(&second, registered());
    let (now, age) = (case.now, case.policy.max_age);
    for number in [&first.target.number, &second.target.number] {
        case.aggregate.request_sync((Provider::Sber, number), now, now, TaskId::new(997), age);
    }
    let one = case.claim_call(TaskKind::SyncPayment);
    let other = call(case.tell(&one, not_executed(Reason::BreakerOpen)));
    assert_ne!(one.target.number, other.target.number);
    assert_eq!(case.tell(&other, not_executed(Reason::BreakerOpen)), Next::Rest);
    assert!(case.own_task().run_at > case.now);
}

#[test]
fn payment_is_found_by_polling_alone() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let mut pauses = Vec::new();
    for _ in 0..6 {
        let query = case.claim_call(TaskKind::SyncPayment);
        let asked = case.now;
        case.tell(&query, found(&query, ReportedStatus::Pending));
        pauses.push(case.own_task().run_at.since(asked).as_secs());
    }
    assert!(pauses.is_sorted() && pauses[0] >= 30 && pauses[5] <= 331, "{pauses:?}");
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    assert_eq!(case.status(), OrderStatus::Paid);
    let look = case.aggregate.unfinished(TaskKind::SyncPayment).unwrap();
    assert_eq!(look.run_at.since(case.now), case.policy.looks_after_payment[0]);
    assert!(case.aggregate.task_at_work().is_none(), "which is nobody's business");
}

#[test]
fn an_expired_form_fails_the_payment_and_late_money_wins() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Over(Ending::Expired)));
    assert_eq!(case.status(), OrderStatus::PaymentFailed);
    let second = case.begin();
    case.tell(&second, registered());
    let (now, age) = (case.now, case.policy.max_age);
    case.aggregate.request_sync(
        (Provider::Sber, &step.target.number),
        now,
        now,
        TaskId::new(998),
        age,
    );
    let query = case.claim_call(TaskKind::SyncPayment);
    assert_eq!(query.target.number, step.target.number);
    let _ = case.tell(&query, found(&query, ReportedStatus::Paid));
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Surplus);
    assert_eq!(case.status(), OrderStatus::AwaitingPayment, "the second is still to be paid");
    let refund = case.aggregate.unfinished(TaskKind::RefundPayment).unwrap();
    assert_eq!((refund.reason, refund.result), (Some(Reason::Operator), Some((Provider::Sber, 1))));
}

#[test]
fn paid_is_never_undone_by_older_news() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    for status in [
        ReportedStatus::Pending,
        ReportedStatus::Over(Ending::Expired),
        ReportedStatus::Over(Ending::Declined),
        ReportedStatus::Strange,
    ] {
        case.evolve(&query, found(&query, status));
        assert_eq!(case.status(), OrderStatus::Paid, "{status:?}");
    }
}
