use super::resolving::unknown;
use super::*;
use crate::core::domain::provider::ProviderNumber;

#[test]
fn anothers_payment_under_our_number_is_laid_before_a_person() {
    let (mut case, _) = unknown();
    let query = case.claim_call(TaskKind::RegisterPayment);
    let Answer::Found(mut report) = found(&query, ReportedStatus::Paid) else { unreachable!() };
    report.amount = Some(Money::rub(1).unwrap());
    assert_eq!(case.tell(&query, Answer::Found(report)), Next::Rest);
    assert_eq!(case.own_task().error, Some(TaskError::Mismatch));
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Unknown);
    let told = |event: &DomainEvent| matches!(event, DomainEvent::Mismatch { .. });
    assert!(case.events.iter().any(told));
    let dispute = case.own_task().dispute.clone().unwrap();
    assert_eq!(dispute.theirs.sum, Some(Money::rub(1).unwrap()));
    assert_eq!(dispute.ours.sum, Some(Money::rub(TOTAL).unwrap()));
    let number = query.target.number.as_str();
    for (side, status) in [(&dispute.theirs, "status paid"), (&dispute.ours, "status unknown")] {
        assert!(side.record.contains(number) && side.record.contains(status), "{side:?}");
    }
    assert_eq!(case.status(), OrderStatus::Registering, "no guess is made");
    let polls = case.aggregate.unfinished(TaskKind::SyncPayment).unwrap().id;
    assert_eq!(case.confirm(), ConfirmDecision::Running(polls), "it is asked about on");
}

#[test]
fn a_contradiction_that_was_learned_without_the_lease_is_still_laid_before_a_person() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    let other = with_amount(&query, Money::rub(5).unwrap());
    case.evolve(&query, found(&other, ReportedStatus::Pending));
    case.tell(&query, found(&other, ReportedStatus::Pending));
    assert_eq!(case.own_task().state, TaskState::Review);
}

#[test]
fn anothers_external_id_under_our_number_is_a_contradiction() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    let Answer::Found(mut report) = found(&query, ReportedStatus::Paid) else { unreachable!() };
    report.external_id = Some("ext-2".to_owned());
    assert_eq!(case.tell(&query, Answer::Found(report)), Next::Rest);
    assert_eq!(case.own_task().error, Some(TaskError::Mismatch));
    assert_eq!(case.status(), OrderStatus::AwaitingPayment, "its money is not ours");
}

#[test]
fn the_form_of_another_registration_under_our_number_is_not_handed_out() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let ours = case.aggregate.registrations[0].clone();
    let theirs = RegisterResult::Registered {
        external_id: "ext-2".to_owned(),
        form_url: "https://pay.example/2".to_owned(),
        expires_at: None,
    };
    case.aggregate.evolve(&step.completed(CallResult::Register(theirs)), case.now);
    let row = &case.aggregate.registrations[0];
    assert_eq!((&row.external_id, row.open_form()), (&ours.external_id, ours.open_form()));
    assert!(row.sync_requested(), "which of the two is ours is asked for");
}

#[test]
fn a_report_about_another_number_is_a_contradiction() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    let Answer::Found(mut report) = found(&query, ReportedStatus::Paid) else { unreachable!() };
    report.number = ProviderNumber::told("another-01");
    case.tell(&query, Answer::Found(report));
    assert_eq!(case.own_task().error, Some(TaskError::Mismatch));
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
}
