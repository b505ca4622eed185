//! A log that stays readable while a partner is down or a client rages: at most one line in a while for
//! each reason, and it tells how many were left out. Everything is counted all the same.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Remembers when each reason was last logged, and forgets none: they must be of a closed set.
#[derive(Debug)]
pub struct LogThrottle<R> {
    interval: Duration,
    logged: Mutex<HashMap<R, Logged>>,
}

#[derive(Debug)]
struct Logged {
    at: Instant,
    left_out: u64,
}

impl<R: Eq + Hash> LogThrottle<R> {
    /// One line for each reason in so long.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        Self { interval, logged: Mutex::default() }
    }

    /// Whether this one is told, and then how many were not since the last.
    pub fn may_log(&self, reason: R) -> Option<u64> {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = Logged { at: Instant::now(), left_out: 0 };
        let Some(last) = logged.get_mut(&reason) else {
            logged.insert(reason, fresh);
            return Some(0);
        };
        if last.at.elapsed() < self.interval {
            last.left_out += 1;
            return None;
        }
        Some(std::mem::replace(last, fresh).left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_reason_is_logged_once_an_interval_with_the_number_left_out() {
        let throttle = LogThrottle::new(Duration::from_secs(60));
        assert_eq!(throttle.may_log("timeout"), Some(0));
        assert_eq!(throttle.may_log("timeout"), None);
        assert_eq!(throttle.may_log("timeout"), None);
        assert_eq!(throttle.may_log("breaker_open"), Some(0));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(throttle.may_log("timeout"), Some(2));
        assert_eq!(throttle.may_log("timeout"), None);
    }
}
