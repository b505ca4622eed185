//! What Sber's answers and silences mean for an order: the outcome matrix (docs/outcomes.md) as far
//! as it is Sber's. Only here is it known that a 200 with code 7 is no answer.

use super::config::Protocol;
use super::wire::BankReply;
use crate::adapters::resilience::verdict::Failed;
use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Unknown};
use crate::core::ports::payment::{
    Concern, Finding, PaymentError, PaymentRef, Registered, Rejection, ReportedStatus,
};
use http::StatusCode;
use std::time::Duration;

/// An answer in [`Failed::Answered`] shows a bank in good health, even where it leaves the outcome
/// unknown.
pub(super) type Failure = Failed<PaymentError>;

/// Who speaks in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Bank,
    /// The bank, if there is a code of its own; else something between us.
    Doubtful,
}

/// What the HTTP status says by itself; `Ok` when the body has the word.
pub(super) fn exchange(
    status: StatusCode,
    retry_after: Option<Duration>,
) -> Result<Voice, Failure> {
    match status.as_u16() {
        200..=299 => Ok(Voice::Bank),
        429 => {
            Err(NoAnswer { cause: Cause::NotExecuted(NotExecuted::Throttled), retry_after }.into())
        }
        408 | 500..=599 => {
            Err(NoAnswer { cause: Cause::Unknown(Unknown::PartnerFailed), retry_after }.into())
        }
        300..=399 | 404 | 405 => Err(NotExecuted::Misdirected.into()),
        400..=499 => Ok(Voice::Doubtful),
        _ => Err(unreadable()),
    }
}

/// The body of an answer that is no success by its status. The bank says no by code: without one
/// it was a proxy that spoke, and whether before or after the bank nobody knows.
pub(super) fn doubtful(reply: Option<BankReply>) -> Result<BankReply, Failure> {
    reply.filter(|reply| reply.code().is_some_and(|code| code != 0)).ok_or_else(unreadable)
}

/// Whether a person has to look at our address or our login.
pub(super) fn locked_out(status: StatusCode) -> bool {
    matches!(status.as_u16(), 401 | 403)
}

pub(super) fn registration(protocol: Protocol, reply: &BankReply) -> Result<Registered, Failure> {
    use Concern::{Account, Order};
    let code = code_of(reply)?;
    if refuses_an_order_it_names(reply) {
        return Err(Failed::Answered(PaymentError::Unknown(Unknown::Unreadable)));
    }
    match (code, protocol) {
        // A success without its payload is no success.
        (0, _) => reply.registered().ok_or_else(unreadable),
        (1, _) => Err(Failed::Answered(PaymentError::Duplicate)),
        (7, _) => Err(Unknown::PartnerFailed.into()),
        (code @ (2..=4 | 6 | 8 | 14), _)
        | (code @ 12, Protocol::Classic)
        | (code @ (5 | 9 | 15), Protocol::Json) => Err(refused(code, Order)),
        // 5 is "access denied" or an expired password far more often than a bad value.
        (code @ (5 | 13), Protocol::Classic) => Err(refused(code, Account)),
        // Not documented: it may mean anything.
        (_, _) => Err(unreadable()),
    }
}

/// A no and an order in one breath: the order may be alive, so it is asked for.
fn refuses_an_order_it_names(reply: &BankReply) -> bool {
    reply.code().is_some_and(|code| code != 0) && reply.names_an_order()
}

/// The JSON generation's 5 also stands for "the request failed" and "access denied": before it
/// counts as a refusal, one look at the order must tell.
pub(super) fn needs_a_look(protocol: Protocol, reply: &BankReply) -> bool {
    protocol == Protocol::Json && reply.code() == Some(5) && !refuses_an_order_it_names(reply)
}

/// What that 5 was, by what the look found.
pub(super) fn refusal_after(look: Result<Finding, Failure>) -> Failure {
    match look {
        Ok(Finding::Found(_)) => Failed::Answered(PaymentError::Duplicate),
        Ok(Finding::NotFound) => refused(5, Concern::Order),
        // The query is refused as well: it is our login that the bank does not like.
        Err(Failed::Answered(_)) => refused(5, Concern::Account),
        // That the query was not executed says nothing of the registration.
        Err(Failed::NoAnswer(NoAnswer { cause: Cause::NotExecuted(_), .. })) => {
            Unknown::Unreadable.into()
        }
        Err(no_answer @ Failed::NoAnswer(_)) => no_answer,
    }
}

pub(super) fn query(protocol: Protocol, reply: &BankReply) -> Result<Finding, Failure> {
    match (code_of(reply)?, protocol) {
        (0, _) => reply.report().map(Finding::Found).ok_or_else(unreadable),
        (6, _) => Ok(Finding::NotFound),
        (7, _) => Err(Unknown::PartnerFailed.into()),
        (code @ 5, Protocol::Classic) => Err(refused(code, Concern::Account)),
        // A lock, a wrong login, or "no such order": it proves nothing, and the bank is well.
        (_, _) => Err(Failed::Answered(PaymentError::Unknown(Unknown::Unreadable))),
    }
}

/// The answer to a cancellation or a refund.
pub(super) fn change(protocol: Protocol, reply: &BankReply) -> Result<(), Failure> {
    match (code_of(reply)?, protocol) {
        (0, _) => Ok(()),
        (code @ 5, Protocol::Classic) => Err(refused(code, Concern::Account)),
        (code @ (1..=6 | 8 | 9), _) => Err(refused(code, Concern::Order)),
        // "The order's state forbids it" as well as "system error". Payers can cause the former at
        // will, so it must not open the breaker; the status tells which it was.
        (7, _) => Err(Failed::Answered(PaymentError::Unknown(Unknown::PartnerFailed))),
        (_, _) => Err(unreadable()),
    }
}

/// Whether it says, among other things, that the order's state forbids a decline.
pub(super) fn may_be_held(protocol: Protocol, reply: &BankReply) -> bool {
    match protocol {
        Protocol::Classic => reply.code() == Some(7),
        Protocol::Json => matches!(reply.code(), Some(5 | 7)),
    }
}

/// The bank's own id of our order, if that holds money: without it nothing is reversed.
pub(super) fn held_id(finding: Finding, payment: &PaymentRef) -> Option<String> {
    let Finding::Found(report) = finding else { return None };
    let held = report.status == ReportedStatus::Held && report.number == payment.number;
    let ours = |id: &String| payment.external_id.as_ref().is_none_or(|known| known == id);
    report.external_id.filter(|id| held && ours(id))
}

/// The bank's own id, without which it refunds nothing.
pub(super) fn known_id(finding: Finding) -> Result<String, Failure> {
    match finding {
        Finding::Found(report) => report.external_id.ok_or_else(unreadable),
        Finding::NotFound => Err(refused(6, Concern::Order)),
    }
}

fn code_of(reply: &BankReply) -> Result<i64, Failure> {
    reply.code().ok_or_else(unreadable)
}

fn refused(code: i64, concerns: Concern) -> Failure {
    rejected(format!("sber_{code}"), concerns)
}

pub(super) fn not_in_roubles() -> Failure {
    rejected("currency_not_supported".to_owned(), Concern::Order)
}

fn rejected(code: String, concerns: Concern) -> Failure {
    Failed::Answered(PaymentError::Rejected(Rejection { code, concerns }))
}

pub(super) fn unreadable() -> Failure {
    Unknown::Unreadable.into()
}
