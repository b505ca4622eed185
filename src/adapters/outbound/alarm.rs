//! The configuration alarm: a partner refuses our address, credentials or account, so nothing works
//! until a person looks. Every occurrence is counted; the log hears one a minute.

use crate::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use crate::adapters::outbound::log_throttle::LogThrottle;
use crate::core::domain::unavailable::System;
use std::sync::Arc;
use std::time::Duration;

const LOG_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct ConfigAlarm {
    system: System,
    events: Arc<dyn AdapterEvents>,
    log: LogThrottle<()>,
}

impl ConfigAlarm {
    #[must_use]
    pub fn new(system: System, events: Arc<dyn AdapterEvents>) -> Self {
        Self { system, events, log: LogThrottle::new(LOG_INTERVAL) }
    }

    /// `sign` is a word of our own for what the partner said, never its text.
    pub fn raise(&self, sign: &str) {
        self.events.tell(&AdapterEvent::Misconfigured { system: self.system });
        if self.log.may_log(()) {
            tracing::error!(system = %self.system, sign, "provider misconfigured");
        }
    }
}
