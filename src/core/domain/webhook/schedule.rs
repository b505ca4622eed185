//! When a webhook that was not taken is sent again, and when nobody tries any more: pure, so that a simulation can
//! run years of it.

use super::attempt::{Answer, AttemptError};
use std::time::Duration;

/// The longest wait that a receiver can ask for, and that a guard of ours can.
pub const LONGEST_WISH: Duration = Duration::from_secs(3600);
/// A pause is this much shorter or longer, by luck: receivers that failed together are not met together again.
const SPREAD: f64 = 0.2;
/// More would be no schedule.
const MOST_PAUSES: usize = 50;

/// `WEBHOOK_SCHEDULE`: the pause after the first attempt that failed, after the second, and so on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSchedule(Vec<Duration>);

/// Why a schedule is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSchedule {
    /// A single attempt is no delivery; nor are hundreds.
    #[error("must have 1 to 50 pauses")]
    Length,
    /// Under a second would be an attack, over a week is for ever.
    #[error("each pause must be 1s to 7d")]
    Pause,
    /// Whoever is still down has not become healthier by being asked faster.
    #[error("no pause may be shorter than the one before it")]
    Shrinking,
}

/// What came before an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tried {
    /// Attempts that were made and failed. One that a guard kept back was not made.
    pub failed: u32,
    /// Since it was first to be sent.
    pub age: Duration,
}

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterAttempt {
    /// The receiver has it.
    Delivered,
    /// Another attempt after this pause; this one counts.
    Retry(Duration),
    /// Another after this pause; this one was not made and does not count.
    Postpone(Duration),
    /// Failed for good: a person may send it again.
    GiveUp,
    /// Failed for good, and its destination wants no more of any (410).
    Disable,
}

impl WebhookSchedule {
    /// # Errors
    /// What it must be.
    pub fn new(pauses: Vec<Duration>) -> Result<Self, BadSchedule> {
        const PAUSES: std::ops::RangeInclusive<Duration> =
            Duration::from_secs(1)..=Duration::from_secs(7 * 86_400);
        if pauses.is_empty() || pauses.len() > MOST_PAUSES {
            Err(BadSchedule::Length)
        } else if !pauses.iter().all(|pause| PAUSES.contains(pause)) {
            Err(BadSchedule::Pause)
        } else if !pauses.is_sorted() {
            Err(BadSchedule::Shrinking)
        } else {
            Ok(Self(pauses))
        }
    }

    /// How long nobody gives up, with bad luck and a receiver that always asks for the most.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.0.iter().map(|pause| pause.mul_f64(1.0 + SPREAD).max(LONGEST_WISH)).sum()
    }

    /// What follows an attempt that ended so. `luck` is at least 0 and below 1.
    #[must_use]
    pub fn after(
        &self,
        result: Result<Answer, AttemptError>,
        tried: Tried,
        luck: f64,
    ) -> AfterAttempt {
        match result {
            Ok(Answer { status: 200..=299, .. }) => AfterAttempt::Delivered,
            Ok(Answer { status: 410, .. }) => AfterAttempt::Disable,
            Ok(Answer { retry_after, .. }) => self.again(tried, retry_after, luck),
            Err(error) if error.is_shed() => self.postponed(error, tried, luck),
            Err(_) => self.again(tried, None, luck),
        }
    }

    /// A receiver may make a pause longer and never shorter.
    fn again(&self, tried: Tried, wish: Option<Duration>, luck: f64) -> AfterAttempt {
        let nth = usize::try_from(tried.failed).unwrap_or(usize::MAX);
        let Some(pause) = self.0.get(nth) else { return AfterAttempt::GiveUp };
        let wish = wish.unwrap_or_default().min(LONGEST_WISH);
        AfterAttempt::Retry(pause.mul_f64(1.0 - SPREAD + 2.0 * SPREAD * luck).max(wish))
    }

    /// A receiver that is down for days is met by its breaker most of the time: then age gives up.
    fn postponed(&self, error: AttemptError, tried: Tried, luck: f64) -> AfterAttempt {
        if tried.age > self.patience() {
            return AfterAttempt::GiveUp;
        }
        let wish = match error {
            AttemptError::NoAnswer(error) => error.retry_after.unwrap_or_default(),
            AttemptError::Forbidden(_) => Duration::ZERO,
        };
        let pause = wish.clamp(self.0[0].min(LONGEST_WISH), LONGEST_WISH);
        AfterAttempt::Postpone(pause.mul_f64(1.0 + SPREAD * luck))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, Shed, Unknown};
    use crate::core::domain::webhook::attempt::ForbiddenDestination;

    const SECOND: Duration = Duration::from_secs(1);

    fn schedule(seconds: &[u32]) -> Result<WebhookSchedule, BadSchedule> {
        WebhookSchedule::new(seconds.iter().map(|pause| SECOND * *pause).collect())
    }

    fn answer(status: u16, retry_after: Option<u32>) -> Result<Answer, AttemptError> {
        Ok(Answer { status, retry_after: retry_after.map(|wish| SECOND * wish) })
    }

    fn no_answer(cause: impl Into<Cause>) -> Result<Answer, AttemptError> {
        Err(NoAnswer::new(cause.into()).into())
    }

    #[test]
    fn a_schedule_that_is_none_is_refused() {
        for (seconds, error) in [
            (&[][..], BadSchedule::Length),
            (&[1; 51], BadSchedule::Length),
            (&[0, 1], BadSchedule::Pause),
            (&[604_801], BadSchedule::Pause),
            (&[60, 5], BadSchedule::Shrinking),
        ] {
            assert_eq!(schedule(seconds), Err(error), "{seconds:?}");
        }
        assert!(schedule(&[1, 1, 604_800]).is_ok());
    }

    #[test]
    fn only_a_2xx_is_a_delivery_and_only_410_ends_the_destination() {
        let schedule = schedule(&[10]).unwrap();
        for status in 100..=599 {
            let expected = match status {
                200..=299 => AfterAttempt::Delivered,
                410 => AfterAttempt::Disable,
                _ => AfterAttempt::Retry(SECOND * 10),
            };
            assert_eq!(schedule.after(answer(status, None), Tried::default(), 0.5), expected);
        }
    }

    #[test]
    fn every_failure_is_tried_again_until_the_schedule_ends() {
        let schedule = schedule(&[5, 60]).unwrap();
        for failure in [
            answer(500, None),
            answer(404, None),
            answer(301, None),
            no_answer(NotExecuted::Unreachable),
            no_answer(Unknown::TimedOut),
            Err(ForbiddenDestination::NotPublic.into()),
        ] {
            let after = |failed| schedule.after(failure, Tried { failed, age: SECOND }, 0.5);
            assert_eq!(after(0), AfterAttempt::Retry(SECOND * 5));
            assert_eq!(after(1), AfterAttempt::Retry(SECOND * 60));
            assert_eq!(after(2), AfterAttempt::GiveUp);
            assert_eq!(after(u32::MAX), AfterAttempt::GiveUp);
        }
    }

    #[test]
    fn luck_spreads_a_pause_by_a_fifth() {
        let schedule = schedule(&[100]).unwrap();
        let pause = |luck| schedule.after(answer(500, None), Tried::default(), luck);
        assert_eq!(pause(0.0), AfterAttempt::Retry(SECOND * 80));
        assert_eq!(pause(0.75), AfterAttempt::Retry(SECOND * 110));
    }

    #[test]
    fn a_receiver_may_ask_for_a_longer_pause_and_for_no_shorter_one() {
        let schedule = schedule(&[60]).unwrap();
        let asked = |wish| schedule.after(answer(429, Some(wish)), Tried::default(), 0.5);
        assert_eq!(asked(0), AfterAttempt::Retry(SECOND * 60));
        assert_eq!(asked(90), AfterAttempt::Retry(SECOND * 90));
        assert_eq!(asked(1_000_000), AfterAttempt::Retry(LONGEST_WISH));
    }

    #[test]
    fn what_a_guard_kept_back_is_no_attempt_and_ends_by_age_alone() {
        let schedule = schedule(&[5, 60]).unwrap();
        let shed = |seconds| {
            let cause = Shed::BreakerOpen.into();
            Err(NoAnswer { cause, retry_after: Some(SECOND * seconds) }.into())
        };
        let after = |seconds, age| schedule.after(shed(seconds), Tried { failed: 99, age }, 0.0);
        assert_eq!(after(0, SECOND), AfterAttempt::Postpone(SECOND * 5));
        assert_eq!(after(30, SECOND), AfterAttempt::Postpone(SECOND * 30));
        assert_eq!(after(1_000_000, schedule.patience()), AfterAttempt::Postpone(LONGEST_WISH));
        assert_eq!(after(30, schedule.patience() + SECOND), AfterAttempt::GiveUp);
    }

    /// Whatever luck and receivers do, the last attempt is over within the patience.
    #[test]
    fn patience_covers_the_longest_way_through_the_schedule() {
        let schedule = schedule(&[5, 60, 300, 86_400]).unwrap();
        let mut tried = Tried::default();
        while let AfterAttempt::Retry(pause) =
            schedule.after(answer(503, Some(9_999)), tried, 0.999)
        {
            tried = Tried { failed: tried.failed + 1, age: tried.age + pause };
        }
        assert_eq!(tried.failed, 4);
        assert!(tried.age <= schedule.patience(), "{:?}", tried.age);
    }
}
