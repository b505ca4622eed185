//! What a decision says: what is done next, and what a person or a counter should hear.

use crate::core::domain::money::Money;
use crate::core::domain::provider::Provider;
use crate::core::payment::dispute::Dispute;
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::task::{TaskError, TaskKind};

/// What a run does next, and what it has to tell once that is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What the run does now.
    pub next: Next,
    /// Told after the commit, never before: what is not stored did not happen.
    pub events: Vec<DomainEvent>,
}

/// What a run does once the decision is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Makes this call, whose intent is stored by now.
    Call(ProviderCall),
    /// The task waits or is over: its row says which.
    Rest,
    /// Somebody else holds the lease, or the task is over: this run has no say any more.
    LeaseLost,
}

/// Something that a person or a counter should hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DomainEvent {
    /// A registration of unknown outcome was found out.
    Reconciled {
        /// Whose registration it is.
        provider: Provider,
        /// Whether the provider has it.
        executed: bool,
    },
    /// Number, amount, currency or the provider's id contradict our record.
    Mismatch {
        /// Whose record it is.
        provider: Provider,
        /// Both sides.
        dispute: Dispute,
    },
    /// The same as before: told already.
    MismatchAgain {
        /// Both sides, as they stand now.
        dispute: Dispute,
    },
    /// Money for a registration that was given up.
    LateMoney {
        /// Where the money is.
        provider: Provider,
    },
    /// Money that was given back, and not by us.
    RefundElsewhere {
        /// Where it was given back.
        provider: Provider,
        /// What no refund of ours explains.
        amount: Money,
    },
    /// A registration that was given up waits for a payer all the same.
    GivenUpPending {
        /// Where the payer could still pay.
        provider: Provider,
    },
    /// A word that we do not know.
    StrangeStatus {
        /// Who told it.
        provider: Provider,
    },
    /// A person must look at a task of this kind.
    Review {
        /// What the task was to do.
        kind: TaskKind,
        /// Why it cannot go on.
        error: TaskError,
    },
}
