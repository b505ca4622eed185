//! What can go wrong. Each fault has its intensity in a seed's plan and can be left out, which is how
//! a failing seed is made smaller.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A call or its answer takes seconds.
    Slow,
    /// The connection breaks before or after the effect.
    Loss,
    /// No answer at all; the effect comes late or never.
    Hang,
    /// 5xx and unreadable answers, before or after the effect.
    Failure,
    /// Refused connections: never executed.
    Unreachable,
    Throttle,
    /// The network delivers a request twice.
    Duplicate,
    /// A whole provider is away for a while.
    Outage,
    /// Status queries do not see a payment at first.
    ReadLag,
    /// The provider refuses an order, or for a while our account.
    Refusal,
    /// The provider refuses a number that it has already, instead of saying so.
    RefusedRepeat,
    /// The provider tells another amount than was asked.
    Mismatch,
    /// One answer tells another amount, or that a part was paid, and the next the right one.
    PassingMismatch,
    /// One answer tells a status that nobody knows.
    StrangeStatus,
    /// A report does not tell how much was given back.
    SilentSum,
    /// Somebody gives money back in the bank's cabinet.
    Cabinet,
    /// A refund takes effect long after the grace.
    LateRefund,
    /// A payer pays a form that the provider called over.
    Revival,
    /// Callbacks are lost, doubled, late; otherwise each comes once, soon.
    Callbacks,
    /// Strangers send callbacks.
    Forgery,
    /// The database is away for an instance, or slow.
    Storage,
    /// A commit takes effect, but the instance does not learn of it.
    LostCommit,
    /// A process sleeps for longer than its leases last, and then goes on as if nothing had been.
    Stall,
    /// A decision is run more than once, as the store's contract permits.
    Rerun,
    /// An instance dies between two effects.
    Crash,
    /// An instance is stopped in the proper way.
    Stop,
    /// Clients confirm again, at the same time or later.
    Repeat,
    Cancel,
    Refund,
    /// Clients go away before the answer.
    HangUp,
    /// An operator lets tasks run, gives them up, and answers what is unknown by looking at the ledgers.
    Operator,
    /// An operator is wrong about a refund.
    Misjudgement,
    /// Money of a payer who is at it is on hold before it is a payment.
    Held,
}

impl Fault {
    pub const ALL: [Self; 33] = [
        Self::Slow,
        Self::Loss,
        Self::Hang,
        Self::Failure,
        Self::Unreachable,
        Self::Throttle,
        Self::Duplicate,
        Self::Outage,
        Self::ReadLag,
        Self::Refusal,
        Self::RefusedRepeat,
        Self::Mismatch,
        Self::PassingMismatch,
        Self::StrangeStatus,
        Self::SilentSum,
        Self::Cabinet,
        Self::LateRefund,
        Self::Revival,
        Self::Callbacks,
        Self::Forgery,
        Self::Storage,
        Self::LostCommit,
        Self::Stall,
        Self::Rerun,
        Self::Crash,
        Self::Stop,
        Self::Repeat,
        Self::Cancel,
        Self::Refund,
        Self::HangUp,
        Self::Operator,
        Self::Misjudgement,
        Self::Held,
    ];

    /// Its place among all, for the plan's intensities.
    pub fn place(self) -> usize {
        Self::ALL.iter().position(|fault| *fault == self).expect("ALL has all")
    }
}

/// A set of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults(u64);

impl Faults {
    pub const ALL: Self = Self(u64::MAX);

    pub fn has(self, fault: Fault) -> bool {
        self.0 & (1 << fault.place()) != 0
    }

    pub fn without(self, fault: Fault) -> Self {
        Self(self.0 & !(1 << fault.place()))
    }

    pub fn iter(self) -> impl Iterator<Item = Fault> {
        Fault::ALL.into_iter().filter(move |fault| self.has(*fault))
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.iter().map(|fault| format!("{fault:?}")).collect();
        f.write_str(&names.join(", "))
    }
}
