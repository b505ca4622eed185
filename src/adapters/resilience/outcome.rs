//! What a result says of the partner. One question to the error, "why is there no answer?", drives
//! breaker and retry alike, so the outcome matrix is written once, here.

use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Unknown};

/// An error that knows whether the partner answered.
pub trait Unanswered {
    /// Why there is no answer; `None` when the partner answered, even with a refusal: a business
    /// "no" shows a partner in good health.
    fn no_answer(&self) -> Option<NoAnswer>;
}

/// How an adapter's guarded call fails: without an answer, or with one that is not the wanted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failed<E> {
    #[error(transparent)]
    NoAnswer(NoAnswer),
    /// A business answer: the partner is fine.
    #[error("{0}")]
    Answered(E),
}

impl<E> Unanswered for Failed<E> {
    fn no_answer(&self) -> Option<NoAnswer> {
        match self {
            Self::NoAnswer(silence) => Some(*silence),
            Self::Answered(_) => None,
        }
    }
}

impl Unanswered for NoAnswer {
    fn no_answer(&self) -> Option<NoAnswer> {
        Some(*self)
    }
}

impl<E> From<NoAnswer> for Failed<E> {
    fn from(silence: NoAnswer) -> Self {
        Self::NoAnswer(silence)
    }
}

impl<E, C: Into<Cause>> From<C> for Failed<E> {
    fn from(cause: C) -> Self {
        Self::NoAnswer(cause.into().into())
    }
}

/// What a call's end says of the partner's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It answered, to our liking or not.
    Healthy,
    /// It did not answer, and it is to blame.
    Failing,
    /// Nothing is known: never sent, or ended by the caller.
    Neutral,
}

impl Verdict {
    #[must_use]
    pub fn of<T, E: Unanswered>(result: &Result<T, E>) -> Self {
        match result {
            Ok(_) => Self::Healthy,
            Err(error) => error.no_answer().map_or(Self::Healthy, |silence| silence.cause.into()),
        }
    }
}

impl From<Cause> for Verdict {
    fn from(cause: Cause) -> Self {
        match cause {
            // Ended by us or by our caller.
            Cause::NotExecuted(NotExecuted::Shed(_)) | Cause::Unknown(Unknown::DeadlinePassed) => {
                Self::Neutral
            }
            Cause::NotExecuted(_) | Cause::Unknown(_) => Self::Failing,
        }
    }
}
