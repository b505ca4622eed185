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
    assert!(cancels(&decline));
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
    let ask = call(case.tell(&decline, Answer::Acknowledged));
    case.tell(&ask, found(&ask, ReportedStatus::Over(Ending::Declined)));
    assert_eq!(case.status(), OrderStatus::Cancelled);
    let ending = case.aggregate.registration(Provider::Sber, 1).unwrap().ending;
    assert_eq!(ending, Some(Ending::Cancelled), "by our word, whatever the bank calls it");
}

/// A registration whose payer's money is on hold, and a cancellation that was sent.
fn cancelled_while_held(said: Answer) -> (Case, ProviderCall) {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let poll = case.claim_call(TaskKind::SyncPayment);
    case.tell(&poll, found(&poll, ReportedStatus::Held));
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
    let CancelDecision::Call(decline) = case.cancel() else { panic!("it must call") };
    let ask = call(case.tell(&decline, said));
    (case, ask)
}

#[test]
fn a_hold_that_is_released_cancels_the_order() {
    let (mut case, ask) = cancelled_while_held(Answer::Acknowledged);
    case.tell(&ask, found(&ask, ReportedStatus::Over(Ending::Cancelled)));
    assert_eq!(case.status(), OrderStatus::Cancelled);
}

#[test]
fn a_hold_that_our_word_did_not_release_is_laid_before_a_person_at_once() {
    for said in [Answer::Acknowledged, Answer::Unknown, Answer::Refused { concerns_account: false }]
    {
        let (mut case, ask) = cancelled_while_held(said);
        assert_eq!(case.tell(&ask, found(&ask, ReportedStatus::Held)), Next::Rest);
        let task = case.own_task();
        assert_eq!((task.state, task.error), (TaskState::Review, Some(TaskError::Mismatch)));
        let told = case.aggregate.registration(Provider::Sber, 1).unwrap().contradiction.clone();
        assert!(told.unwrap().contains("status held"), "both sides are shown");
        let CancelDecision::Call(again) = case.cancel() else { panic!("it must call") };
        assert!(cancels(&again), "whoever asks for it once more has it said again");
    }
}

#[test]
fn a_hold_that_was_seen_before_our_word_contradicts_nothing() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let poll = case.claim_call(TaskKind::SyncPayment);
    case.pass(1);
    let CancelDecision::Call(decline) = case.cancel() else { panic!("it must call") };
    let ask = call(case.tell(&decline, Answer::Acknowledged));
    case.learn(&poll, found(&poll, ReportedStatus::Held));
    let registration = case.aggregate.registration(Provider::Sber, 1).unwrap();
    assert_eq!(registration.contradiction, None);
    case.tell(&ask, found(&ask, ReportedStatus::Over(Ending::Cancelled)));
    assert_eq!(case.status(), OrderStatus::Cancelled);
}

#[test]
fn a_hold_that_lasts_for_hours_is_laid_before_a_person_once() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let mut reviews = 0;
    for _ in 0..60 {
        match case.claim(TaskKind::SyncPayment) {
            Next::Call(query) => {
                case.tell(&query, found(&query, ReportedStatus::Held));
            }
            Next::Rest | Next::LeaseLost => reviews += 1,
        }
    }
    assert_eq!(reviews, 1);
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    assert_eq!(case.status(), OrderStatus::Paid, "it may become a payment all the same");
}

#[test]
fn a_cancellation_keeps_its_key_while_in_doubt_and_gets_another_after_a_refusal() {
    let mut keys = Vec::new();
    for said in [Answer::Unknown, Answer::Refused { concerns_account: false }] {
        let mut case = Case::new();
        let step = case.begin();
        case.tell(&step, registered());
        let CancelDecision::Call(first) = case.cancel() else { panic!("it must call") };
        let ask = call(case.tell(&first, said));
        assert_eq!(case.tell(&ask, found(&ask, ReportedStatus::Pending)), Next::Rest);
        let again = case.claim_call(TaskKind::CancelPayment);
        assert!(cancels(&again));
        keys.push((first.kind, again.kind));
    }
    let [(doubted, repeated), (refused, anew)] = keys.try_into().unwrap();
    assert_eq!(doubted, repeated);
    assert_ne!(refused, anew);
}

#[test]
fn a_part_of_the_money_is_no_payment() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let poll = case.claim_call(TaskKind::SyncPayment);
    let Answer::Found(mut report) = found(&poll, ReportedStatus::Paid) else { panic!("a report") };
    report.taken = Some(Money::rub(1).unwrap());
    case.tell(&poll, Answer::Found(report));
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
    assert_eq!(case.own_task().error, Some(TaskError::Mismatch));
    let told = case.aggregate.registration(Provider::Sber, 1).unwrap().contradiction.clone();
    assert!(told.unwrap().contains("taken 1 RUB"));
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
