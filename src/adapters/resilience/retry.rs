//! Trying a read again: few times, after growing random pauses, within the deadline, on a budget.
//! It wraps the whole guarded sentence, so each attempt passes breaker and semaphore anew and no
//! permit is held while it sleeps. Writes are never tried again here.

use super::observer::{Observer, RetryOutcome, tell};
use super::settings::{InvalidSetting, RetryConfig};
use super::verdict::Failed;
use crate::core::domain::unavailable::{Cause, NoAnswer, NotExecuted, System, Unknown};
use crate::core::ports::deadline::Deadline;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A caller does not sleep longer than this in all, whatever the partner asks for.
const MAX_SLEEP: Duration = Duration::from_secs(2);

tokio::task_local! {
    static MADE: u32;
}

/// How many attempts the call that is under way had before this one.
#[must_use]
pub fn resends() -> u32 {
    MADE.try_with(|made| *made).unwrap_or(0)
}

/// The retries of one partner's reads, with the budget that they spend from.
#[derive(Debug)]
pub struct Retry {
    system: System,
    config: RetryConfig,
    budget: Mutex<Budget>,
    observer: Arc<dyn Observer>,
}

impl Retry {
    /// A retry with as much in its budget as ten quiet seconds give.
    ///
    /// # Errors
    ///
    /// Every setting that cannot be.
    pub fn new(
        system: System,
        config: RetryConfig,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Vec<InvalidSetting>> {
        let invalid = config.validate();
        if !invalid.is_empty() {
            return Err(invalid);
        }
        let budget = Mutex::new(Budget::new(&config));
        Ok(Self { system, config, budget, observer })
    }

    /// Calls `attempt` until it answers, or trying again makes no sense.
    ///
    /// # Errors
    ///
    /// The last attempt's.
    pub async fn run<T, E, F>(
        &self,
        deadline: Deadline,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, Failed<E>>
    where
        F: Future<Output = Result<T, Failed<E>>>,
    {
        if self.config.max_attempts == 1 {
            return attempt().await;
        }
        self.budget().deposit();
        let mut slept = Duration::ZERO;
        let mut made = 0;
        loop {
            let result = MADE.scope(made, attempt()).await;
            made += 1;
            let Err(Failed::NoAnswer(no_answer)) = result else {
                self.count_end(made, RetryOutcome::Success);
                return result;
            };
            let pause = match self.pause(no_answer, made, slept, deadline) {
                Ok(pause) => pause,
                Err(outcome) => {
                    self.tell(outcome);
                    return result;
                }
            };
            self.count_end(made, RetryOutcome::Failure);
            tracing::debug!(system = %self.system, attempt = made, ?pause, "retry");
            sleep(pause).await;
            slept += pause;
            tracing::Span::current().record("retry.attempts", made);
        }
    }

    /// How long to sleep before the next attempt, or why there is none.
    fn pause(
        &self,
        no_answer: NoAnswer,
        made: u32,
        slept: Duration,
        deadline: Deadline,
    ) -> Result<Duration, RetryOutcome> {
        if !is_retriable(no_answer.cause) {
            return Err(RetryOutcome::NotRetriable);
        }
        let growth = 1_u32.checked_shl(made - 1).unwrap_or(u32::MAX);
        let bound = self.config.base.saturating_mul(growth).min(self.config.max);
        let pause = bound.mul_f64(fastrand::f64()).max(no_answer.retry_after.unwrap_or_default());
        let too_late = deadline.remaining() < pause.saturating_add(super::deadline::LEAST);
        if made >= self.config.max_attempts || slept.saturating_add(pause) > MAX_SLEEP || too_late {
            return Err(RetryOutcome::Exhausted);
        }
        if self.budget().spend() { Ok(pause) } else { Err(RetryOutcome::Budget) }
    }

    /// The first attempt is a call like any other and is not counted as a retry.
    fn count_end(&self, made: u32, outcome: RetryOutcome) {
        if made > 1 {
            self.tell(outcome);
        }
    }

    fn tell(&self, outcome: RetryOutcome) {
        tell(&*self.observer, |observer| observer.retried(self.system, outcome));
    }

    fn budget(&self) -> std::sync::MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether another attempt can help: transient failures, but never a shed call, whose shedding is
/// the protection, nor one that nobody waits for.
#[must_use]
pub const fn is_retriable(cause: Cause) -> bool {
    match cause {
        Cause::NotExecuted(NotExecuted::Shed(_) | NotExecuted::Misdirected)
        | Cause::Unknown(Unknown::DeadlinePassed) => false,
        Cause::NotExecuted(_) | Cause::Unknown(_) => true,
    }
}

/// Retries that a system may still spend. Without it every caller trying three times would treble
/// the load of a partner that fails because of load.
#[derive(Debug)]
struct Budget {
    ratio: f64,
    per_second: f64,
    most: f64,
    left: f64,
    refilled: Instant,
}

impl Budget {
    /// Seconds of refill, and calls' worth of deposits, that can be saved up.
    const SAVED_SECONDS: f64 = 10.0;
    const SAVED_CALLS: f64 = 100.0;

    fn new(config: &RetryConfig) -> Self {
        let (ratio, per_second) = (config.budget_ratio, config.budget_min_per_sec);
        let most = (ratio * Self::SAVED_CALLS).max(per_second * Self::SAVED_SECONDS);
        Self {
            ratio,
            per_second,
            most,
            left: per_second * Self::SAVED_SECONDS,
            refilled: Instant::now(),
        }
    }

    fn deposit(&mut self) {
        self.left = (self.left + self.ratio).min(self.most);
    }

    fn spend(&mut self) -> bool {
        let now = Instant::now();
        let refill = now.duration_since(self.refilled).as_secs_f64() * self.per_second;
        self.left = (self.left + refill).min(self.most);
        self.refilled = now;
        let affordable = self.left >= 1.0;
        if affordable {
            self.left -= 1.0;
        }
        affordable
    }
}
