use super::*;

fn paid() -> Case {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    case
}

fn begun(asked: RefundDecision) -> ProviderCall {
    match asked {
        RefundDecision::Call(step) => step,
        other => panic!("{other:?}"),
    }
}

/// Up to the refund call.
fn sent(case: &mut Case, kopecks: Option<i64>) -> ProviderCall {
    let query = begun(case.refund(kopecks));
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
    let query = begun(case.refund(None));
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
    case.learn(&asked_early, found(&asked_early, over));
    assert_eq!(
        case.status(),
        OrderStatus::Paid,
        "a form that was called over was paid all the same"
    );
    assert!(
        case.aggregate.registrations[0].sync_requested,
        "the provider is asked what is true now"
    );
    case.pass(5);
    let asked_late = asked(&asked_early, case.now);
    case.learn(&asked_late, found(&asked_late, over));
    assert_eq!(case.status(), OrderStatus::Refunded);
    assert!(!case.aggregate.registrations[0].sync_requested);
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
    case.learn(&first, not_executed(Reason::Retry));
    let ask = call(case.tell(&second, Answer::Unknown));
    assert_eq!(case.tell(&ask, found_refunded(&ask, 0)), Next::Rest, "it may still arrive");
}
