//! What a reconciliation finds, line by line and in all.

use crate::core::domain::ids::OrderId;
use crate::core::domain::provider::{Provider, ProviderNumber};
use crate::core::domain::timestamp::Timestamp;
use crate::core::payment::report::PaymentReport;

/// What one number turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The provider has it, the database had forgotten it: it is asked about from now on.
    Forgotten,
    /// Known, and the provider knows more: it is asked again.
    Behind,
    /// Known, and the provider says something else, or nothing: for a person.
    Contradiction,
    /// Nobody knows: ask again later.
    Unanswered,
}

impl Verdict {
    /// Its word in the report.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forgotten => "forgotten",
            Self::Behind => "behind",
            Self::Contradiction => "contradiction",
            Self::Unanswered => "unanswered",
        }
    }
}

/// One line of the report: a number, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// Whose number it is.
    pub order: OrderId,
    /// When that order was placed.
    pub placed_at: Timestamp,
    /// Who was asked.
    pub provider: Provider,
    /// About which number.
    pub number: ProviderNumber,
    /// How the two records stand to each other.
    pub verdict: Verdict,
    /// What the provider told, if it told anything.
    pub report: Option<PaymentReport>,
}

/// What the report comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Orders that were looked at.
    pub orders: u64,
    /// Numbers that were asked about.
    pub questions: u64,
    /// Registrations that only the provider knew of.
    pub forgotten: u64,
    /// Registrations of which the provider knew more.
    pub behind: u64,
    /// Records that contradict each other: for a person.
    pub contradictions: u64,
    /// Questions without an answer: ask again.
    pub unanswered: u64,
    /// Down to where the window has been worked through.
    pub reached: Option<Timestamp>,
}

impl Totals {
    /// Whether nothing is left for a person.
    #[must_use]
    pub const fn agrees(&self) -> bool {
        self.contradictions == 0 && self.unanswered == 0
    }

    pub(super) const fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Forgotten => self.forgotten += 1,
            Verdict::Behind => self.behind += 1,
            Verdict::Contradiction => self.contradictions += 1,
            Verdict::Unanswered => self.unanswered += 1,
        }
    }
}
