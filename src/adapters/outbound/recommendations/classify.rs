//! The recommender's silences.

use crate::adapters::resilience::outcome::Failed;
use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Shed, Unknown};
use http::StatusCode;
use std::time::Duration;

/// An answer, though not a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// A customer of whom it knows nothing: an empty list.
    #[error("no such customer")]
    NobodyKnown,
    #[error("the recommender refuses the request")]
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
        404 => Err(Failed::Answered(Refusal::NobodyKnown)),
        429 => silent(Cause::NotExecuted(NotExecuted::Throttled)),
        408 | 500.. => silent(Cause::Unknown(Unknown::PartnerFailed)),
        // Somebody else answers at the recommender's address.
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

/// What the log says of it. Of what was never sent it is certain that an empty list is returned;
/// whether the rest is covered up too is for the core to say.
pub(super) const fn news(cause: Cause) -> &'static str {
    match cause {
        Cause::NotExecuted(NotExecuted::Shed(
            Shed::BreakerOpen | Shed::ProbesTaken | Shed::ForcedOpen,
        )) => "recommendations CB open, returning empty",
        Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull | Shed::BulkheadWait)) => {
            "recommendations semaphore full, returning empty"
        }
        Cause::NotExecuted(_) | Cause::Unknown(_) => "recommendations unavailable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_says_returning_empty_only_of_what_is_certain() {
        assert_eq!(
            news(Cause::NotExecuted(NotExecuted::Shed(Shed::ProbesTaken))),
            "recommendations CB open, returning empty"
        );
        assert_eq!(
            news(Cause::NotExecuted(NotExecuted::Shed(Shed::BulkheadFull))),
            "recommendations semaphore full, returning empty"
        );
        assert_eq!(news(Cause::Unknown(Unknown::TimedOut)), "recommendations unavailable");
    }

    #[test]
    fn each_status_means_one_thing() {
        let silence = |cause| Err(Failed::NoAnswer(NoAnswer::new(cause)));
        for (status, meaning) in [
            (200, Ok(())),
            (404, Err(Failed::Answered(Refusal::NobodyKnown))),
            (400, Err(Failed::Answered(Refusal::Refused))),
            (403, Err(Failed::Answered(Refusal::Refused))),
            (408, silence(Cause::Unknown(Unknown::PartnerFailed))),
            (429, silence(Cause::NotExecuted(NotExecuted::Throttled))),
            (500, silence(Cause::Unknown(Unknown::PartnerFailed))),
            (503, silence(Cause::Unknown(Unknown::PartnerFailed))),
            (307, silence(Cause::NotExecuted(NotExecuted::Misdirected))),
            (204, silence(Cause::Unknown(Unknown::Unreadable))),
        ] {
            assert_eq!(of_status(StatusCode::from_u16(status).unwrap(), None), meaning, "{status}");
        }
    }
}
