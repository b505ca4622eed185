//! A log that stays readable while a partner is down: one line a second for each cause. Everything
//! is counted all the same.

use crate::core::domain::unavailable::Cause;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

const INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct Sampler {
    logged: Mutex<HashMap<Cause, Instant>>,
}

impl Sampler {
    pub fn may_log(&self, cause: Cause) -> bool {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let due = logged.get(&cause).is_none_or(|last| last.elapsed() >= INTERVAL);
        if due {
            logged.insert(cause, Instant::now());
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::domain::unavailable::{NotExecuted, Shed, Unknown};

    #[tokio::test(start_paused = true)]
    async fn each_cause_is_heard_once_a_second() {
        let sampler = Sampler::default();
        assert!(sampler.may_log(Cause::Unknown(Unknown::TimedOut)));
        assert!(!sampler.may_log(Cause::Unknown(Unknown::TimedOut)));
        assert!(sampler.may_log(Cause::NotExecuted(NotExecuted::Shed(Shed::BreakerOpen))));
        tokio::time::advance(INTERVAL).await;
        assert!(sampler.may_log(Cause::Unknown(Unknown::TimedOut)));
    }
}
