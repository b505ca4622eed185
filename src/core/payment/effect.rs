//! The words between the aggregate and whoever runs its tasks: the call that is due, what became of
//! it, and how a run ends.

use crate::core::domain::ids::{LeaseToken, TaskId};
use crate::core::domain::money::Money;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::policy::PaymentPolicy;
use crate::core::payment::report::PaymentReport;
use crate::core::payment::task::Reason;
use std::time::Duration;

/// One call to a provider, committed as an intent before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub provider: Provider,
    pub sequence: u8,
    pub number: ProviderNumber,
    pub amount: Money,
    pub external_id: Option<String>,
    pub action: Action,
    /// When it was decided, which for a send is the name of the send: news about an earlier one that
    /// comes late must not be taken for news about this one.
    pub at: Timestamp,
    /// How often the number was not found before: a question counts once, however often its answer
    /// is taken in.
    pub not_found: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Register { return_url: String },
    Query,
    Cancel,
    Refund { amount: Money, refund_id: String },
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Registered {
        external_id: String,
        form_url: String,
        expires_at: Option<Timestamp>,
    },
    Found(PaymentReport),
    NotFound,
    /// The provider took our word to cancel or refund.
    Taken,
    Refused {
        concerns_account: bool,
    },
    /// Certainly without effect.
    NotExecuted(Wait),
    /// May have happened.
    Unknown,
    /// The provider knows the number from before.
    Duplicate,
}

/// Why nothing was executed, and when it makes sense to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    pub reason: Reason,
    pub retry_after: Option<Duration>,
    /// The client's deadline left no time to begin.
    pub too_late: bool,
}

/// What one run of a task has seen so far: the memory that a run needs and no other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    /// Providers that executed nothing in this run, in the order in which they were asked.
    pub skipped: Vec<(Provider, Wait)>,
    /// Providers that refused the registration in this run; whether on our account's behalf.
    pub refused: Vec<(Provider, bool)>,
    /// Registrations that were sent in this run and brought no form.
    pub formless: u32,
    /// Registrations that were asked about in this run, whatever came of it.
    pub asked: Vec<(Provider, u8)>,
    /// The last step and what became of it.
    pub last: Option<(Step, Outcome)>,
}

impl Round {
    /// Remembers what became of a step.
    pub fn note(&mut self, step: Step, outcome: Outcome) {
        if let Action::Register { .. } = step.action {
            match outcome {
                Outcome::NotExecuted(wait) => self.skipped.push((step.provider, wait)),
                Outcome::Refused { concerns_account } => {
                    self.refused.push((step.provider, concerns_account));
                }
                Outcome::Registered { .. } => {}
                Outcome::Found(_)
                | Outcome::NotFound
                | Outcome::Taken
                | Outcome::Unknown
                | Outcome::Duplicate => self.formless += 1,
            }
        }
        if step.action == Action::Query {
            self.asked.push((step.provider, step.sequence));
        }
        self.last = Some((step, outcome));
    }

    pub(super) fn tried(&self, provider: Provider) -> bool {
        self.skipped.iter().any(|(tried, _)| *tried == provider)
            || self.refused.iter().any(|(tried, _)| *tried == provider)
    }
}

/// Everything that a decision may look at beside the aggregate; the decision itself is pure.
#[derive(Debug, Clone)]
pub struct Turn<'a> {
    pub task: TaskId,
    pub token: LeaseToken,
    pub now: Timestamp,
    pub policy: &'a PaymentPolicy,
    pub round: &'a Round,
    /// Providers whose registration may be repeated with the same number, as a query.
    pub repeat_safe: &'a [Provider],
    /// The longest that a call of the next step can last: the lease is stretched over it.
    pub call_limit: Duration,
    /// 0 to 1: the luck by which pauses are spread.
    pub luck: f64,
    /// An id for a task that the decision may have to create.
    pub spare: [TaskId; 2],
    /// Somebody waits for this run and has no answer yet: if nothing was executed, it may be undone.
    pub unanswered: bool,
    /// Registration tasks that wait for a provider, when they were counted.
    pub waiting: Option<u64>,
}

/// What a run does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Call(Step),
    /// The task waits or is over: its row says which.
    Rest,
    /// Somebody else holds the lease, or the task is over: this run has no say any more.
    LeaseLost,
}

/// Something that a person or a counter should hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// A registration of unknown outcome was found out.
    Reconciled { provider: Provider, executed: bool },
    /// Number, amount, currency or the provider's id contradict our record.
    Mismatch { provider: Provider },
    /// The same as before: told already.
    MismatchAgain,
    /// Money for a registration that was given up.
    LateTruth { provider: Provider },
    /// A word that we do not know.
    Strange { provider: Provider },
    /// A person must look.
    Review,
}
