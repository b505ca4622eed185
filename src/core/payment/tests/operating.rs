use super::*;
use crate::core::payment::operator::OperatorFinding;

fn resolve(case: &mut Case, finding: OperatorFinding) -> Result<(), OperatorRefused> {
    case.with_context(|aggregate, context| aggregate.resolve_task(finding, None, false, context))
}

#[test]
fn a_person_who_found_nothing_lets_the_order_go_on_elsewhere() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, Answer::Unknown);
    assert_eq!(resolve(&mut case, OperatorFinding::NotExecuted), Ok(()));
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Absent);
    let again = case.claim_call(TaskKind::RegisterPayment);
    assert!(registers(&again));
}

#[test]
fn a_finding_about_a_number_that_the_order_has_left_behind_is_refused() {
    let mut case = Case::new();
    let first = case.begin();
    case.tell(&first, Answer::Unknown);
    let query = case.claim_call(TaskKind::RegisterPayment);
    let over = found(&query, ReportedStatus::Over(Ending::Expired));
    let second = call(case.tell(&query, over));
    case.tell(&second, Answer::Unknown);
    let mut resolve = |number| {
        let executed = OperatorFinding::Executed;
        case.with_context(|aggregate, context| {
            aggregate.resolve_task(executed, Some(number), false, context)
        })
    };
    assert_eq!(resolve(&first.target.number), Err(OperatorRefused::AnotherNumber));
    assert_eq!(resolve(&second.target.number), Ok(()));
}

#[test]
fn after_a_review_a_persons_finding_frees_the_order_and_the_task_stays_as_it_ended() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, Answer::Unknown);
    case.pass(86_400);
    case.claim(TaskKind::RegisterPayment);
    assert_eq!(resolve(&mut case, OperatorFinding::NotExecuted), Ok(()));
    assert_eq!(case.own_task().state, TaskState::Review);
    assert_eq!(case.status(), OrderStatus::New);
    assert!(matches!(case.confirm(), ConfirmDecision::Call(_)));
}

#[test]
fn a_registration_that_a_person_found_is_looked_after() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, Answer::Unknown);
    assert_eq!(resolve(&mut case, OperatorFinding::Executed), Ok(()));
    let decline = case.claim_call(TaskKind::RegisterPayment);
    assert!(cancels(&decline), "its form is lost");
}

#[test]
fn polls_that_ended_in_a_review_are_taken_up_again_by_a_person() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    let other = with_amount(&query, Money::rub(5).unwrap());
    case.tell(&query, found(&other, ReportedStatus::Paid));
    assert_eq!(case.own_task().state, TaskState::Review);
    let polls = case.aggregate.unfinished(TaskKind::SyncPayment).unwrap().id;
    assert_eq!(
        case.confirm(),
        ConfirmDecision::Running(polls),
        "nobody pays by a form that is in doubt"
    );
    let query = case.claim_call(TaskKind::SyncPayment);
    let other = with_amount(&query, Money::rub(5).unwrap());
    assert_eq!(case.tell(&query, found(&other, ReportedStatus::Paid)), Next::Rest);
    assert_eq!(case.own_task().state, TaskState::Queued, "it is polled on");
    let again = matches!(case.events.last(), Some(DomainEvent::MismatchAgain { .. }));
    assert!(again, "and told once");
    let nothing = Err(OperatorRefused::NothingUnknown);
    assert_eq!(resolve(&mut case, OperatorFinding::NotExecuted), nothing, "it is alive");
    assert_eq!(resolve(&mut case, OperatorFinding::Executed), Ok(()));
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Pending));
    assert!(
        matches!(case.confirm(), ConfirmDecision::Form { .. }),
        "the provider has come history"
    );
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    assert_eq!(case.status(), OrderStatus::Paid);
    assert_eq!(resolve(&mut case, OperatorFinding::Executed), nothing, "all is known");
}

#[test]
fn a_task_cannot_be_given_up_while_money_may_be_on_its_way() {
    let mut case = Case::new();
    let step = case.begin();
    let id = case.task;
    assert_eq!(case.cancel_task(id), Err(OperatorRefused::Running));
    case.tell(&step, Answer::Unknown);
    assert_eq!(case.cancel_task(id), Err(OperatorRefused::Unknown));
    assert_eq!(resolve(&mut case, OperatorFinding::NotExecuted), Ok(()));
    assert_eq!(case.cancel_task(id), Ok(()));
    assert_eq!(case.status(), OrderStatus::New);
    assert_eq!(case.cancel_task(id), Err(OperatorRefused::Over));
}

#[test]
fn a_refund_that_waits_for_a_person_runs_when_released() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Over(Ending::Expired)));
    assert_eq!(case.cancel(), CancelDecision::Done);
    let (now, age) = (case.now, case.policy.max_age);
    case.aggregate.request_sync(
        (Provider::Sber, &step.target.number),
        now,
        now,
        TaskId::new(996),
        age,
    );
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    let waiting = case.aggregate.unfinished(TaskKind::RefundPayment).unwrap().id;
    assert_eq!(case.retry_task(waiting), Ok(()));
    let read = case.claim_call(TaskKind::RefundPayment);
    let refund = call(case.tell(&read, found_refunded(&read, 0)));
    let ask = call(case.tell(&refund, Answer::Acknowledged));
    case.tell(&ask, found_refunded(&ask, TOTAL));
    assert_eq!(case.status(), OrderStatus::Refunded);
}

#[test]
fn nobody_gives_up_the_polls_of_a_payment_that_may_come() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let polls = case.aggregate.unfinished(TaskKind::SyncPayment).unwrap().id;
    assert_eq!(case.cancel_task(polls), Err(OperatorRefused::Unknown));
}

#[test]
fn a_person_does_not_answer_for_a_registration_that_somebody_works_on() {
    let mut case = Case::new();
    let step = case.begin();
    case.evolve(&step, Answer::Unknown);
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Unknown);
    assert_eq!(resolve(&mut case, OperatorFinding::NotExecuted), Err(OperatorRefused::Running));
}
