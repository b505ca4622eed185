//! Whatever partners, payers, clients and dying holders do, in whatever order.

use super::*;
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
enum Act {
    Confirm,
    Cancel,
    Refund,
    Claim(usize),
    /// The present run's step ends so.
    Tell(usize),
    /// The present run dies.
    Die,
    Hint(usize),
    Pass(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => Just(Act::Confirm),
        1 => Just(Act::Cancel),
        1 => Just(Act::Refund),
        6 => (0..4usize).prop_map(Act::Claim),
        10 => (0..14usize).prop_map(Act::Tell),
        1 => Just(Act::Die),
        1 => (0..4usize).prop_map(Act::Hint),
        2 => (1..200u64).prop_map(Act::Pass),
    ]
}

fn outcome(choice: usize, step: &ProviderCall) -> Answer {
    match choice {
        0 | 1 => registered(),
        2 => not_executed(Reason::BreakerOpen),
        3 => not_executed(Reason::Retry),
        4 => Answer::Unknown,
        5 => Answer::Duplicate,
        6 => Answer::Refused { concerns_account: true },
        7 => Answer::Refused { concerns_account: false },
        8 => Answer::NotFound,
        9 => found(step, ReportedStatus::Pending),
        10 => found(step, ReportedStatus::Paid),
        11 => found(step, ReportedStatus::Over(Ending::Expired)),
        12 => Answer::Acknowledged,
        _ => found_refunded(step, 100),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn one_registration_at_most_may_be_alive_and_paid_stays_paid(
        acts in prop::collection::vec(act(), 1..60),
    ) {
        let mut case = Case::new();
        let mut step: Option<ProviderCall> = None;
        let mut was_paid = false;
        for act in acts {
            let next = match act {
                Act::Confirm => match case.confirm() {
                    ConfirmDecision::Call(step) => Some(Next::Call(step)),
                    _ => None,
                },
                Act::Cancel => match case.cancel() {
                    CancelDecision::Call(step) => Some(Next::Call(step)),
                    _ => None,
                },
                Act::Refund => match case.refund(Some(100)) {
                    RefundDecision::Call(step) => Some(Next::Call(step)),
                    _ => None,
                },
                Act::Claim(kind) => {
                    let kind = TaskKind::ALL[kind];
                    let waits = case.aggregate.unfinished(kind).is_some_and(|t| t.reason != Some(Reason::Operator));
                    waits.then(|| case.claim(kind))
                }
                Act::Tell(choice) => step.take().map(|step| {
                    let outcome = outcome(choice, &step);
                    case.tell(&step, outcome)
                }),
                Act::Die => { step = None; None }
                Act::Hint(at) => {
                    if let Some(registration) = case.aggregate.registrations.get(at).cloned() {
                        let id = TaskId::new(case.fresh());
                        let (now, age) = (case.now, case.policy.max_age);
                        case.aggregate.request_sync((registration.provider, &registration.number), now, now, id, age);
                    }
                    None
                }
                Act::Pass(seconds) => { case.pass(seconds); None }
            };
            if let Some(Next::Call(next)) = next {
                // Rule 1: while an outcome is unknown, nobody else is asked to register.
                if let (Some(open), true) = (case.aggregate.open_registration(), registers(&next)) {
                    prop_assert_eq!((open.provider, &open.number), (next.target.provider, &next.target.number));
                }
                step = Some(next);
            }
            case.check();
            let paid = matches!(case.status(), OrderStatus::Paid | OrderStatus::Refunded);
            prop_assert!(paid || !was_paid, "paid was undone");
            was_paid = paid;
            // What is not final is looked after by somebody.
            let open = case.aggregate.registrations.iter().any(|r| matches!(
                r.state,
                RegistrationState::Intent | RegistrationState::Unknown | RegistrationState::Live
            ));
            let mismatch = case.events.iter().any(|note| matches!(note, DomainEvent::Mismatch { .. }));
            prop_assert!(!open || mismatch || case.aggregate.task_at_work().is_some(), "forgotten");
        }
    }
}
