//! Known bugs, planted around the core by wrapping its ports and settings: the simulation has to find
//! each of them, or it proves nothing.

mod port;
mod store;

pub use port::MutantPort;
pub use store::Mutation;

use order_service::core::payment::policy::PaymentPolicy;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A timeout is taken for a refused connection, and the next provider is tried.
    FailoverAfterTimeout,
    /// The same number goes again before the first request can have been lost.
    ResendBeforeGrace,
    /// "No such order" is taken for the end of it, and a new number goes out.
    NotFoundIsDead,
    /// Every attempt gets a number of its own.
    FreshNumberEachTime,
    /// A callback is believed instead of followed up.
    CallbackBelieved,
    /// A decline is taken as evidence.
    DeclineBelieved,
    /// The partner's amount is not compared with ours.
    AmountNotCompared,
    /// A task's answer is derived from the order as it is now.
    FinalAnswerDerived,
    /// An answer is given before its commit is done.
    CommitNotAwaited,
    /// A confirm does not look whether another one is under way.
    ConfirmTwice,
    /// Registrations are not polled, callbacks will tell.
    PollForgotten,
    /// A refund of unknown outcome is sent again without a look.
    RefundRepeated,
    /// Claims do not look at leases.
    LeaseIgnored,
    /// The queue's limit is not looked at.
    QueueUnbounded,
    /// What is being cancelled is handed out all the same.
    FormAfterCancel,
    /// The refusal of a repeat is taken for word of the send before it.
    RefusedRepeatIsDead,
}

impl Mutant {
    pub const ALL: [Self; 16] = [
        Self::FailoverAfterTimeout,
        Self::ResendBeforeGrace,
        Self::NotFoundIsDead,
        Self::FreshNumberEachTime,
        Self::CallbackBelieved,
        Self::DeclineBelieved,
        Self::AmountNotCompared,
        Self::FinalAnswerDerived,
        Self::CommitNotAwaited,
        Self::ConfirmTwice,
        Self::PollForgotten,
        Self::RefundRepeated,
        Self::LeaseIgnored,
        Self::QueueUnbounded,
        Self::FormAfterCancel,
        Self::RefusedRepeatIsDead,
    ];
}

/// Bugs of configuration.
pub fn policy(mutant: Option<Mutant>, policy: &mut PaymentPolicy) {
    if mutant == Some(Mutant::ResendBeforeGrace) {
        policy.unknown_grace = Duration::ZERO;
    }
    if mutant == Some(Mutant::QueueUnbounded) {
        policy.queue_max = u64::MAX;
    }
}
