//! How long a call may run: its own limit or what the caller's deadline leaves, and who is to blame
//! when time runs out.

use crate::core::domain::unavailable::{NoAnswer, Shed, Unknown};
use crate::core::ports::deadline::Deadline;
use std::time::Duration;
use tokio::time::timeout;

/// Kept back for our own answer after the partner's.
pub const MARGIN: Duration = Duration::from_millis(100);

/// With less left than this a call is not begun: it could only fail and blame the partner.
pub const LEAST: Duration = Duration::from_millis(150);

/// The longest a call may take (`CALL_TIMEOUT`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTimeout(Duration);

impl CallTimeout {
    /// Of this length, whoever calls.
    #[must_use]
    pub const fn new(limit: Duration) -> Self {
        Self(limit)
    }

    /// The length.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }

    /// Runs `call` for at most min(own limit, what `deadline` leaves − [`MARGIN`]), counted from
    /// the first poll.
    ///
    /// # Errors
    ///
    /// The call's own error, or [`Shed::DeadlineTooShort`] (never begun, less than [`LEAST`] left),
    /// [`Unknown::TimedOut`] (its own limit: the partner is to blame) or
    /// [`Unknown::DeadlinePassed`] (the caller's deadline: it is not).
    pub async fn cap<T, E: From<NoAnswer>>(
        self,
        deadline: Deadline,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let remaining = deadline.remaining();
        if remaining < LEAST {
            return Err(NoAnswer::from(Shed::DeadlineTooShort).into());
        }
        let left = remaining.saturating_sub(MARGIN);
        let (limit, blame) = if left < self.0 {
            (left, Unknown::DeadlinePassed)
        } else {
            (self.0, Unknown::TimedOut)
        };
        timeout(limit, call).await.unwrap_or_else(|_| Err(NoAnswer::from(blame).into()))
    }
}

impl From<Duration> for CallTimeout {
    fn from(limit: Duration) -> Self {
        Self::new(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::domain::unavailable::Cause;
    use std::future::pending;
    use tokio::time::Instant;

    const CALL: CallTimeout = CallTimeout::new(Duration::from_secs(15));

    async fn hang(budget: Duration) -> (Cause, Duration) {
        let begun = Instant::now();
        let end: Result<(), NoAnswer> = CALL.cap(Deadline::after(budget), pending()).await;
        (end.expect_err("the call hangs").cause, begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn the_calls_own_limit_blames_the_partner() {
        let (cause, ran) = hang(Duration::from_secs(60)).await;
        assert_eq!((cause, ran.as_secs()), (Cause::Unknown(Unknown::TimedOut), 15));
    }

    #[tokio::test(start_paused = true)]
    async fn the_callers_deadline_ends_the_call_a_margin_early_and_blames_nobody() {
        let (cause, ran) = hang(Duration::from_secs(1)).await;
        assert_eq!(cause, Cause::Unknown(Unknown::DeadlinePassed));
        assert!((899..=901).contains(&ran.as_millis()), "{ran:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn with_too_little_time_the_call_is_never_begun() {
        let deadline = Deadline::after(Duration::from_millis(149));
        let end: Result<(), NoAnswer> = CALL.cap(deadline, async { panic!("it was begun") }).await;
        assert_eq!(end, Err(Shed::DeadlineTooShort.into()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_in_time_passes_through() {
        let deadline = Deadline::after(Duration::from_millis(150));
        assert_eq!(CALL.cap(deadline, async { Ok::<_, NoAnswer>(7) }).await, Ok(7));
    }
}
