//! The configuration alarm: a partner refuses our address, credentials or account, so nothing works
//! until a person looks. Every occurrence is counted; the log hears one a minute.

use crate::adapters::observe::adapter_events::{AdapterEvent, AdapterEvents};
use crate::adapters::observe::log_throttle::LogThrottle;
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
        if let Some(left_out) = self.log.may_log(()) {
            tracing::error!(system = %self.system, sign, left_out, "provider misconfigured");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::Mutex;

    #[derive(Debug, Default)]
    struct RecordingEvents(Mutex<usize>);

    impl AdapterEvents for RecordingEvents {
        fn tell(&self, _: &AdapterEvent) {
            *self.0.lock().unwrap() += 1;
        }
    }

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_log_hears_it_once_a_minute() {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        let _guard = tracing::subscriber::set_default(subscriber);
        let events = Arc::new(RecordingEvents::default());
        let alarm = ConfigAlarm::new(System::Catalog, Arc::clone(&events) as _);
        for _ in 0..3 {
            alarm.raise("403");
        }
        tokio::time::advance(LOG_INTERVAL).await;
        alarm.raise("403");
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert_eq!(*events.0.lock().unwrap(), 4, "each is counted");
    }
}
