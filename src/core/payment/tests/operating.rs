use super::super::{OperatorFinding, OperatorRefused};
use super::*;

fn resolve(case: &mut Case, finding: OperatorFinding) -> Result<(), OperatorRefused> {
    case.with_turn(|aggregate, turn| aggregate.operator_resolve(finding, None, turn))
}

#[test]
fn a_person_who_found_nothing_lets_the_order_go_on_elsewhere() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, Outcome::Unknown);
    assert_eq!(resolve(&mut case, OperatorFinding::NotExecuted), Ok(()));
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Absent);
    let again = case.claim_call(TaskKind::RegisterPayment);
    assert!(registers(&again));
}

#[test]
fn a_finding_about_a_number_that_the_order_has_left_behind_is_refused() {
    let mut case = Case::new();
    let first = case.begin();
    case.tell(&first, Outcome::Unknown);
    let query = case.claim_call(TaskKind::RegisterPayment);
    let over = found(&query, ReportedStatus::Over(Ending::Expired));
    let second = call(case.tell(&query, over));
    case.tell(&second, Outcome::Unknown);
    let mut resolve = |number| {
        let executed = OperatorFinding::Executed;
        case.with_turn(|aggregate, turn| aggregate.operator_resolve(executed, Some(number), turn))
    };
    assert_eq!(resolve(&first.number), Err(OperatorRefused::AnotherNumber));
    assert_eq!(resolve(&second.number), Ok(()));
}

#[test]
fn after_a_review_a_persons_finding_frees_the_order_and_the_task_stays_as_it_ended() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, Outcome::Unknown);
    case.pass(86_400);
    case.claim(TaskKind::RegisterPayment);
    assert_eq!(resolve(&mut case, OperatorFinding::NotExecuted), Ok(()));
    assert_eq!(case.own_task().state, TaskState::Review);
    assert_eq!(case.status(), OrderStatus::New);
    assert!(matches!(case.confirm(), Confirmed::Begun(_)));
}

#[test]
fn a_registration_that_a_person_found_is_looked_after() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, Outcome::Unknown);
    assert_eq!(resolve(&mut case, OperatorFinding::Executed), Ok(()));
    let decline = case.claim_call(TaskKind::RegisterPayment);
    assert_eq!(decline.action, Action::Cancel, "its form is lost");
}

#[test]
fn polls_that_ended_in_a_review_are_taken_up_again_by_a_person() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    let other = Step { amount: Money::rub(5).unwrap(), ..query.clone() };
    case.tell(&query, found(&other, ReportedStatus::Paid));
    assert_eq!(case.own_task().state, TaskState::Review);
    let polls = case.aggregate.unfinished(TaskKind::SyncPayment).unwrap().id;
    assert_eq!(case.confirm(), Confirmed::Running(polls), "nobody pays by a form that is in doubt");
    let query = case.claim_call(TaskKind::SyncPayment);
    let other = Step { amount: Money::rub(5).unwrap(), ..query.clone() };
    assert_eq!(case.tell(&query, found(&other, ReportedStatus::Paid)), Next::Rest);
    assert_eq!(case.own_task().state, TaskState::Queued, "it is polled on");
    assert_eq!(case.notes.last(), Some(&Note::MismatchAgain), "and told once");
    let nothing = Err(OperatorRefused::NothingUnknown);
    assert_eq!(resolve(&mut case, OperatorFinding::NotExecuted), nothing, "it is alive");
    assert_eq!(resolve(&mut case, OperatorFinding::Executed), Ok(()));
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Pending));
    assert!(matches!(case.confirm(), Confirmed::Form { .. }), "the provider has come round");
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
    assert_eq!(case.aggregate.operator_cancel(id), Err(OperatorRefused::Running));
    case.tell(&step, Outcome::Unknown);
    assert_eq!(case.aggregate.operator_cancel(id), Err(OperatorRefused::Unknown));
    assert_eq!(resolve(&mut case, OperatorFinding::NotExecuted), Ok(()));
    assert_eq!(case.aggregate.operator_cancel(id), Ok(()));
    assert_eq!(case.status(), OrderStatus::New);
    assert_eq!(case.aggregate.operator_cancel(id), Err(OperatorRefused::Over));
}

#[test]
fn a_refund_that_waits_for_a_person_runs_when_released() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Over(Ending::Expired)));
    assert_eq!(case.cancel(), Cancelled::Done);
    let (now, age) = (case.now, case.policy.max_age);
    case.aggregate.hint(Provider::Sber, &step.number, now, TaskId::new(996), age);
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    let waiting = case.aggregate.unfinished(TaskKind::RefundPayment).unwrap().id;
    assert_eq!(case.with_turn(|aggregate, turn| aggregate.operator_retry(waiting, turn)), Ok(()));
    let read = case.claim_call(TaskKind::RefundPayment);
    let refund = call(case.tell(&read, found_refunded(&read, 0)));
    let ask = call(case.tell(&refund, Outcome::Taken));
    case.tell(&ask, found_refunded(&ask, TOTAL));
    assert_eq!(case.status(), OrderStatus::Refunded);
}
