//! How a provider's record of a number and ours stand to each other.

use super::report::Verdict;
use crate::core::payment::OrderAggregate;
use crate::core::payment::registration::{Registration, RegistrationState};
use crate::core::payment::report::{PaymentReport, ReportedStatus};
use crate::core::ports::payment::{Finding, PaymentError};

/// `None` where both sides agree.
pub(super) fn judge(
    aggregate: &OrderAggregate,
    known: Option<&Registration>,
    answer: Result<Finding, PaymentError>,
) -> Option<(Verdict, Option<PaymentReport>)> {
    let report = match (answer, known) {
        (Err(_), _) => return Some((Verdict::Unanswered, None)),
        (Ok(Finding::NotFound), Some(known)) if is_sure(known) => {
            return Some((Verdict::Contradiction, None));
        }
        (Ok(Finding::NotFound), _) => return None,
        (Ok(Finding::Found(report)), Some(known)) => {
            let verdict = compare(aggregate, known, &report)?;
            return Some((verdict, Some(report)));
        }
        (Ok(Finding::Found(report)), None) => report,
    };
    Some((Verdict::Forgotten, Some(report)))
}

/// Whether the provider must know it, by its own word.
const fn is_sure(known: &Registration) -> bool {
    matches!(
        known.state,
        RegistrationState::Live | RegistrationState::Paid | RegistrationState::Surplus
    )
}

fn compare(
    aggregate: &OrderAggregate,
    known: &Registration,
    report: &PaymentReport,
) -> Option<Verdict> {
    use RegistrationState::{Absent, Dead, Intent, Live, Paid, Surplus, Unknown};
    if known.differs_from(report) {
        return Some(Verdict::Contradiction);
    }
    let explained = aggregate.explained(known);
    let returned = report.refunded.is_some_and(|told| told.minor() > explained.minor());
    let agreed = match (report.status, known.state) {
        (ReportedStatus::Paid, Paid | Surplus) => !returned,
        (ReportedStatus::Pending | ReportedStatus::Held, Live)
        | (ReportedStatus::Over(_), Dead) => true,
        (ReportedStatus::Over(_), Paid | Surplus) => return Some(Verdict::Contradiction),
        (
            ReportedStatus::Paid
            | ReportedStatus::Pending
            | ReportedStatus::Held
            | ReportedStatus::Over(_),
            _,
        )
        | (ReportedStatus::Strange, Intent | Unknown | Live | Paid | Dead | Absent | Surplus) => {
            false
        }
    };
    (!agreed).then_some(Verdict::Behind)
}
