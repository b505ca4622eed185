use super::*;
use crate::core::payment::operator::OperatorFinding;
use crate::core::payment::refund::RefundState;

pub(super) fn paid() -> Case {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    case
}

pub(super) fn first_call(asked: RefundDecision) -> ProviderCall {
    match asked {
        RefundDecision::Call(step) => step,
        other => panic!("{other:?}"),
    }
}

/// Up to the refund call.
pub(super) fn sent(case: &mut Case, kopecks: Option<i64>) -> ProviderCall {
    let query = first_call(case.refund(kopecks));
    assert!(query.only_asks());
    call(case.tell(&query, found_refunded(&query, 0)))
}

#[test]
fn a_refund_is_done_when_the_provider_shows_it() {
    let mut case = paid();
    let refund = sent(&mut case, None);
    assert!(matches!(&refund.kind, CallKind::Refund { amount, .. } if amount.minor() == TOTAL));
    let ask = call(case.tell(&refund, Answer::Acknowledged));
    case.tell(&ask, found_refunded(&ask, TOTAL));
    assert_eq!(case.own_task().state, TaskState::Succeeded);
    assert_eq!(case.status(), OrderStatus::Refunded);
    assert_eq!(case.refund(None), RefundDecision::Refused(OrderStatus::Refunded));
}

#[test]
fn a_partial_refund_leaves_the_rest() {
    let mut case = paid();
    let refund = sent(&mut case, Some(900));
    let ask = call(case.tell(&refund, Answer::Acknowledged));
    case.tell(&ask, found_refunded(&ask, 900));
    assert_eq!(case.status(), OrderStatus::Paid);
    assert_eq!(case.refund(Some(TOTAL)), RefundDecision::Exceeds);
    let query = first_call(case.refund(None));
    let second = call(case.tell(&query, found_refunded(&query, 900)));
    assert!(
        matches!(&second.kind, CallKind::Refund { amount, .. } if amount.minor() == TOTAL - 900)
    );
}

#[test]
fn a_reversal_gives_everything_back_but_not_by_news_from_before_the_payment() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let asked_early = asked(&step, case.now);
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    let over = ReportedStatus::Over(Ending::Cancelled);
    case.evolve(&asked_early, found(&asked_early, over));
    assert_eq!(
        case.status(),
        OrderStatus::Paid,
        "a form that was called over was paid all the same"
    );
    assert!(
        case.aggregate.registrations[0].sync_requested(),
        "the provider is asked what is true now"
    );
    case.pass(5);
    let asked_late = ProviderCall::query(&case.aggregate.registrations[0], case.now);
    case.evolve(&asked_late, found(&asked_late, over));
    assert_eq!(case.status(), OrderStatus::Refunded);
    assert!(!case.aggregate.registrations[0].sync_requested());
}

#[test]
fn refunds_of_one_order_run_one_at_a_time() {
    let mut case = paid();
    sent(&mut case, Some(1));
    assert_eq!(case.refund(Some(1)), RefundDecision::InProgress);
}

#[test]
fn a_refund_of_unknown_outcome_goes_again_only_when_the_sum_stood_still_past_the_grace() {
    let mut case = paid();
    let first = sent(&mut case, Some(500));
    let sent_at = case.now;
    let ask = call(case.tell(&first, Answer::Unknown));
    assert_eq!(case.tell(&ask, found_refunded(&ask, 0)), Next::Rest);
    let again = loop {
        let ask = case.claim_call(TaskKind::RefundPayment);
        assert!(ask.only_asks());
        if let Next::Call(step) = case.tell(&ask, found_refunded(&ask, 0)) {
            break step;
        }
    };
    assert!(case.now.since(sent_at) > case.policy.unknown_grace);
    assert_eq!(again.kind, first.kind, "the same refund under the same id");
}

#[test]
fn a_refund_of_unknown_outcome_that_happened_is_not_repeated() {
    let mut case = paid();
    let first = sent(&mut case, Some(500));
    let ask = call(case.tell(&first, Answer::Unknown));
    assert_eq!(case.tell(&ask, found_refunded(&ask, 500)), Next::Rest);
    assert_eq!(case.own_task().state, TaskState::Succeeded);
}

#[test]
fn a_word_that_was_taken_is_never_said_again() {
    let mut case = paid();
    let refund = sent(&mut case, Some(500));
    let ask = call(case.tell(&refund, Answer::Acknowledged));
    assert_eq!(case.tell(&ask, found_refunded(&ask, 0)), Next::Rest);
    for _ in 0..20 {
        let ask = case.claim_call(TaskKind::RefundPayment);
        assert!(ask.only_asks());
        assert_eq!(case.tell(&ask, found_refunded(&ask, 0)), Next::Rest);
    }
}

#[test]
fn what_was_not_executed_waits_and_begins_anew() {
    let mut case = paid();
    let refund = sent(&mut case, Some(500));
    assert_eq!(case.tell(&refund, not_executed(Reason::BreakerOpen)), Next::Rest);
    assert_eq!(case.own_task().reason, Some(Reason::BreakerOpen));
    let query = case.claim_call(TaskKind::RefundPayment);
    assert!(query.only_asks());
    let again = call(case.tell(&query, found_refunded(&query, 0)));
    assert!(matches!(again.kind, CallKind::Refund { .. }));
}

#[test]
fn a_refused_refund_fails_and_another_sum_is_a_persons_matter() {
    let mut case = paid();
    let refund = sent(&mut case, Some(500));
    case.tell(&refund, Answer::Refused { concerns_account: false });
    assert_eq!(case.own_task().error, Some(TaskError::RefundRejected));
    let refund = sent(&mut case, Some(500));
    let ask = call(case.tell(&refund, Answer::Unknown));
    case.tell(&ask, found_refunded(&ask, 700));
    assert_eq!(case.own_task().state, TaskState::Review);
}

#[test]
fn a_reading_from_before_the_end_of_the_grace_does_not_repeat_a_refund() {
    let mut case = paid();
    let first = sent(&mut case, Some(500));
    let ask = call(case.tell(&first, Answer::Unknown));
    case.tell(&ask, found_refunded(&ask, 0));
    for _ in 0..2 {
        let ask = case.claim_call(TaskKind::RefundPayment);
        assert_eq!(case.tell(&ask, found_refunded(&ask, 0)), Next::Rest);
    }
    let ask = case.claim_call(TaskKind::RefundPayment);
    case.pass(60);
    assert_eq!(case.tell(&ask, found_refunded(&ask, 0)), Next::Rest);
}

#[test]
fn late_news_of_an_earlier_refund_call_says_nothing_about_the_present_one() {
    let mut case = paid();
    let first = sent(&mut case, Some(500));
    case.tell(&first, not_executed(Reason::Retry));
    let query = case.claim_call(TaskKind::RefundPayment);
    let second = call(case.tell(&query, found_refunded(&query, 0)));
    case.evolve(&first, not_executed(Reason::Retry));
    let ask = call(case.tell(&second, Answer::Unknown));
    assert_eq!(case.tell(&ask, found_refunded(&ask, 0)), Next::Rest, "it may still arrive");
}

#[test]
fn one_report_of_an_unchanged_sum_is_not_enough_however_late_it_comes() {
    let mut case = paid();
    let first = sent(&mut case, Some(500));
    let ask = call(case.tell(&first, Answer::Unknown));
    assert_eq!(case.tell(&ask, silent_about_the_sum(&ask)), Next::Rest);
    case.pass(3_600);
    for _ in 0..2 {
        let ask = case.claim_call(TaskKind::RefundPayment);
        assert_eq!(case.tell(&ask, found_refunded(&ask, 0)), Next::Rest);
    }
    let ask = case.claim_call(TaskKind::RefundPayment);
    let again = call(case.tell(&ask, found_refunded(&ask, 0)));
    assert_eq!(again.kind, first.kind, "three that were asked after the grace");
    let ask = call(case.tell(&again, Answer::Unknown));
    assert_eq!(case.tell(&ask, silent_about_the_sum(&ask)), Next::Rest);
    case.pass(3_600);
    for _ in 0..2 {
        let ask = case.claim_call(TaskKind::RefundPayment);
        assert_eq!(
            case.tell(&ask, found_refunded(&ask, 0)),
            Next::Rest,
            "counted from the last send"
        );
    }
}

/// A report that tells of the payment but not of the sum that was given back.
fn silent_about_the_sum(call: &ProviderCall) -> Answer {
    found(call, ReportedStatus::Paid)
}

#[test]
fn a_report_without_the_refunded_sum_proves_nothing() {
    let mut case = paid();
    let query = first_call(case.refund(Some(500)));
    assert_eq!(case.tell(&query, silent_about_the_sum(&query)), Next::Rest, "nothing is sent");
    let query = case.claim_call(TaskKind::RefundPayment);
    let refund = call(case.tell(&query, found_refunded(&query, 0)));
    let ask = call(case.tell(&refund, Answer::Unknown));
    let mut next = case.tell(&ask, silent_about_the_sum(&ask));
    for _ in 0..20 {
        assert_eq!(next, Next::Rest, "it is never sent again");
        let ask = case.claim_call(TaskKind::RefundPayment);
        next = case.tell(&ask, silent_about_the_sum(&ask));
    }
    assert_eq!(case.aggregate.refunds[0].state, RefundState::InDoubt);
    assert_eq!(case.aggregate.refunds[0].unchanged, 0);
}

#[test]
fn without_a_key_a_refund_in_doubt_goes_before_a_person_after_the_grace() {
    let mut case = paid();
    case.keyed_refunds = Vec::new();
    let refund = sent(&mut case, Some(500));
    let sent_at = case.now;
    let mut ask = call(case.tell(&refund, Answer::Unknown));
    while let Next::Rest = case.tell(&ask, found_refunded(&ask, 0)) {
        if case.own_task().state == TaskState::Review {
            break;
        }
        ask = case.claim_call(TaskKind::RefundPayment);
        assert!(ask.only_asks());
    }
    assert!(case.now.since(sent_at) > case.policy.unknown_grace);
    let (task, error) = (case.own_task().id, case.own_task().error);
    assert_eq!(error, Some(TaskError::OutcomeUnknown));
    assert_eq!(case.aggregate.refunds[0].state, RefundState::Review);
    assert_eq!(case.refund(Some(1)), RefundDecision::InProgress, "it blocks the next");
    // Only a person's word sends it again.
    case.aggregate.tasks.retain(|task| !task.state.is_final());
    assert_eq!(case.resolve(task, OperatorFinding::NotExecuted), Ok(()));
    let query = case.claim_call(TaskKind::RefundPayment);
    let again = call(case.tell(&query, found_refunded(&query, 0)));
    assert_eq!(again.kind, refund.kind);
    let ask = call(case.tell(&again, Answer::Acknowledged));
    case.tell(&ask, found_refunded(&ask, 500));
    assert_eq!(case.aggregate.refunds[0].state, RefundState::Done);
}

#[test]
fn without_a_sum_from_before_no_report_says_what_became_of_a_refund() {
    for told in [0, 500] {
        let mut case = paid();
        let refund = sent(&mut case, Some(500));
        case.aggregate.refunds[0].told_before = None;
        let ask = call(case.tell(&refund, Answer::Unknown));
        assert_eq!(case.tell(&ask, found_refunded(&ask, told)), Next::Rest);
        assert_eq!(case.aggregate.refunds[0].state, RefundState::Review, "{told}");
        assert_eq!(case.own_task().state, TaskState::Review, "{told}");
    }
}

#[test]
fn a_clients_key_names_one_refund_only() {
    let mut case = paid();
    let ask = |case: &mut Case, key: &str| {
        case.new_run();
        let amount = Some(Money::rub(500).unwrap());
        let command = RefundCommand { amount, client_key: Some(key.to_owned()), trace: None };
        case.with_context(|aggregate, context| aggregate.refund_payment(&command, context))
    };
    let query = first_call(ask(&mut case, "k"));
    let refund = call(case.tell(&query, found_refunded(&query, 0)));
    case.tell(&refund, Answer::Refused { concerns_account: false });
    let repeated = ask(&mut case, "k");
    assert!(matches!(repeated, RefundDecision::Known { state: RefundState::Refused, .. }));
    first_call(ask(&mut case, "another"));
    let keys: Vec<_> = case.aggregate.refunds.iter().map(|refund| &refund.key).collect();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1], "the provider would take the second for the first");
}

#[test]
fn more_given_back_than_ours_explain_sends_nothing() {
    let mut case = paid();
    let query = first_call(case.refund(Some(500)));
    assert_eq!(case.tell(&query, found_refunded(&query, 500)), Next::Rest);
    assert_eq!(case.own_task().error, Some(TaskError::Mismatch));
    assert_eq!(case.aggregate.refunds[0].state, RefundState::Review);
    assert_eq!(case.aggregate.refunds[0].sends, 0);
}

#[test]
fn money_given_back_in_the_banks_cabinet_is_adopted_and_told() {
    let mut case = paid();
    let look = case.claim_call(TaskKind::SyncPayment);
    case.tell(&look, found_refunded(&look, 700));
    let amount = Money::rub(700).unwrap();
    let provider = Provider::Sber;
    assert!(case.events.contains(&DomainEvent::RefundElsewhere { provider, amount }));
    let adopted = &case.aggregate.refunds[0];
    assert_eq!((adopted.state, adopted.amount), (RefundState::Done, amount));
    // The next one goes on from there.
    let query = first_call(case.refund(Some(300)));
    let refund = call(case.tell(&query, found_refunded(&query, 700)));
    let ask = call(case.tell(&refund, Answer::Acknowledged));
    case.tell(&ask, found_refunded(&ask, 1_000));
    assert_eq!(case.own_task().state, TaskState::Succeeded);
    assert_eq!(case.aggregate.refunds.len(), 2);
}

#[test]
fn a_refund_that_was_never_sent_ends_expired() {
    let mut case = paid();
    let query = first_call(case.refund(Some(500)));
    case.tell(&query, not_executed(Reason::BreakerOpen));
    case.pass(86_400);
    assert_eq!(case.claim(TaskKind::RefundPayment), Next::Rest);
    let task = case.own_task();
    assert_eq!((task.state, task.error), (TaskState::Failed, Some(TaskError::Expired)));
    assert_eq!(case.aggregate.refunds[0].state, RefundState::Expired);
    assert!(matches!(case.refund(Some(500)), RefundDecision::Call(_)), "and blocks nobody");
}

#[test]
fn a_lost_lease_or_an_expired_task_does_not_free_a_doubt() {
    let mut case = paid();
    let refund = sent(&mut case, Some(500));
    // Its sender dies.
    let ask = case.claim_call(TaskKind::RefundPayment);
    assert!(ask.only_asks());
    assert_eq!(case.aggregate.refunds[0].state, RefundState::InDoubt);
    case.pass(86_400);
    case.tell(&ask, Answer::Unknown);
    assert_eq!(case.own_task().state, TaskState::Review);
    assert_eq!(case.aggregate.refunds[0].state, RefundState::Review);
    assert_eq!(case.refund(Some(1)), RefundDecision::InProgress);
    drop(refund);
}

#[test]
fn a_late_word_belongs_to_the_refund_whose_key_it_carries() {
    let mut case = paid();
    let first = sent(&mut case, Some(500));
    let ask = call(case.tell(&first, Answer::Unknown));
    case.tell(&ask, found_refunded(&ask, 500));
    let second = sent_after(&mut case, 300, 500);
    case.evolve(&first, Answer::Acknowledged);
    assert!(!case.aggregate.refunds[1].acknowledged, "the word was about another");
    assert_ne!(first.kind, second.kind);
}

/// Up to the refund call, when so much was given back before.
fn sent_after(case: &mut Case, kopecks: i64, before: i64) -> ProviderCall {
    let query = first_call(case.refund(Some(kopecks)));
    call(case.tell(&query, found_refunded(&query, before)))
}
