use super::*;
use crate::core::payment::registration::OpenForm;

#[test]
fn a_registration_in_time_gives_the_form_and_is_polled_from_then_on() {
    let mut case = Case::new();
    let step = case.begin();
    assert_eq!((step.target.provider, step.target.sequence), (Provider::Sber, 1));
    assert_eq!(case.status(), OrderStatus::Registering);
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Intent);
    assert_eq!(case.tell(&step, registered()), Next::Rest);
    assert_eq!(case.own_task().state, TaskState::Succeeded);
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
    let sync = case.aggregate.unfinished(TaskKind::SyncPayment).unwrap();
    assert_eq!(sync.run_at, case.now + case.policy.poll_interval);
    let form_url = "https://pay.example/1".to_owned();
    let return_url = Some("https://shop.example/back".to_owned());
    let form = OpenForm { provider: Provider::Sber, form_url, return_url };
    assert_eq!(case.confirm(), ConfirmDecision::Form(form));
}

#[test]
fn what_was_not_executed_goes_to_the_next_provider_with_the_same_sequence() {
    let mut case = Case::new();
    let sber = case.begin();
    let kassa = call(case.tell(&sber, not_executed(Reason::BreakerOpen)));
    assert_eq!((kassa.target.provider, kassa.target.sequence), (Provider::OdnaKassa, 1));
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Absent);
    assert_eq!(case.tell(&kassa, registered()), Next::Rest);
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
}

#[test]
fn when_nobody_executes_the_order_waits_in_the_queue_without_a_charge() {
    let mut case = Case::new();
    let sber = case.begin();
    let kassa = call(case.tell(&sber, not_executed(Reason::BreakerOpen)));
    assert_eq!(case.tell(&kassa, not_executed(Reason::BulkheadFull)), Next::Rest);
    let task = case.own_task();
    assert_eq!((task.state, task.reason), (TaskState::Queued, Some(Reason::BreakerOpen)));
    assert_eq!((task.attempts, task.lane), (0, None));
    assert!(task.run_at >= case.now + Duration::from_secs(30));
    assert_eq!(case.status(), OrderStatus::Registering);
    let again = case.claim_call(TaskKind::RegisterPayment);
    assert_eq!(
        (again.target.provider, again.target.number.clone()),
        (Provider::Sber, sber.target.number)
    );
    case.tell(&again, registered());
    assert_eq!(case.status(), OrderStatus::AwaitingPayment);
}

#[test]
fn a_provider_that_was_not_there_costs_the_task_no_attempt() {
    let mut case = Case::new();
    let sber = case.begin();
    let kassa = call(case.tell(&sber, not_executed(Reason::Retry)));
    assert_eq!(case.tell(&kassa, not_executed(Reason::Retry)), Next::Rest);
    let task = case.own_task();
    assert_eq!((task.reason, task.attempts), (Some(Reason::Retry), 0));
}

#[test]
fn without_a_queue_the_order_is_new_again_and_nothing_is_left() {
    let mut case = Case::new();
    case.policy.queueing = false;
    let sber = case.begin();
    let kassa = call(case.tell(&sber, not_executed(Reason::BreakerOpen)));
    case.tell(&kassa, not_executed(Reason::BreakerOpen));
    let task = case.own_task();
    assert_eq!(task.state, TaskState::Cancelled);
    assert_eq!(task.error, Some(TaskError::PaymentSystemUnavailable));
    assert_eq!(case.status(), OrderStatus::New);
    assert!(matches!(case.confirm(), ConfirmDecision::Call(_)));
}

#[test]
fn a_full_queue_refuses_only_after_the_call_was_tried() {
    let mut case = Case::new();
    case.queue_length = Some(10);
    let sber = case.begin();
    let kassa = call(case.tell(&sber, not_executed(Reason::BreakerOpen)));
    case.tell(&kassa, not_executed(Reason::BreakerOpen));
    assert_eq!(case.own_task().error, Some(TaskError::QueueFull));
    assert_eq!(case.status(), OrderStatus::New);
}

/// Confirms when no call would get through to these.
fn confirm_past(case: &mut Case, refusing: &[Provider]) -> ConfirmDecision {
    let refusal = |provider: &Provider| PaymentSystemUnavailableError {
        system: (*provider).into(),
        cause: Shed::BreakerOpen.into(),
        retry_after: Some(Duration::from_secs(30)),
    };
    let refusals = refusing.iter().map(refusal).collect();
    case.new_run();
    let command = ConfirmCommand { refusals, ..ConfirmCommand::default() };
    case.with_context(|aggregate, context| aggregate.confirm(&command, context))
}

#[test]
fn who_would_refuse_is_passed_over_without_a_trace() {
    let mut case = Case::new();
    let ConfirmDecision::Call(kassa) = confirm_past(&mut case, &[Provider::Sber]) else {
        panic!("the second is asked")
    };
    assert_eq!(kassa.target.provider, Provider::OdnaKassa);
    assert_eq!(case.aggregate.registrations.len(), 1);
}

#[test]
fn when_all_would_refuse_the_order_is_queued_at_once() {
    let mut case = Case::new();
    let decided = confirm_past(&mut case, &Provider::ALL);
    assert!(matches!(decided, ConfirmDecision::Postponed { retry_after }
        if retry_after >= Duration::from_secs(30)));
    assert_eq!(case.status(), OrderStatus::Registering);
    assert_eq!(case.aggregate.registrations, []);
    let task = case.own_task();
    assert_eq!((task.state, task.reason), (TaskState::Queued, Some(Reason::BreakerOpen)));
    assert_eq!((task.lease.clone(), task.attempts), (None, 0));
    case.claim_call(TaskKind::RegisterPayment);
}

#[test]
fn when_all_would_refuse_and_nothing_may_be_queued_nothing_is_changed() {
    for full in [true, false] {
        let mut case = Case::new();
        case.queue_length = full.then_some(10);
        case.policy.queueing = full;
        let before = case.aggregate.clone();
        assert_eq!(confirm_past(&mut case, &Provider::ALL), ConfirmDecision::Unavailable);
        assert_eq!(case.aggregate, before);
    }
}

#[test]
fn a_client_that_has_its_202_keeps_its_task_when_nobody_executes() {
    let mut case = Case::new();
    case.policy.queueing = false;
    let sber = case.begin();
    case.client_waits = false;
    let kassa = call(case.tell(&sber, not_executed(Reason::BreakerOpen)));
    case.tell(&kassa, not_executed(Reason::BreakerOpen));
    assert_eq!(case.own_task().state, TaskState::Failed);
}

#[test]
fn too_little_time_to_begin_leaves_the_order_as_it_was() {
    let mut case = Case::new();
    let sber = case.begin();
    let too_late = || Answer::NotExecuted(Shed::DeadlineTooShort.into(), None);
    let kassa = call(case.tell(&sber, too_late()));
    case.tell(&kassa, too_late());
    let task = case.own_task();
    assert_eq!((task.state, task.error), (TaskState::Cancelled, Some(TaskError::DeadlineExceeded)));
    assert_eq!(case.status(), OrderStatus::New);
}

#[test]
fn a_refusal_of_the_order_ends_it_and_a_new_attempt_gets_a_new_number() {
    let mut case = Case::new();
    let step = case.begin();
    case.tell(&step, Answer::Refused { concerns_account: false });
    assert_eq!(case.own_task().error, Some(TaskError::PaymentRejected));
    assert_eq!(case.status(), OrderStatus::PaymentFailed);
    let next = case.begin();
    assert_eq!((next.target.provider, next.target.sequence), (Provider::Sber, 2));
    assert_ne!(next.target.number, step.target.number);
}

#[test]
fn a_refusal_of_our_account_goes_elsewhere_only_if_that_is_wished() {
    for (wished, expected) in [(false, TaskState::Failed), (true, TaskState::Running)] {
        let mut case = Case::new();
        case.policy.failover_on_rejected = wished;
        let step = case.begin();
        let next = case.tell(&step, Answer::Refused { concerns_account: true });
        assert_eq!(case.own_task().state, expected);
        if wished {
            let kassa = call(next);
            assert_eq!((kassa.target.provider, kassa.target.sequence), (Provider::OdnaKassa, 2));
            assert_eq!(case.tell(&kassa, Answer::Refused { concerns_account: true }), Next::Rest);
            assert_eq!(case.own_task().state, TaskState::Failed);
        }
    }
}

#[test]
fn a_second_confirm_finds_the_task_of_the_first() {
    let mut case = Case::new();
    case.begin();
    let first = case.task;
    assert_eq!(case.confirm(), ConfirmDecision::Running(first));
}

#[test]
fn a_decision_that_runs_twice_begins_one_registration() {
    let mut case = Case::new();
    let step = case.begin();
    let again = case
        .with_context(|aggregate, context| aggregate.confirm(&ConfirmCommand::default(), context));
    assert!(
        matches!(again, ConfirmDecision::Call(same) if same.target.number == step.target.number)
    );
    assert_eq!(case.aggregate.tasks.len(), 1);
}

#[test]
fn a_task_past_its_age_fails_if_nothing_is_unknown() {
    let mut case = Case::new();
    let sber = case.begin();
    let kassa = call(case.tell(&sber, not_executed(Reason::BreakerOpen)));
    case.tell(&kassa, not_executed(Reason::BreakerOpen));
    case.pass(86_400);
    assert_eq!(case.claim(TaskKind::RegisterPayment), Next::Rest);
    let task = case.own_task();
    assert_eq!((task.state, task.error), (TaskState::Failed, Some(TaskError::Expired)));
    assert_eq!(case.status(), OrderStatus::PaymentFailed);
}

#[test]
fn a_poisoned_task_is_laid_before_a_person() {
    let mut case = Case::new();
    case.begin();
    case.aggregate.tasks[0].lost_leases = 10;
    assert_eq!(case.claim(TaskKind::RegisterPayment), Next::Rest);
    let task = case.own_task();
    assert_eq!((task.state, task.error), (TaskState::Review, Some(TaskError::LeaseLost)));
    assert_eq!(
        case.events,
        [DomainEvent::Review { kind: TaskKind::RegisterPayment, error: TaskError::LeaseLost }]
    );
}

#[test]
fn a_holder_that_lost_its_lease_brings_facts_but_decides_nothing() {
    let mut case = Case::new();
    let step = case.begin();
    let (task, token) = (case.task, case.token);
    // Somebody else reclaims the task and begins to ask.
    let query = case.claim_call(TaskKind::RegisterPayment);
    assert!(query.only_asks());
    let (theirs, their_token, their_round) = (case.task, case.token, case.history.clone());
    (case.task, case.token, case.history) = (task, token, RunHistory::default());
    assert_eq!(case.tell(&step, registered()), Next::LeaseLost);
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Live);
    (case.task, case.token, case.history) = (theirs, their_token, their_round);
    assert_eq!(case.tell(&query, Answer::NotFound), Next::Rest);
    assert_eq!(case.own_task().state, TaskState::Succeeded);
}

#[test]
fn late_news_of_an_earlier_send_says_nothing_about_the_present_one() {
    let mut case = Case::new();
    let first = case.begin();
    let kassa = call(case.tell(&first, not_executed(Reason::Retry)));
    case.tell(&kassa, not_executed(Reason::Retry));
    let second = case.claim_call(TaskKind::RegisterPayment);
    assert_eq!(second.target.number, first.target.number);
    // The first run could not store its news, and stores it now.
    case.evolve(&first, not_executed(Reason::Retry));
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Intent);
    assert_eq!(case.tell(&second, Answer::Unknown), Next::Rest);
    assert_eq!(case.state(Provider::Sber, 1), RegistrationState::Unknown);
}

#[test]
fn a_breaker_that_is_held_open_for_long_does_not_hold_the_task_as_long() {
    let mut case = Case::new();
    case.policy.providers = Preference::new([Provider::Sber]).unwrap();
    let step = case.begin();
    let pause = Some(Duration::from_secs(900));
    let held = Answer::NotExecuted(Shed::ForcedOpen.into(), pause);
    assert_eq!(case.tell(&step, held), Next::Rest);
    let pause = case.own_task().run_at.since(case.now);
    assert!(
        pause <= case.policy.backoff_max.mul_f64(1.2),
        "it may be let go at any moment: {pause:?}"
    );
}
