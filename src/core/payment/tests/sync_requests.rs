//! News that callbacks tell of: often, and about what the database has forgotten.

use super::*;
use crate::core::domain::provider::ProviderNumber;
use crate::core::payment::registration::ADOPTED;

impl Case {
    /// A callback about this number comes; it is to be asked about no sooner than that.
    fn request_sync(
        &mut self,
        provider: Provider,
        number: &ProviderNumber,
        wait: Duration,
    ) -> bool {
        let (spare, age) = (TaskId::new(self.fresh()), self.policy.max_age);
        self.aggregate.request_sync((provider, number), self.now, self.now + wait, spare, age)
    }

    fn adopt(&mut self, provider: Provider, sequence: u8) -> ProviderNumber {
        let number = ProviderNumber::new("", self.aggregate.order.id, sequence);
        self.aggregate.adopt(provider, (&number, sequence), self.now);
        assert!(self.request_sync(provider, &number, Duration::ZERO));
        self.check();
        number
    }
}

#[test]
fn the_same_news_before_anybody_asks_changes_nothing() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    assert!(case.request_sync(Provider::Sber, &step.target.number, Duration::ZERO));
    let once = case.aggregate.clone();
    case.now = case.now + Duration::from_secs(1);
    assert!(case.request_sync(Provider::Sber, &step.target.number, Duration::ZERO));
    assert_eq!(case.aggregate, once);
}

#[test]
fn news_during_a_question_is_asked_about_once_more_and_then_it_is_quiet() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    case.request_sync(Provider::Sber, &step.target.number, Duration::ZERO);
    let query = case.claim_call(TaskKind::SyncPayment);
    for _ in 0..1_000 {
        case.request_sync(Provider::Sber, &step.target.number, Duration::ZERO);
    }
    assert_eq!(case.tell(&query, found(&query, ReportedStatus::Paid)), Next::Rest);
    assert!(case.aggregate.registrations[0].sync_requested(), "the answer may be older");
    let again = case.claim_call(TaskKind::SyncPayment);
    assert_eq!(case.tell(&again, found(&again, ReportedStatus::Paid)), Next::Rest);
    assert!(!case.aggregate.registrations[0].sync_requested());
}

#[test]
fn news_that_comes_too_often_is_asked_about_later() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    case.request_sync(Provider::Sber, &step.target.number, Duration::from_secs(9));
    let poll = case.aggregate.unfinished(TaskKind::SyncPayment).unwrap();
    assert_eq!(poll.run_at.since(case.now), Duration::from_secs(9));
}

#[test]
fn a_forgotten_registration_is_unknown_until_the_provider_is_asked() {
    let mut case = Case::new();
    case.adopt(Provider::Sber, 1);
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Unknown);
    assert_eq!(case.status(), OrderStatus::Registering);
    let query = case.claim_call(TaskKind::SyncPayment);
    case.tell(&query, found(&query, ReportedStatus::Paid));
    assert_eq!(case.status(), OrderStatus::Paid);
    assert_eq!(case.aggregate.registrations[0].amount, case.aggregate.order.total);
}

#[test]
fn a_forgotten_registration_beside_a_live_one_is_surplus_when_it_is_paid() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, registered());
    case.adopt(Provider::OdnaKassa, 1);
    assert_eq!(case.state(Provider::OdnaKassa, 1), RegistrationState::Absent);
    assert_eq!(case.aggregate.registration(Provider::OdnaKassa, 1).unwrap().evidence, ADOPTED);
    let query = case.claim_call(TaskKind::SyncPayment);
    assert_eq!(query.target.provider, Provider::OdnaKassa);
    let _ = case.tell(&query, found(&query, ReportedStatus::Paid));
    assert_eq!(case.state(Provider::OdnaKassa, 1), RegistrationState::Surplus);
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
    let refund = case.aggregate.unfinished(TaskKind::RefundPayment).unwrap();
    assert_eq!(refund.reason, Some(Reason::Operator));
}

#[test]
fn a_forgotten_registration_of_another_sum_goes_to_a_person() {
    let mut case = Case::new();
    case.adopt(Provider::Sber, 1);
    let query = case.claim_call(TaskKind::SyncPayment);
    let another = with_amount(&query, Money::rub(1).unwrap());
    case.tell(&query, found(&another, ReportedStatus::Paid));
    assert_eq!(case.own_task().state, TaskState::Review);
    assert_ne!(case.status(), OrderStatus::Paid);
}

#[test]
fn a_place_that_is_taken_by_another_number_is_left_alone() {
    let mut case = Case::new();
    let step = case.begin();
    let before = case.aggregate.clone();
    let other = ProviderNumber::told("OTHER-01");
    case.aggregate.adopt(Provider::Sber, (&other, step.target.sequence), case.now);
    assert!(!case.request_sync(Provider::Sber, &other, Duration::ZERO));
    assert_eq!(case.aggregate, before);
}

#[test]
fn who_waits_has_an_unknown_outcome_asked_about_sooner_and_never_without_a_pause() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, Answer::Unknown);
    let (id, rested) = (case.task, case.now);
    let own = |case: &mut Case| {
        let task = case.aggregate.tasks.iter_mut().find(|task| task.id == id).unwrap();
        (task.updated_at, task.run_at) = (rested, rested + Duration::from_secs(60));
    };
    own(&mut case);
    assert!(!case.aggregate.hasten(id, rested + Duration::from_millis(4_999)), "it was just asked");
    let later = rested + Duration::from_secs(5);
    assert!(case.aggregate.hasten(id, later));
    assert_eq!(case.own_task().run_at, later);
    assert!(!case.aggregate.hasten(id, later), "it is due already");
    // What waits for a payment system that is away is not its client's to move.
    own(&mut case);
    case.aggregate.tasks.iter_mut().for_each(|task| task.reason = Some(Reason::BreakerOpen));
    assert!(!case.aggregate.hasten(id, later));
}
