//! The log's filter, changed while the service runs and back by itself.

use crate::adapters::observe::log_control::{BadFilter, LogControl, LogFilter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tracing_subscriber::{EnvFilter, Registry, reload};

pub(super) type Handle = reload::Handle<EnvFilter, Registry>;

#[derive(Debug, Clone)]
pub(super) struct LogSwitch {
    handle: Handle,
    configured: Arc<str>,
    /// Another filter than the configured one, and when it ends.
    changed: Arc<Mutex<Option<(String, Instant)>>>,
}

impl LogSwitch {
    pub(super) fn new(handle: Handle, configured: &str) -> Self {
        Self { handle, configured: configured.into(), changed: Arc::default() }
    }

    fn changed(&self) -> MutexGuard<'_, Option<(String, Instant)>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, filter: &str) -> Result<(), BadFilter> {
        let filter = EnvFilter::try_new(filter).map_err(|_| BadFilter)?;
        self.handle.reload(filter).map_err(|_| BadFilter)
    }

    /// Unless somebody has changed it again meanwhile.
    async fn end(self, at: Instant) {
        tokio::time::sleep_until(at).await;
        let mut changed = self.changed();
        if changed.as_ref().is_some_and(|(_, until)| *until == at) {
            *changed = None;
            // it was in force at the start
            let _ = self.apply(&self.configured);
        }
    }
}

impl LogControl for LogSwitch {
    fn describe(&self) -> LogFilter {
        let configured = self.configured.to_string();
        match &*self.changed() {
            Some((filter, until)) => LogFilter {
                filter: filter.clone(),
                configured,
                ends_in: Some(until.saturating_duration_since(Instant::now())),
            },
            None => LogFilter { filter: configured.clone(), configured, ends_in: None },
        }
    }

    fn set(&self, filter: &str, ttl: Duration) -> Result<(), BadFilter> {
        let mut changed = self.changed();
        self.apply(filter)?;
        let until = Instant::now() + ttl;
        *changed = Some((filter.to_owned(), until));
        drop(changed);
        tokio::spawn(self.clone().end(until));
        Ok(())
    }
}
