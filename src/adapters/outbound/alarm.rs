//! The configuration alarm: a partner refuses our address, credentials or account, so nothing works
//! until a person looks. Every occurrence is counted; the log hears one a minute.

use crate::core::domain::unavailable::System;
use crate::core::ports::events::{Event, Events};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

const LOG_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct ConfigAlarm {
    system: System,
    events: Arc<dyn Events>,
    logged: Mutex<Option<Instant>>,
}

impl ConfigAlarm {
    #[must_use]
    pub fn new(system: System, events: Arc<dyn Events>) -> Self {
        Self { system, events, logged: Mutex::new(None) }
    }

    /// `sign` is a word of our own for what the partner said, never its text.
    pub fn raise(&self, sign: &str) {
        self.events.record(&Event::Misconfigured { system: self.system });
        if self.may_log() {
            tracing::error!(system = %self.system, sign, "provider misconfigured");
        }
    }

    fn may_log(&self) -> bool {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let due = logged.is_none_or(|last| last.elapsed() >= LOG_INTERVAL);
        if due {
            *logged = Some(Instant::now());
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ports::events::Unheard;

    #[tokio::test(start_paused = true)]
    async fn the_log_hears_it_once_a_minute() {
        let alarm = ConfigAlarm::new(System::Sber, Arc::new(Unheard));
        assert!(alarm.may_log());
        assert!(!alarm.may_log());
        tokio::time::advance(LOG_INTERVAL).await;
        assert!(alarm.may_log());
    }
}
