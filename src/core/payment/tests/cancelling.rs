use super::*;

#[test]
fn an_order_nobody_can_pay_is_cancelled_at_once_and_stays_so() {
    let mut case = Case::new();
    assert_eq!(case.cancel(), CancelDecision::Done);
    assert_eq!(case.cancel(), CancelDecision::Done);
    assert_eq!(case.confirm(), ConfirmDecision::Refused(OrderStatus::Cancelled));
}

#[test]
fn a_queued_registration_is_cancelled_with_its_task() {
    let mut case = Case::new();
    let sber = case.begin();
    let kassa = call(case.tell(&sber, not_executed(Reason::BreakerOpen)));
    case.tell(&kassa, not_executed(Reason::BreakerOpen));
    assert_eq!(case.cancel(), CancelDecision::Done);
    assert!(case.aggregate.unfinished(TaskKind::RegisterPayment).is_none());
    assert_eq!(case.status(), OrderStatus::Cancelled);
}

#[test]
fn a_cancellation_of_an_unknown_outcome_follows_its_resolution() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, Answer::Unknown);
    let CancelDecision::Running(_) = case.cancel() else { panic!("it must wait") };
    assert_eq!(case.claim(TaskKind::CancelPayment), Next::Rest, "the registration goes first");
    let query = case.claim_call(TaskKind::RegisterPayment);
    let decline = call(case.tell(&query, found(&query, ReportedStatus::Pending)));
    let ask = call(case.tell(&decline, Answer::Acknowledged));
    let over = found(&ask, ReportedStatus::Over(Ending::Declined));
    assert_eq!(case.tell(&ask, over), Next::Rest, "nothing is registered anew");
    assert_eq!(case.claim(TaskKind::CancelPayment), Next::Rest);
    assert_eq!(case.status(), OrderStatus::Cancelled);
    assert_eq!(case.own_task().state, TaskState::Succeeded);
}

#[test]
fn a_live_registration_is_taken_back_before_the_order_is_cancelled() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let CancelDecision::Call(decline) = case.cancel() else { panic!("it must call") };
    assert_eq!(decline.kind, CallKind::Cancel);
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
    let ask = call(case.tell(&decline, Answer::Acknowledged));
    case.tell(&ask, found(&ask, ReportedStatus::Over(Ending::Declined)));
    assert_eq!(case.status(), OrderStatus::Cancelled);
    let ending = case.aggregate.registration(Provider::Sber, 1).unwrap().ending;
    assert_eq!(ending, Some(Ending::Cancelled), "by our word, whatever the bank calls it");
}

#[test]
fn a_payer_who_was_faster_keeps_what_was_bought() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let CancelDecision::Call(decline) = case.cancel() else { panic!("it must call") };
    let ask = call(case.tell(&decline, Answer::Refused { concerns_account: false }));
    case.tell(&ask, found(&ask, ReportedStatus::Paid));
    assert_eq!(case.own_task().error, Some(TaskError::OrderNotCancellable));
    assert_eq!(case.status(), OrderStatus::Paid);
    assert_eq!(case.cancel(), CancelDecision::Refused(OrderStatus::Paid));
}

#[test]
fn a_cancelled_order_that_turns_out_paid_gets_a_refund_for_the_operator() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let CancelDecision::Call(decline) = case.cancel() else { panic!("it must call") };
    let ask = call(case.tell(&decline, Answer::Acknowledged));
    case.tell(&ask, found(&ask, ReportedStatus::Over(Ending::Cancelled)));
    let (now, age) = (case.now, case.policy.max_age);
    case.aggregate.request_sync(
        (Provider::Sber, &step.target.number),
        now,
        now,
        TaskId::new(997),
        age,
    );
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    assert_eq!(case.status(), OrderStatus::Paid);
    assert!(case.events.contains(&DomainEvent::LateMoney { provider: Provider::Sber }));
    let refund = case.aggregate.unfinished(TaskKind::RefundPayment).unwrap();
    assert_eq!(refund.reason, Some(Reason::Operator));
}
