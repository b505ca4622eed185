//! A dispute: what a payment system tells and what we have, laid side by side for a person.

use crate::core::domain::money::Money;
use crate::core::payment::registration::Registration;
use crate::core::payment::report::PaymentReport;

/// Both sides, as they stood when a person was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispute {
    /// The provider's record.
    pub theirs: Side,
    /// Our record.
    pub ours: Side,
}

/// One side of a contradiction, as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Of the payment or, when refunds are in dispute, of all that was given back. `None` if not told.
    pub sum: Option<Money>,
    /// Everything, in one line. With numbers, which may be another's: for operators alone.
    pub record: String,
}

/// Text of a partner is cut to this: no id of theirs is longer.
const LONGEST_TEXT: usize = 64;

impl Dispute {
    /// About the payment itself.
    #[must_use]
    pub fn about_payment(registration: &Registration, report: &PaymentReport) -> Self {
        // A part of the money is what the dispute is about, although the amount is ours.
        let part = report.taken.filter(|taken| *taken != registration.amount);
        let theirs = Side { sum: part.or(report.amount), record: report.record() };
        let sum = Some(registration.amount);
        Self { theirs, ours: Side { sum, record: registration.record(registration.refunded) } }
    }

    /// About what was given back of it: `explained` is what our refunds come to.
    #[must_use]
    pub fn about_refunds(
        registration: &Registration,
        explained: Money,
        report: Option<&PaymentReport>,
    ) -> Self {
        let sum = report.and_then(|report| report.refunded);
        let theirs = Side { sum, record: report.map(PaymentReport::record).unwrap_or_default() };
        let ours = Side { sum: Some(explained), record: registration.record(explained) };
        Self { theirs, ours }
    }
}

impl PaymentReport {
    fn record(&self) -> String {
        let id = self.external_id.as_deref();
        let status = self.status.as_str();
        let record = line(self.number.as_str(), id, self.amount, status, self.refunded);
        match self.taken {
            Some(taken) => format!("{record}, taken {taken:?}"),
            None => record,
        }
    }
}

impl Registration {
    /// In the same words as the provider's side; `refunded` is what we know to have been given back.
    #[must_use]
    pub fn record(&self, refunded: Money) -> String {
        let (id, amount) = (self.external_id.as_deref(), Some(self.amount));
        line(self.number.as_str(), id, amount, self.state.as_str(), Some(refunded))
    }
}

fn line(
    number: &str,
    id: Option<&str>,
    amount: Option<Money>,
    status: &str,
    refunded: Option<Money>,
) -> String {
    let money = |told: Option<Money>| told.map_or("unknown".to_owned(), |told| format!("{told:?}"));
    let (number, id) = (short(number), id.map_or("unknown".to_owned(), short));
    let (amount, refunded) = (money(amount), money(refunded));
    format!("number {number}, id {id}, amount {amount}, status {status}, refunded {refunded}")
}

fn short(text: &str) -> String {
    text.chars().filter(|symbol| !symbol.is_control()).take(LONGEST_TEXT).collect()
}
