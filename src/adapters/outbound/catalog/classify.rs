//! The catalog's silences: which answers are answers, and what is missing behind the others.

use crate::adapters::resilience::outcome::Failed;
use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Shed, Unknown};
use http::StatusCode;
use std::time::Duration;

/// An answer, though not a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("no such product")]
    NotFound,
    /// The catalog works, but not for us: our request or our rights are wrong, and no cache should
    /// hide that.
    #[error("the catalog refuses the request")]
    Refused,
}

/// `Ok` when the body is worth reading.
///
/// # Errors
/// What the status alone says.
pub(super) fn of_status(
    status: StatusCode,
    retry_after: Option<Duration>,
) -> Result<(), Failed<Refusal>> {
    let silent = |cause| Err(Failed::NoAnswer(NoAnswer { cause, retry_after }));
    match status.as_u16() {
        200 => Ok(()),
        404 => Err(Failed::Answered(Refusal::NotFound)),
        429 => silent(Cause::NotExecuted(NotExecuted::Throttled)),
        408 | 500.. => silent(Cause::Unknown(Unknown::PartnerFailed)),
        // Somebody else answers at the catalog's address.
        300..=399 => silent(Cause::NotExecuted(NotExecuted::Misdirected)),
        400..=499 => Err(Failed::Answered(Refusal::Refused)),
        0..=299 => silent(Cause::Unknown(Unknown::Unreadable)),
    }
}

/// What the span says of it.
pub(super) const fn description(cause: Cause) -> &'static str {
    match cause {
        Cause::NotExecuted(NotExecuted::Shed(
            Shed::BreakerOpen | Shed::ProbesTaken | Shed::ForcedOpen,
        )) => "circuit open",
        Cause::NotExecuted(_) | Cause::Unknown(_) => cause.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause_of(status: u16) -> Option<Cause> {
        match of_status(StatusCode::from_u16(status).unwrap(), None) {
            Err(Failed::NoAnswer(silence)) => Some(silence.cause),
            Ok(()) | Err(Failed::Answered(_)) => None,
        }
    }

    #[test]
    fn a_refusal_is_an_answer() {
        let refusal = |status| of_status(StatusCode::from_u16(status).unwrap(), None);
        assert_eq!(refusal(200), Ok(()));
        assert_eq!(refusal(404), Err(Failed::Answered(Refusal::NotFound)));
        for status in [400, 401, 403, 405, 410, 422] {
            assert_eq!(refusal(status), Err(Failed::Answered(Refusal::Refused)), "{status}");
        }
    }

    #[test]
    fn the_rest_is_silence() {
        for status in [408, 500, 502, 503, 504, 599] {
            assert_eq!(cause_of(status), Some(Cause::Unknown(Unknown::PartnerFailed)), "{status}");
        }
        assert_eq!(cause_of(429), Some(Cause::NotExecuted(NotExecuted::Throttled)));
        assert_eq!(cause_of(302), Some(Cause::NotExecuted(NotExecuted::Misdirected)));
        assert_eq!(cause_of(204), Some(Cause::Unknown(Unknown::Unreadable)));
    }
}
