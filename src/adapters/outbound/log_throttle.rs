//! A log that stays readable while a partner is down: at most one line in a while for each reason.
//! Everything is counted all the same.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Remembers when each reason was last logged, and forgets none: they must be of a closed set.
#[derive(Debug)]
pub struct LogThrottle<R> {
    interval: Duration,
    logged: Mutex<HashMap<R, Instant>>,
}

impl<R: Eq + Hash> LogThrottle<R> {
    /// One line for each reason in so long.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        Self { interval, logged: Mutex::default() }
    }

    pub fn may_log(&self, reason: R) -> bool {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let due = logged.get(&reason).is_none_or(|last| last.elapsed() >= self.interval);
        if due {
            logged.insert(reason, Instant::now());
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_reason_is_logged_once_an_interval() {
        let throttle = LogThrottle::new(Duration::from_secs(60));
        assert!(throttle.may_log("timeout"));
        assert!(!throttle.may_log("timeout"));
        assert!(throttle.may_log("breaker_open"));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(throttle.may_log("timeout"));
    }
}
