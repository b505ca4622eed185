//! What a decision says: what is done next, and what a person or a counter should hear.

use crate::core::domain::money::Money;
use crate::core::domain::provider::Provider;
use crate::core::payment::dispute::Dispute;
use crate::core::payment::effect::ProviderCall;
use crate::core::payment::task::{TaskError, TaskKind};

/// What a run does next, and what it has to tell once that is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub next: Next,
    pub events: Vec<DomainEvent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
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
    Reconciled { provider: Provider, executed: bool },
    /// Number, amount, currency or the provider's id contradict our record.
    Mismatch { provider: Provider, dispute: Dispute },
    /// The same as before: told already.
    MismatchAgain { dispute: Dispute },
    /// Money for a registration that was given up.
    LateMoney { provider: Provider },
    /// Money that was given back, and not by us.
    RefundElsewhere { provider: Provider, amount: Money },
    /// A registration that was given up waits for a payer all the same.
    GivenUpPending { provider: Provider },
    /// A word that we do not know.
    StrangeStatus { provider: Provider },
    /// A person must look at a task of this kind.
    Review { kind: TaskKind, error: TaskError },
}
