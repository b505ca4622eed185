//! What a result says of the partner. One question to the error, "why is there no answer?", drives
//! breaker, retry and the adaptive limit alike, so the outcome matrix is written once, here.

use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Unknown};

/// How an adapter's guarded call fails: without an answer, or with one that is not the wanted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failed<E> {
    /// Nobody answered, or nobody was asked.
    #[error(transparent)]
    NoAnswer(NoAnswer),
    /// A business answer, even a refusal: the partner is in good health.
    #[error("{0}")]
    Answered(E),
}

impl<E> From<NoAnswer> for Failed<E> {
    fn from(no_answer: NoAnswer) -> Self {
        Self::NoAnswer(no_answer)
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
    /// What this result says, by the outcome matrix of docs/outcomes.md.
    #[must_use]
    pub fn of<T, E>(result: &Result<T, Failed<E>>) -> Self {
        match result {
            Ok(_) | Err(Failed::Answered(_)) => Self::Healthy,
            Err(Failed::NoAnswer(no_answer)) => no_answer.cause.into(),
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
