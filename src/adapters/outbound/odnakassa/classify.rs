//! What OdnaKassa's answers and silences mean for an order: the outcome matrix (docs/outcomes.md) as
//! far as it is OdnaKassa's.

use super::wire::{self, Payment, Refusal};
use crate::adapters::resilience::verdict::Failed;
use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Unknown};
use crate::core::ports::payment::{
    Concern, Finding, PaymentError, RegisterOrder, Registered, Rejection, ReportedStatus,
};
use http::StatusCode;
use std::time::Duration;

/// An answer in [`Failed::Answered`] shows a partner in good health, even where it leaves the
/// outcome unknown.
pub(super) type Failure = Failed<PaymentError>;

/// The same key was once sent with another body: a bug of ours, never mended by itself.
pub(super) const KEY_REUSED: &str = "idempotency_mismatch";

/// What is worth reading in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Success,
    /// An error whose code decides.
    Refusal,
}

/// What came back, as far as it is OdnaKassa's own word.
#[derive(Debug)]
pub(super) enum Answer {
    /// Its body.
    Success(Vec<u8>),
    Refusal(StatusCode, Refusal),
}

impl Answer {
    fn success(self) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Success(body) => Ok(body),
            Self::Refusal(status, refusal) => Err(refused(status, refusal.code.as_deref())),
        }
    }
}

/// What the HTTP status says by itself.
pub(super) fn exchange(
    status: StatusCode,
    retry_after: Option<Duration>,
) -> Result<Voice, Failure> {
    match status.as_u16() {
        200..=299 => Ok(Voice::Success),
        400 | 401 | 403 | 409 | 422 => Ok(Voice::Refusal),
        429 => {
            Err(NoAnswer { cause: Cause::NotExecuted(NotExecuted::Throttled), retry_after }.into())
        }
        408 | 500..=599 => {
            Err(NoAnswer { cause: Cause::Unknown(Unknown::PartnerFailed), retry_after }.into())
        }
        300..=399 | 404 | 405 => Err(NotExecuted::Misdirected.into()),
        // Not documented, so perhaps not OdnaKassa's word at all: it may mean anything.
        _ => Err(unreadable()),
    }
}

/// What an error's code says under its status. Without a code it was a proxy that spoke, and whether
/// before or after OdnaKassa nobody knows.
fn refused(status: StatusCode, code: Option<&str>) -> Failure {
    let Some(code) = code else { return unreadable() };
    match (status.as_u16(), code) {
        (401 | 403, _) => rejected(&format!("http_{}", status.as_u16()), Concern::Account),
        (400, "invalid_request") => rejected(code, Concern::Order),
        (409 | 422, code) => refused_by_code(code),
        _ => unreadable(),
    }
}

/// Whether a person has to look at our address or our key.
pub(super) fn locked_out(status: StatusCode) -> bool {
    matches!(status.as_u16(), 401 | 403)
}

fn refused_by_code(code: &str) -> Failure {
    match code {
        // Both: there may be a payment under our number. The core asks and compares.
        "order_id_conflict" | KEY_REUSED => Failed::Answered(PaymentError::Duplicate),
        "request_in_progress" => Failed::Answered(PaymentError::Unknown(Unknown::PartnerFailed)),
        "invalid_state" | "amount_exceeded" | "refund_id_conflict" => {
            rejected(code, Concern::Order)
        }
        _ => unreadable(),
    }
}

/// The answer to a creation: the payment as it is now, for a replay tells its current status.
pub(super) fn registration(answer: Answer, order: &RegisterOrder) -> Result<Registered, Failure> {
    // A no and a payment in one breath: the payment may be alive, so it is asked for.
    let names_a_payment = matches!(&answer, Answer::Refusal(_, told) if told.names_a_payment);
    let body = match answer.success() {
        Err(Failed::Answered(PaymentError::Rejected(_))) if names_a_payment => Err(in_doubt()),
        said => said,
    }?;
    let report = Payment::parse(&body).ok_or_else(unreadable)?.report();
    if report.number != order.number {
        return Err(unreadable());
    }
    let ask = || Err(Failed::Answered(PaymentError::Duplicate));
    match report.status {
        // Not what we asked for: the core asks and compares.
        _ if report.amount != Some(order.amount) => ask(),
        ReportedStatus::Held | ReportedStatus::Paid | ReportedStatus::Strange => ask(),
        // Over before a payer saw it: declined.
        ReportedStatus::Over(_) => Err(rejected("canceled", Concern::Order)),
        ReportedStatus::Pending => match (report.external_id, report.form_url) {
            (Some(external_id), Some(form_url)) => {
                Ok(Registered { external_id, form_url, expires_at: report.expires_at })
            }
            (_, _) => Err(unreadable()),
        },
    }
}

pub(super) fn finding(answer: Answer) -> Result<Finding, Failure> {
    let found = wire::parse_list(&answer.success()?).ok_or_else(unreadable)?;
    Ok(found.map_or(Finding::NotFound, |payment| Finding::Found(payment.report())))
}

/// The answer to a cancellation or a refund, which are no registrations that one could ask for.
pub(super) fn change(answer: Answer) -> Result<(), Failure> {
    match answer.success() {
        Ok(body) => Payment::parse(&body).map(|_| ()).ok_or_else(unreadable),
        Err(Failed::Answered(PaymentError::Duplicate)) => Err(in_doubt()),
        Err(failure) => Err(failure),
    }
}

/// OdnaKassa's own id, without which it changes nothing.
pub(super) fn known_id(finding: Finding) -> Result<String, Failure> {
    match finding {
        Finding::Found(report) => report.external_id.ok_or_else(unreadable),
        Finding::NotFound => Err(rejected("payment_unknown", Concern::Order)),
    }
}

pub(super) fn amount_refused() -> Failure {
    rejected("amount_not_supported", Concern::Order)
}

fn rejected(code: &str, concerns: Concern) -> Failure {
    Failed::Answered(PaymentError::Rejected(Rejection { code: code.to_owned(), concerns }))
}

/// OdnaKassa answered, and nothing is proven.
fn in_doubt() -> Failure {
    Failed::Answered(PaymentError::Unknown(Unknown::Unreadable))
}

pub(super) fn unreadable() -> Failure {
    Unknown::Unreadable.into()
}
