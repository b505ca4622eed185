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
    assert_eq!(case.tell(&query, found(&query, ReportedStatus::Pending)), Next::Rest);
    assert_eq!(case.own_task().state, TaskState::Cancelled, "nothing is registered anew");
    let decline = case.claim_call(TaskKind::CancelPayment);
    let ask = call(case.tell(&decline, Answer::Acknowledged));
    case.tell(&ask, found(&ask, ReportedStatus::Over(Ending::Declined)));
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
    case.evolve(&poll, found(&poll, ReportedStatus::Held));
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
fn a_cancellation_keeps_its_key_while_in_doubt_and_gets_another_after_an_answer() {
    let refused = Answer::Refused { concerns_account: false };
    for (said, same) in [(Answer::Unknown, true), (refused, false), (Answer::Acknowledged, false)] {
        let mut case = Case::new();
        let step = case.begin();
        case.tell(&step, registered());
        let CancelDecision::Call(first) = case.cancel() else { panic!("it must call") };
        let ask = call(case.tell(&first, said.clone()));
        assert_eq!(case.tell(&ask, found(&ask, ReportedStatus::Pending)), Next::Rest);
        let again = case.claim_call(TaskKind::CancelPayment);
        assert!(cancels(&again));
        assert_eq!(first.kind == again.kind, same, "{said:?}");
    }
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

/// A cancel that was accepted while the order waited for its payer, who turns out to have paid.
fn paid_before_the_cancel(case: &mut Case) {
    let step = case.begin();
    case.tell(&step, registered());
    let CancelDecision::Call(decline) = case.cancel() else { panic!("it must call") };
    let ask = call(case.tell(&decline, Answer::Refused { concerns_account: false }));
    case.tell(&ask, found(&ask, ReportedStatus::Paid));
    assert_eq!(case.status(), OrderStatus::Paid);
}

#[test]
fn a_payer_who_was_faster_than_an_accepted_cancel_gets_the_money_back_by_itself() {
    let mut case = Case::new();
    paid_before_the_cancel(&mut case);
    let cancel = case.own_task();
    assert_eq!((cancel.state, cancel.error), (TaskState::Succeeded, None));
    assert_eq!(cancel.result, Some((Provider::Sber, 1)), "it tells what the refund is about");
    assert_eq!(case.confirm(), ConfirmDecision::Refused(OrderStatus::Paid));
    assert_eq!(case.cancel(), CancelDecision::Refused(OrderStatus::Paid));
    assert_eq!(case.refund(None), RefundDecision::InProgress);
    let read = case.claim_call(TaskKind::RefundPayment);
    let send = call(case.tell(&read, found_refunded(&read, 0)));
    let CallKind::Refund { amount, key } = &send.kind else { panic!("{send:?}") };
    assert_eq!(amount.minor(), TOTAL);
    let order = case.aggregate.order.id;
    assert_eq!(*key, RefundKey::of_cancel(order, Provider::Sber, 1), "the same for who forgot");
    let ask = call(case.tell(&send, Answer::Acknowledged));
    case.tell(&ask, found_refunded(&ask, TOTAL));
    assert_eq!(
        (case.own_task().state, case.status()),
        (TaskState::Succeeded, OrderStatus::Refunded)
    );
    assert!(case.aggregate.unfinished(TaskKind::RefundPayment).is_none(), "once");
}

#[test]
fn what_the_provider_does_not_give_back_after_a_cancel_waits_for_a_person() {
    let mut case = Case::new();
    paid_before_the_cancel(&mut case);
    let read = case.claim_call(TaskKind::RefundPayment);
    let send = call(case.tell(&read, found_refunded(&read, 0)));
    case.tell(&send, Answer::Refused { concerns_account: false });
    assert_eq!(case.own_task().error, Some(TaskError::RefundRejected));
    let next = case.aggregate.unfinished(TaskKind::RefundPayment).unwrap();
    assert_eq!(next.reason, Some(Reason::Operator));
}

#[test]
fn a_payment_before_a_cancel_may_be_left_to_a_person() {
    let mut case = Case::new();
    case.policy.cancel_paid = CancelPaid::Review;
    paid_before_the_cancel(&mut case);
    let cancel = case.own_task();
    let failed = (TaskState::Failed, Some(TaskError::OrderNotCancellable));
    assert_eq!((cancel.state, cancel.error), failed);
    let refund = case.aggregate.unfinished(TaskKind::RefundPayment).unwrap();
    assert_eq!(refund.reason, Some(Reason::Operator));
    assert_eq!(case.aggregate.refund_of(refund.id).unwrap().origin, RefundOrigin::Cancel);
}

#[test]
fn a_form_that_comes_after_an_accepted_cancel_is_nobodys() {
    let mut case = Case::new();
    let step = case.begin();
    let (register, lease) = (case.task, case.token);
    let CancelDecision::Running(_) = case.cancel() else { panic!("it must wait") };
    assert_eq!(case.confirm(), ConfirmDecision::CancelInProgress);
    (case.task, case.token) = (register, lease);
    assert_eq!(case.tell(&step, registered()), Next::Rest);
    assert_eq!(case.own_task().state, TaskState::Cancelled);
    let open = case.aggregate.open_registration().unwrap();
    assert_eq!((open.state, open.open_form()), (RegistrationState::Live, None));
    assert_eq!(case.confirm(), ConfirmDecision::CancelInProgress);
    let decline = case.claim_call(TaskKind::CancelPayment);
    assert!(cancels(&decline));
    let ask = call(case.tell(&decline, Answer::Acknowledged));
    case.tell(&ask, found(&ask, ReportedStatus::Over(Ending::Declined)));
    assert_eq!(case.status(), OrderStatus::Cancelled);
    assert_eq!(case.confirm(), ConfirmDecision::Refused(OrderStatus::Cancelled));
}

#[test]
fn an_accepted_cancel_outlives_its_task() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let CancelDecision::Call(decline) = case.cancel() else { panic!("it must call") };
    case.tell(&decline, Answer::Unknown);
    case.now = case.now + case.policy.max_age;
    case.claim(TaskKind::CancelPayment);
    assert_eq!(case.own_task().state, TaskState::Review);
    assert_eq!(case.confirm(), ConfirmDecision::CancelInProgress);
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    let refund = case.aggregate.unfinished(TaskKind::RefundPayment).unwrap();
    assert_eq!((case.status(), refund.reason), (OrderStatus::Paid, None), "it goes by itself");
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

#[test]
fn a_cancellation_that_never_gets_through_is_laid_before_a_person() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let CancelDecision::Call(decline) = case.cancel() else { panic!("it must call") };
    case.tell(&decline, not_executed(Reason::BreakerOpen));
    case.pass(86_400);
    assert_eq!(case.claim(TaskKind::CancelPayment), Next::Rest);
    let task = case.own_task();
    assert_eq!((task.state, task.error), (TaskState::Review, Some(TaskError::OutcomeUnknown)));
    assert_eq!(case.status(), OrderStatus::AwaitingPayment, "its end is not claimed");
}

#[test]
fn what_ends_after_an_accepted_cancel_is_not_registered_anew() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, Answer::Unknown);
    assert!(matches!(case.cancel(), CancelDecision::Running(_)));
    let query = case.claim_call(TaskKind::RegisterPayment);
    assert_eq!(case.tell(&query, found(&query, ReportedStatus::Over(Ending::Expired))), Next::Rest);
    assert_eq!(case.own_task().state, TaskState::Cancelled);
    assert_eq!(case.aggregate.registrations.len(), 1);
}
