//! What the answers of those systems mean that are only read from: by status alone, and the same for all
//! of them. What is missing behind the others, and what the span says of it.

use crate::adapters::resilience::verdict::Failed;
use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Unknown};
use http::StatusCode;
use std::time::Duration;

/// An answer, though not what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadRefusal {
    #[error("there is no such thing")]
    NotFound,
    /// The system works, but not for us: our request or our rights are wrong, and nothing should hide
    /// that.
    #[error("the system refuses the request")]
    Refused,
}

/// `Ok` when the body is worth reading.
///
/// # Errors
/// What the status alone says.
pub fn of_status(
    status: StatusCode,
    retry_after: Option<Duration>,
) -> Result<(), Failed<ReadRefusal>> {
    let no_answer = |cause| Err(Failed::NoAnswer(NoAnswer { cause, retry_after }));
    match status.as_u16() {
        200 => Ok(()),
        404 => Err(Failed::Answered(ReadRefusal::NotFound)),
        429 => no_answer(NotExecuted::Throttled.into()),
        408 | 500.. => no_answer(Unknown::PartnerFailed.into()),
        // Somebody else answers at the system's address.
        300..=399 => no_answer(NotExecuted::Misdirected.into()),
        400..=499 => Err(Failed::Answered(ReadRefusal::Refused)),
        0..=299 => no_answer(Unknown::Unreadable.into()),
    }
}

/// What the span says of a missing answer.
#[must_use]
pub const fn description(cause: Cause) -> &'static str {
    match cause {
        Cause::NotExecuted(NotExecuted::Shed(shed)) if shed.is_circuit_open() => "circuit open",
        Cause::NotExecuted(_) | Cause::Unknown(_) => cause.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_means_one_thing() {
        use ReadRefusal::{NotFound, Refused};
        let answered = |refusal| Err(Failed::Answered(refusal));
        let none = |cause| Err(Failed::NoAnswer(NoAnswer::new(cause)));
        for (statuses, meaning) in [
            (&[200][..], Ok(())),
            (&[404], answered(NotFound)),
            (&[400, 401, 403, 405, 410, 422], answered(Refused)),
            (&[408, 500, 502, 503, 504, 599], none(Unknown::PartnerFailed.into())),
            (&[429], none(NotExecuted::Throttled.into())),
            (&[302, 307], none(NotExecuted::Misdirected.into())),
            (&[204], none(Unknown::Unreadable.into())),
        ] {
            for status in statuses {
                let status = StatusCode::from_u16(*status).unwrap();
                assert_eq!(of_status(status, None), meaning, "{status}");
            }
        }
    }

    #[test]
    fn the_partners_wish_goes_along_with_a_missing_answer() {
        let wish = Some(Duration::from_secs(7));
        let Err(Failed::NoAnswer(told)) = of_status(StatusCode::SERVICE_UNAVAILABLE, wish) else {
            panic!("503 is no answer");
        };
        assert_eq!(told.retry_after, wish);
    }
}
