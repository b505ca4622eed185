//! What a shop may care about in a change of an order: found by comparing the order before and after it, so that
//! no decision has to remember to tell.

use crate::core::domain::order::OrderStatus;
use crate::core::payment::OrderAggregate;
use crate::core::payment::refund::{Refund, RefundState};
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::task::{Task, TaskState};

/// What happened to an order. A word once given out keeps its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderEvent {
    /// It exists from now on.
    OrderPlaced,
    /// A payment system has a form for it, which waits for the payer.
    PaymentRegistered,
    /// The money has come.
    PaymentPaid,
    /// Nobody paid, or a payment system refused; another attempt may follow.
    PaymentFailed,
    /// It will not be paid.
    OrderCancelled,
    /// Money was given back, by us or at the payment system.
    RefundSucceeded,
    /// Money that was to be given back was not.
    RefundFailed,
    /// A person must look at a task.
    TaskReview,
}

impl OrderEvent {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::OrderPlaced,
        Self::PaymentRegistered,
        Self::PaymentPaid,
        Self::PaymentFailed,
        Self::OrderCancelled,
        Self::RefundSucceeded,
        Self::RefundFailed,
        Self::TaskReview,
    ];

    /// The event's type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OrderPlaced => "order.placed",
            Self::PaymentRegistered => "payment.registered",
            Self::PaymentPaid => "payment.paid",
            Self::PaymentFailed => "payment.failed",
            Self::OrderCancelled => "order.cancelled",
            Self::RefundSucceeded => "refund.succeeded",
            Self::RefundFailed => "refund.failed",
            Self::TaskReview => "task.review",
        }
    }

    /// The event of that type.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == word)
    }
}

/// What a change made true, in the order in which a shop would tell it.
#[must_use]
pub fn order_events(before: &OrderAggregate, after: &OrderAggregate) -> Vec<OrderEvent> {
    let registered = newly(&before.registrations, &after.registrations, same_number, is_live);
    let refunds = |is: fn(&Refund) -> bool| {
        newly(&before.refunds, &after.refunds, |one, other| one.key == other.key, is)
    };
    let reviews = newly(&before.tasks, &after.tasks, |one, other| one.id == other.id, is_review);
    let mut events = vec![OrderEvent::PaymentRegistered; registered];
    events.extend(of_status(before.order.status, after.order.status));
    events.extend(vec![OrderEvent::RefundSucceeded; refunds(has_succeeded)]);
    events.extend(vec![OrderEvent::RefundFailed; refunds(has_failed)]);
    events.extend(vec![OrderEvent::TaskReview; reviews]);
    events
}

/// How many are so now and were not before.
fn newly<T>(before: &[T], after: &[T], same: fn(&T, &T) -> bool, is: fn(&T) -> bool) -> usize {
    let was = |now: &T| before.iter().any(|then| same(then, now) && is(then));
    after.iter().filter(|now| is(now) && !was(now)).count()
}

fn of_status(before: OrderStatus, after: OrderStatus) -> Option<OrderEvent> {
    match after {
        _ if before == after => None,
        // paid already, and some of its refunds turned out not to be
        OrderStatus::Paid if before == OrderStatus::Refunded => None,
        OrderStatus::Paid => Some(OrderEvent::PaymentPaid),
        OrderStatus::PaymentFailed => Some(OrderEvent::PaymentFailed),
        OrderStatus::Cancelled => Some(OrderEvent::OrderCancelled),
        OrderStatus::New
        | OrderStatus::Registering
        | OrderStatus::AwaitingPayment
        | OrderStatus::Refunded => None,
    }
}

fn same_number(one: &Registration, other: &Registration) -> bool {
    (one.provider, one.sequence) == (other.provider, other.sequence)
}

const fn is_live(registration: &Registration) -> bool {
    matches!(registration.state, RegistrationState::Live)
}

const fn has_succeeded(refund: &Refund) -> bool {
    matches!(refund.state, RefundState::Done)
}

const fn has_failed(refund: &Refund) -> bool {
    matches!(refund.state, RefundState::Refused | RefundState::Expired)
}

const fn is_review(task: &Task) -> bool {
    matches!(task.state, TaskState::Review)
}
